#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hvdrendezvousd on one host, workers on several: they meet over the network, and a host that goes is noticed.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
. "$srcdir/tests/support/service.sh"
hosts_up 2 || skip_all "$hosts_reason"

job_failed() {
    ask /v1/jobs/train | grep -q '"state":"failed"'
}

service_up_on 0
ok "it listens where it is told" service_said "listening on $address:$port(\$|, where whoever reaches this machine can try)"
worker_on 1 a HOROVOD_HOSTNAME=b -- init place collectives shutdown
worker_on 0 b HOROVOD_HOSTNAME=a -- init place collectives shutdown
ended a
is "a worker on another host" 0 "$status"
ended b
is "meets one on this" 0 "$status"
is "and they sit on two hosts" "rank 0 of 2, local 0 of 1, cross 0 of 2;rank 1 of 2, local 0 of 1, cross 1 of 2" \
    "$(cat "$tmp/a" "$tmp/b" | sort | paste -sd';')"
for name in a b c d; do
    case $name in [ac]) host=0 ;; *) host=1 ;; esac
    worker_on $host $name HOROVOD_SIZE=4 HOROVOD_HOSTNAME=host$host -- init barriers 100 place shutdown
done
for name in a b c d; do
    ended $name
    is "one of four on two hosts" 0 "$status"
done
is "all of whom have a place" 4 "$(cat "$tmp/a" "$tmp/b" "$tmp/c" "$tmp/d" | grep -c '^rank [0-3] of 4, local [01] of 2, cross [01] of 2$')"

if links; then
    worker_on 0 a HOROVOD_HOSTNAME=host0 HOROVOD_RANK=0 -- init barriers 1 print up barriers 1
    worker_on 1 b HOROVOD_HOSTNAME=host1 HOROVOD_RANK=1 -- init barriers 1 print up stay
    until_said up "$tmp/a" && until_said up "$tmp/b"
    tb_cut 1
    ended a
    is "when a host vanishes" 1 "$status"
    like "its rank is named" 'rank 1 on host1' "$tmp/a"
    ok "the job has failed" until_true job_failed
    tb_mend 1
else
    skip "when a host vanishes" "$no_links"
    skip "its rank is named" "$no_links"
    skip "the job has failed" "$no_links"
fi
service_ends 0
is "and it ends well" 0 "$status"
finish
