#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tour of the library: every public call is made, returns what it must, and is shown beside Horovod's name for it.
. "$srcdir/tests/tap.sh"
mkdir "$tmp/folder"
TMPDIR=$tmp/folder
export TMPDIR

# tour N OPTION...: what rank 0 printed is in $tmp/said; 1 is without hvdrun.
tour() {
    _n=$1
    shift
    if [ "$_n" = 1 ]; then
        run "$API_TOUR" "$@"
        cp "$tmp/out" "$tmp/said"
    else
        run "$HVDRUN" -np "$_n" "$API_TOUR" "$@"
        sed -n 's/^\[0\]<stdout>://p' "$tmp/out" >"$tmp/said"
    fi
}

# What was returned by a call, as the table names it.
returned() {
    awk -v call="$1" '(at = index($0, " " call " ")) { $0 = substr($0, at + length(call) + 2); sub(/^ */, ""); print }' "$tmp/said"
}

for size in 1 2 3 4; do
    tour $size
    is "$size ranks: the tour ends well" 0 "$status"
    lines=$(grep -c '^  [^ ]' "$tmp/said")
    is "and nothing is wrong" "result ranks=$size calls=$((lines - 1)) wrong=0" "$(tail -n 1 "$tmp/said")"
    is "on any rank" 0 "$(grep -c wrong: "$tmp/err")"
done

# What four ranks got
while IFS='|' read -r call expected; do
    is "$call returned $expected" "$expected" "$(returned "$call")"
done <<'.'
hvd_size()|4
hvd_rank()|0
hvd_local_size()|4
hvd_cross_size()|1
hvd_allreduce(HVD_AVERAGE)|HVD_OK, [2.5 2.5 2.5]
hvd_allreduce(HVD_SUM)|HVD_OK, [10 10 10]
hvd_allreduce(HVD_MIN)|HVD_OK, [1 1 1]
hvd_allreduce(HVD_MAX)|HVD_OK, [4 4 4]
hvd_allreduce(HVD_PRODUCT)|HVD_OK, [24 24 24]
hvd_allreduce(HVD_ADASUM)|HVD_OK, [7 7 7]
hvd_allgather()|HVD_OK, [0 1 2 3 4 5 6 7]
hvd_broadcast()|HVD_OK, [4 5 6]
hvd_alltoall()|HVD_OK, [0 1 2 3 4 5 6 7], 2 from each
hvd_reducescatter()|HVD_OK, [0 4]
hvd_process_set_ranks()|2, [0 2]
hvd_optimizer_synchronize()|HVD_OK, [5 5]
hvd_optimizer_step()|HVD_OK, [99.5 100.5]
hvd_allgather_object()|HVD_OK, '0', '1', '2', '3'
hvd_average_metrics()|HVD_OK, 2.5, 0.5
hvd_warmup_rate()|from 0.115 to 0.4
hvd_checkpoint_restore()|HVD_OK, [3 4], 7
hvd_allreduce_async(device)|HVD_OK, HVD_OK, [10 10 10]
hvd_shutdown()|HVD_OK
.
awk '/^HVD_API/ { match($0, /hvd_[a-z_]*\(/); print substr($0, RSTART, RLENGTH) }' "$srcdir"/lib/hvd*.h | sort -u >"$tmp/public"
ok "there are public calls" [ "$(wc -l <"$tmp/public")" -gt 70 ]
missing=$(while read -r call; do grep -qF -e " $call" "$tmp/said" || echo "$call"; done <"$tmp/public")
is "each of them is on the tour" '' "$missing"
missing=$(for horovod in init shutdown DistributedOptimizer size local_size rank local_rank allgather broadcast alltoall allreduce; do
    grep -q "^  $horovod(" "$tmp/said" || echo "$horovod"
done)
is "and so is what ports of Horovod begin with" '' "$missing"
is "no file is left" '' "$(ls -A "$TMPDIR")"

if [ "$SANITIZERS" = no ]; then
    tour 40 --quiet
    is "forty ranks get nothing wrong, either" "result ranks=40 calls=$((lines - 1)) wrong=0" "$(cat "$tmp/said")"
else
    skip "forty ranks get nothing wrong, either" "built with $SANITIZERS"
fi
tour 2 --quiet --seed 7
is "--quiet leaves the result" 1 "$(wc -l <"$tmp/said")"
tour 2 --help
is "--help is printed once" 1 "$(grep -c '^usage: api_tour ' "$tmp/said")"

# What is wrong
while IFS='|' read -r arguments pattern; do
    # shellcheck disable=SC2086  # words
    tour 2 $arguments
    is "$arguments is status 2" 2 "$status"
    is "said once: $pattern" 1 "$(grep -cF -e "<stderr>:api_tour: $pattern" "$tmp/err")"
done <<'.'
--frob|unknown option '--frob'
frob|unknown argument 'frob'
--seed x|--seed wants an integer from 0 to 2147483647, not 'x'
.
run "$HVDRUN" -np 2 env TMPDIR=/nowhere "$API_TOUR"
is "no place for files is status 1" 1 "$status"
is "said once" 1 "$(grep -c '<stderr>:api_tour: /nowhere/api_tour\.[^ ]*: cannot make a folder: No such file' "$tmp/err")"
timeout 60 "$API_TOUR" >/dev/full 2>"$tmp/err"
is "output that cannot be written is status 1" 1 $?
like "and said" '^api_tour: standard output cannot be written$' "$tmp/err"

# A rank that leaves when the others are on their tour. hvdrun's signal does not keep them from speaking.
cat >"$tmp/leave.c" <<-.
	#include <stdint.h>
	#include <unistd.h>
	#include "$srcdir/lib/hvd.h"
	int hvd_broadcast(const char *name, void *data, size_t count, enum hvd_dtype dtype, int root)
	{
	    (void)name, (void)data, (void)count, (void)dtype, (void)root;
	    _exit(3);
	}
.
cat >"$tmp/leave" <<-.
	trap '' TERM
	[ "\$HOROVOD_RANK" != 1 ] || export LD_PRELOAD="$tmp/leave.so"
	"\$@"
.
if [ "$SANITIZERS" != no ]; then
    skip "a rank that leaves" "built with $SANITIZERS"
elif ! $CC -D_GNU_SOURCE -shared -fPIC "$tmp/leave.c" -o "$tmp/leave.so" 2>"$tmp/err"; then
    ok "a library that leaves is compiled" false
else
    run "$HVDRUN" -np 3 sh "$tmp/leave" "$API_TOUR"
    ok "a rank that leaves is no success" [ "$status" -ne 0 ]
    is "each that remains says so, once" "[0] [2]" \
        "$(sed -n 's/^\(\[[0-9]\]\)<stderr>:api_tour: rank [0-9]: hvd_.*: rank 1 on .*/\1/p' "$tmp/err" | sort | paste -sd' ')"
    is "and only the one that left has left a folder" 1 "$(ls -A "$TMPDIR" | wc -l)"
fi

# A library that spoils what rank 1 has gathered
cat >"$tmp/spoil.c" <<-.
	#include <dlfcn.h>
	#include <string.h>
	#include "$srcdir/lib/hvd.h"
	int hvd_allgather(const char *name, const void *input, void *output, size_t count, enum hvd_dtype dtype)
	{
	    int (*real)(const char *, const void *, void *, size_t, enum hvd_dtype);
	    *(void **)&real = dlsym(RTLD_NEXT, "hvd_allgather");
	    int status = real(name, input, output, count, dtype);
	    if (hvd_rank() == 1 && strcmp(name, "tour.allgather") == 0)
	        *(float *)output += 1;
	    return status;
	}
.
if [ "$SANITIZERS" != no ]; then
    skip "wrong results" "built with $SANITIZERS"
elif ! $CC -D_GNU_SOURCE -shared -fPIC "$tmp/spoil.c" -o "$tmp/spoil.so" 2>"$tmp/err"; then
    ok "a library that spoils results is compiled" false
else
    run "$HVDRUN" -np 3 -x LD_PRELOAD="$tmp/spoil.so" "$API_TOUR"
    ok "wrong results are no success" [ "$status" -ne 0 ]
    like "are said by the rank that has them" '^\[1\]<stderr>:api_tour: rank 1: hvd_allgather\(\): wrong: HVD_OK, \[1 1 2 3 4 5\]$' "$tmp/err"
    like "and counted" '^\[0\]<stdout>:result .* wrong=1$' "$tmp/out"
    like "before the job ends" '^hvdrun: FAILED rank 0 on localhost .*: exited with status 1' "$tmp/err"
fi
finish
