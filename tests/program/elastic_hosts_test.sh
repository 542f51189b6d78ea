#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Elastic jobs on several hosts, of which one is cut off, crashes, loses its agent together with the supervisor, or was never
# reached: the ranks of the others go on, and nothing is left on any host.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/support/elastic.sh"
. "$srcdir/tests/hosts.sh"
hosts_up 3 || skip_all "$hosts_reason"

# elastic_on_hosts OPTION...: four ranks, two of them on host 1.
elastic_on_hosts() {
    rm -f "$tmp/end"
    start on 0 env LD_LIBRARY_PATH="$STAGE$LIBDIR" "$HVDRUN" --grace 1 --heartbeat-timeout 3 -x LD_LIBRARY_PATH -np 4 --min-np 2 \
        "$@" "$ELASTIC_WORKER" "$tmp"
    all_joined 0 0 1 2 3
}

# goes_on SENTENCE: after host 1 is lost.
goes_on() {
    ok "$1: the ranks of the other hosts are the next world" all_joined 1 0 3
    end_job
    is "and the job ends well" 0 "$status"
    like "and names the host" "^hvdrun: $(host 1): host lost: " "$tmp/err"
    like "and its ranks" "rank 1 on $(host 1) \\(worker 1\\): host lost: " "$tmp/err"
}

three=$(slots 1 2 1)

# Agent and supervisor at once: what is left there is ended by a second agent, and nothing else is.
elastic_on_hosts -H "$three"
for agent in $(host_pids_named 1 hvdagent); do
    kill -STOP "$agent"
done
# shellcheck disable=SC2046  # words
kill -KILL $(host_pids_named 1 hvdagent)
goes_on "an agent and its supervisor are killed"
clean "and nothing is left on any host"

elastic_on_hosts -H "$three"
signal_hvdrun KILL
ok "hvdrun is killed: it ends" until_true job_has_ended
wait "$pid" 2>/dev/null
clean "and nothing is left on any host"

# Two batches on one host: the agent of one is lost, the workers of the other stay.
printf '%s\n' "$(slots 1 1 | tr , '\n')" >"$tmp/hosts"
rm -f "$tmp/end"
start on 0 env LD_LIBRARY_PATH="$STAGE$LIBDIR" "$HVDRUN" --grace 1 -x LD_LIBRARY_PATH -np 2 --min-np 1 --max-np 4 \
    --host-discovery-script "cat '$tmp/hosts'" "$ELASTIC_WORKER" "$tmp"
all_joined 0 0 1
printf '%s\n' "$(slots 1 2 | tr , '\n')" >"$tmp/hosts.new"
mv "$tmp/hosts.new" "$tmp/hosts"
ok "a host with one more slot gets a second agent" all_joined 1 0 1 2
end_job
is "and the job ends well" 0 "$status"
clean "and nothing is left on any host"

if links; then
    for fault in cut crash; do
        elastic_on_hosts -H "$three"
        "tb_$fault" 1
        goes_on "$fault of a host"
        [ $fault = crash ] || tb_mend 1
        clean "and nothing is left on any host, the one that was lost included"
        [ $fault = cut ] || hosts_up 3
    done
else
    skip "hosts that are cut off" "$no_links"
fi
finish
