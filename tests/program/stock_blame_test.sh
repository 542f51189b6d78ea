#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who is to blame when a worker that is not libhvd's raises: the others lose it, say so on stderr, and may end first. The workers here
# are a stand-in, a script that writes what Python writes with Horovod 0.28.1 and torch.distributed; the order is forced by files. The
# real ones run if HVD_TEST_STOCK_PYTHON names a Python that imports horovod.torch.
. "$srcdir/tests/tap.sh"

cat >"$tmp/worker" <<'END'
#!/bin/sh
# worker FOLDER CULPRIT PEERS: rank 1 is the culprit
folder=$1 culprit=$2 peers=$3
trace() {
    printf 'Traceback (most recent call last):\n  File "train.py", line 8, in <module>\n%s\n' "$1" >&2
}
await() {
    until [ -e "$folder/$1" ]; do sleep 0.02; done
}
shut_down='Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to allreduce a tensor'
if [ "$HOROVOD_RANK" = 1 ]; then
    case $culprit in
    raises) trace 'ValueError: the batch is empty' ;;
    begins) printf 'Traceback (most recent call last):\n  File "train.py"\n' >&2 ;;
    handles) trace 'ValueError: tried again' && : >"$folder/failed" && exec sleep 1000 ;;
    esac
    echo $$ >"$folder/pid" && : >"$folder/failed"
    case $culprit in
    killed) kill -9 $$ ;;
    ends) exit 0 ;;
    esac
    exec sleep 1000
fi
await failed
case $culprit in
killed | ends) while kill -0 "$(cat "$folder/pid")" 2>/dev/null; do sleep 0.02; done ;; # until its end is seen
esac
case $peers in
horovod)
    trace "RuntimeError: $shut_down"
    printf '\nDuring handling of the above exception, another exception occurred:\n\n' >&2
    trace "horovod.common.exceptions.HorovodInternalError: $shut_down"
    ;;
torch) trace 'RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:29081' ;;
line) echo "training failed: $shut_down" >&2 ;;
killed) [ "$HOROVOD_RANK" = 2 ] && exec sleep 1000
    kill -9 $$ ;;
esac
exit 1
END
chmod +x "$tmp/worker"

# job CULPRIT PEERS
job() {
    rm -rf "$tmp/folder" && mkdir "$tmp/folder"
    run "$HVDRUN" -np 3 "$tmp/worker" "$tmp/folder" "$@"
}

wrote='^hvdrun: FAILED rank 1 on localhost \(pid [0-9]+\): wrote to stderr that it failed, and rank [02] lost it; 2 other ranks terminated, 0 left$'
for peers in horovod torch line; do
    for trial in 1 2 3 4 5; do
        job raises $peers
        like "F7: who raised is named, though others that lost it ended first ($peers, $trial)" "$wrote" "$tmp/err"
        is "F7: with the status of the first that ended ($peers, $trial)" 1 "$status"
    done
    like "and its last words are quoted, or stand right above ($peers)" '(rank 1 last wrote to stderr: |^\[1\]<stderr>:)ValueError: the batch is empty$' "$tmp/err"
done
job begins horovod
like "who had only begun to write is named when all others lost it" "$wrote" "$tmp/err"
job killed horovod
like "who was killed is named, not who lost it" '^hvdrun: FAILED rank 1 on localhost .*: killed by signal 9 ' "$tmp/err"
job ends horovod
is "who ended with 0 while others needed it is status 76" 76 "$status"
like "and is named" '^hvdrun: FAILED rank 1 on localhost .*: exited with status 0, and rank [02] needed it; 2 other' "$tmp/err"
job handles killed
like "who handled what it raised is not to blame for a rank that was killed" \
    '^hvdrun: FAILED rank 0 on localhost .*: killed by signal 9 ' "$tmp/err"
rm -rf "$tmp/folder" && mkdir "$tmp/folder"
run sh -c 'exec "$@" 2>&1' sh "$HVDRUN" --output-filename "$tmp/files" -np 3 "$tmp/worker" "$tmp/folder" raises horovod
like "with one file for stdout and stderr likewise" "$wrote" "$tmp/out"

# Real Horovod, whose rank 1 raises at step 20
cat >"$tmp/train.py" <<'END'
import torch
import horovod.torch as hvd
hvd.init()
for step in range(100000):
    if step == 20 and hvd.rank() == 1:
        raise ValueError("the batch is empty")
    hvd.allreduce(torch.ones(100), name="gradient")
END
if [ "${HVD_TEST_STOCK_PYTHON-}" ]; then
    for trial in 1 2 3 4 5 6 7 8 9 10; do
        run "$HVDRUN" -np 3 "$HVD_TEST_STOCK_PYTHON" "$tmp/train.py"
        like "real Horovod: who raised is named ($trial)" '^hvdrun: FAILED rank 1 on localhost ' "$tmp/err"
    done
else
    skip "real Horovod: who raised is named" "HVD_TEST_STOCK_PYTHON names no Python with Horovod"
fi
finish
