#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manifests of examples/kubernetes: their very commands and variables, with stand-ins for the cluster, and their fields.
. "$srcdir/tests/tap.sh"
manifests=$srcdir/examples/kubernetes
unset HVD_REMOTE_SHELL HVD_RENDEZVOUS HVD_JOB_ID HVD_JOB_KEY

# words FILE N: the N-th command of a manifest, a word on each line.
words() {
    sed -n 's/^ *command: \[\(.*\)\]$/\1/p' "$manifests/$1" | sed -n "$2p" | sed 's/, /\n/g' | sed 's/^"\(.*\)"$/\1/'
}

# variable FILE NAME: the value that a manifest gives to it.
variable() {
    sed -n "s/.*{ name: $2, value: \"*\([^\" }]*\)\"* }.*/\1/p" "$manifests/$1"
}

# ---- the rendezvous ----

umask 077
words rendezvous.yaml 1 >"$tmp/words"
mkdir "$tmp/key"
"$HVDRENDEZVOUSD" --new-key "$tmp/key/service.key" || exit 99
is "the rendezvous is hvdrendezvousd, on all networks of its pod" "hvdrendezvousd --key-file /key/service.key --listen [::]:29400" "$(paste -sd' ' "$tmp/words")"
port=$(sed -n 's/.*containerPort: \([0-9]*\).*/\1/p' "$manifests/rendezvous.yaml")
is "on the port that the probes, the Service and the ranks have" "29400 29400 hvd:29400" \
    "$port $(sed -n 's/.*{ name: rendezvous, port: \([0-9]*\) }/\1/p' "$manifests/rendezvous.yaml") $(variable indexed-job.yaml HVD_RENDEZVOUS)"
# As in the volume of a Secret: the mode is that of the manifest, and under fsGroup the group may read
chmod "$(sed -n 's/.*defaultMode: \([0-7]*\).*/\1/p' "$manifests/rendezvous.yaml")" "$tmp/key/service.key"
chmod g+r "$tmp/key/service.key"
credentials=$(variable rendezvous.yaml CREDENTIALS_DIRECTORY)
env ${credentials:+CREDENTIALS_DIRECTORY="$tmp$credentials"} "$HVDRENDEZVOUSD" --key-file "$tmp/key/service.key" --listen 127.0.0.1:0 --port-file "$tmp/port" >/dev/null 2>&1 &
service=$!
trap 'kill $service 2>/dev/null; rm -rf "$tmp"' EXIT
ok "it takes the key as a Secret of its pod has it" until_true [ -s "$tmp/port" ]
chmod 600 "$tmp/key/service.key" # as whoever has made it keeps it
port=$(cat "$tmp/port")
path=$(sed -n 's/.*httpGet: { path: \([^,]*\),.*/\1/p' "$manifests/rendezvous.yaml" | sort -u)
is "both probes ask without a key, and are answered" 200 "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port$path")"
path=$(sed -n 's|.*prometheus.io/path: *||p' "$manifests/rendezvous.yaml")
is "metrics want the key of the service" "401 200" "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port$path") $(
    curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $(cat "$tmp/key/service.key")" "http://127.0.0.1:$port$path")"

# ---- the ranks of an Indexed Job ----

mkdir "$tmp/image"
printf '#!/bin/sh\nexec "%s" init collectives place shutdown\n' "$WORLD" >"$tmp/image/train"
chmod +x "$tmp/image/train"
size=$(variable indexed-job.yaml HOROVOD_SIZE)
is "there are as many pods as ranks" "8 8 8" "$size $(sed -n 's/^ *completions: //p' "$manifests/indexed-job.yaml") $(sed -n 's/^ *parallelism: //p' "$manifests/indexed-job.yaml")"
id=$(variable indexed-job.yaml HVD_JOB_ID)
key=$("$HVDRENDEZVOUSD" --key-file "$tmp/key/service.key" --job-key "$id")
script=$(words indexed-job.yaml 1 | sed -n 3p)
pids=
for index in $(seq 0 $((size - 1))); do
    (cd "$tmp/image" && HVD_RENDEZVOUS=127.0.0.1:$port HVD_JOB_ID=$id HVD_JOB_KEY=$key HOROVOD_SIZE=$size JOB_COMPLETION_INDEX=$index \
        HOROVOD_START_TIMEOUT=$(variable indexed-job.yaml HOROVOD_START_TIMEOUT) HVD_PORT_RANGE=$(variable indexed-job.yaml HVD_PORT_RANGE) \
        exec sh -c "$script") >"$tmp/pod$index" 2>&1 &
    pids="$pids $!"
done
for pid in $pids; do finish_process "$pid" || kill -KILL "$pid"; done
is "each pod has the rank of its index" "0 1 2 3 4 5 6 7" "$(for index in $(seq 0 $((size - 1))); do
    sed -n "s/.*rank \([0-9]*\) of $size.*/\1/p" "$tmp/pod$index"; done | paste -sd' ')"

# ---- hvdrun in the launcher of an MPIJob ----

# kubexec.sh is as the operator makes it, without -i; kubectl exec gives stdin only with -i.
launcher() {
    mkdir -p "$tmp/etc/mpi" "$tmp/kube"
    cp -a /etc/. "$tmp/etc" 2>/dev/null
    printf '#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n%s/kube/kubectl exec ${POD_NAME} -- /bin/sh -c "$*"' "$tmp" >"$tmp/etc/mpi/kubexec.sh"
    printf 'train-worker-0 slots=4\ntrain-worker-1 slots=4\n' >"$tmp/etc/mpi/hostfile"
    cat >"$tmp/kube/kubectl" <<'.'
#!/bin/sh
echo "$*" >>"$(dirname "$0")/words"
[ "$1" = exec ] && shift || exit 97
[ "$1" = -i ] && shift || exec </dev/null
shift 2
exec "$@"
.
    chmod +x "$tmp/etc/mpi/kubexec.sh" "$tmp/kube/kubectl"
    chmod 755 "$tmp" "$tmp/etc"
}
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    launcher
    words mpijob.yaml 1 >"$tmp/words"
    is "the launcher is hvdrun" "hvdrun -np 8 --hostfile /etc/mpi/hostfile ./train" "$(paste -sd' ' "$tmp/words")"
    run env OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh unshare -m sh -c 'mount --bind "$1/etc" /etc && cd "$1/image" && shift && exec "$@"' sh "$tmp" \
        "$HVDRUN" -np 8 --hostfile /etc/mpi/hostfile ./train
    is "it reaches the pods by the operator's script, and the ranks are a world" "0 8" "$status $(grep -c 'of 8' "$tmp/out")"
    is "with a stdin" "exec -i train-worker-0 -- /bin/sh -c /bin/sh" "$(sort "$tmp/kube/words" | head -n 1)"
    ok "nothing is left" no_survivors
else
    skip "hvdrun in a launcher pod" "no root, or no mount namespaces"
fi

# ---- the fields ----

# Kinds that kubectl knows: a field that it does not know is lost when it reads the manifest as that kind.
fields='
import json, sys
def paths(x, at=""):
    if isinstance(x, dict):
        return {p for k, v in x.items() for p in {at + "/" + k} | paths(v, at + "/" + k)}
    if isinstance(x, list):
        return {p for i, v in enumerate(x) for p in paths(v, at + "/" + str(i))}
    return set()
text, decoder, found = sys.stdin.read(), json.JSONDecoder(), []
while text.strip():
    value, end = decoder.raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    found += value.get("items", [value]) if value["kind"] == "List" else [value]
for value in found:
    for p in sorted(paths(value)):
        print(value["kind"] + p)
'
if command -v kubectl >/dev/null && command -v python3 >/dev/null; then
    HOME=$tmp
    export HOME
    for manifest in rendezvous indexed-job; do
        kubectl label --local -f "$manifests/$manifest.yaml" a=b -o json 2>"$tmp/err" | python3 -c "$fields" | grep -v '/labels' | grep -v '^Service/' >"$tmp/all"
        kubectl set image --local -f "$manifests/$manifest.yaml" '*=b' -o json 2>>"$tmp/err" | python3 -c "$fields" | sort >"$tmp/known"
        ok "kubectl reads $manifest.yaml" [ -s "$tmp/all" ]
        is "and knows all its fields" '' "$(sort "$tmp/all" | comm -23 - "$tmp/known" | grep -v '/labels' | paste -sd' ')"
    done
    kubectl label --local -f "$manifests/mpijob.yaml" a=b -o json >"$tmp/out" 2>"$tmp/err"
    like "kubectl reads mpijob.yaml" '"kind": "MPIJob"' "$tmp/out"
else
    skip "the manifests' fields" "no kubectl (kubernetes-client), or no python3"
fi
finish
