#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --torch-env gives the ranks the variables of torchrun; a script of torch.distributed finds its peers by them.
# shellcheck disable=SC2016  # the ranks expand the variables
. "$srcdir/tests/tap.sh" && . "$srcdir/tests/hosts.sh"

show='echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK/$GROUP_WORLD_SIZE $MASTER_ADDR $MASTER_PORT $GLOO_SOCKET_IFNAME"'
ranks() { sed 's/^[^:]*://' "$tmp/out" | sort -n; }
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE MASTER_ADDR MASTER_PORT GLOO_SOCKET_IFNAME

run "$HVDRUN" -np 1 sh -c 'env | grep -cE "^(RANK|WORLD_SIZE|LOCAL_RANK|GROUP_RANK|MASTER_ADDR|MASTER_PORT)="'
is "without the option ranks have none of these variables" "[0]<stdout>:0" "$(cat "$tmp/out")"

run "$HVDRUN" --torch-env -np 2 sh -c "$show"
port=$(ranks | sed -n '1s/.* \([0-9]*\) lo$/\1/p')
is "on one machine rank 0 is reached by loopback, and all ranks know its port" \
    "0/2 0/2 0/1 127.0.0.1 $port lo 1/2 1/2 0/1 127.0.0.1 $port lo" "$(ranks | paste -sd' ')"
ok "which is a port" [ "${port:-0}" -gt 0 ]

run "$HVDRUN" --torch-env --port-range "$port-$port" -np 1 sh -c 'echo "$MASTER_PORT"'
ok "--port-range limits the port, which may be taken" [ "$(ranks)" = "$port" -o "$status" = 71 ]
run env MASTER_PORT=4711 MASTER_ADDR=192.0.2.1 RANK=9 "$HVDRUN" --torch-env -np 1 sh -c "$show"
is "an address and a port of the user's stay, a rank does not" "0/1 0/1 0/1 192.0.2.1 4711 lo" "$(ranks)"

# The port is free: the rank can listen there, if the kernel has not given it to another process in between, which is rare.
reduce() {
    for _ in 1 2 3; do
        run "$@" --torch-env -np 3 /usr/bin/python3 "$tmp/sum.py"
        grep -qiE 'EADDRINUSE|address already in use' "$tmp/err" || break
    done
}
has_torch() { [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null; }
cat >"$tmp/sum.py" <<'.'
import torch
import torch.distributed as distributed

distributed.init_process_group("gloo")
tensor = torch.tensor([2.0 ** distributed.get_rank()])
distributed.all_reduce(tensor)
print(int(tensor[0]))
.
if has_torch; then
    reduce "$HVDRUN"
    is "ranks of torch.distributed reduce" "7 7 7" "$(ranks | paste -sd' ')"
else
    skip "ranks of torch.distributed reduce" "no PyTorch"
fi

hosts_up 2 || {
    skip "on two hosts" "$hosts_reason"
    finish
}
run on 0 "$HVDRUN" --torch-env -np 3 -H "$(slots 2 1)" sh -c "$show"
address=$(ranks | sed -n '1s/.* \([^ ]*\) [0-9]* [^ ]*$/\1/p')
is "on two hosts each rank knows its host's number" "0/3 0/2 0/2 1/3 1/2 0/2 2/3 0/1 1/2" \
    "$(ranks | cut -d' ' -f1-3 | paste -sd' ')"
is "and all know the same address and port of rank 0's host" 1 "$(ranks | cut -d' ' -f4,5 | sort -u | wc -l)"
if links; then
    is "which is the address that the other host has seen" 198.51.100.10 "$address"
    run on 0 "$HVDRUN" --torch-env -np 3 -H "host1:2,host0:1" sh -c "$show"
    is "also if rank 0 is on another machine than hvdrun" 198.51.100.11 "$(ranks | cut -d' ' -f4 | sort -u)"
    run on 0 "$HVDRUN" --torch-env --remote-shell 'ssh %h' -np 2 -H "host1:1,host0:1" sh -c "$show"
    is "and reached by a command" 198.51.100.11 "$(ranks | cut -d' ' -f4 | sort -u)"
    if has_torch; then
        run on 0 "$HVDRUN" --torch-env -np 3 -H "$(slots 2 1)" /usr/bin/python3 "$tmp/sum.py"
        is "ranks of torch.distributed reduce between hosts" "7 7 7" "$(ranks | paste -sd' ')"
    else
        skip "ranks of torch.distributed reduce between hosts" "no PyTorch"
    fi
else
    for _ in 1 2 3 4; do skip "the address of another host" "$no_links"; done
fi
ok "nothing is left of all these" until_true nothing_left
finish
