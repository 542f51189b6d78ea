#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hvd-bandwidth as it is installed: every operation, type and op gives the right result, the layouts are what readers of
# nccl-tests and of the OSU benchmarks expect, and what is wrong is counted or said in one line.
. "$srcdir/tests/tap.sh"
LD_LIBRARY_PATH=$STAGE$LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
tab=$(printf '\t')

# ranks N OPTION...: what rank 0 printed is in $tmp/said.
ranks() {
    _n=$1
    shift
    run "$HVDRUN" -np "$_n" "$HVD_BANDWIDTH" "$@"
    sed -n 's/^\[0\]<stdout>://p' "$tmp/out" >"$tmp/said"
}

# rows: those of a table with tabs, without its heading. no_row SENTENCE CONDITION: awk's, that no row may fulfil.
rows() {
    grep "$tab" "$tmp/said" | sed 1d
}
no_row() {
    is "$1" '' "$(rows | awk -F'\t' "{ n = $size; operation = \$1; place = \$2; bytes = \$3; avg = \$9; min = \$10; max = \$11
        algbw = \$12; busbw = \$13; wrong = \$14; factor = 1 }
        operation == \"allreduce\" { factor = 2 * (n - 1) / n }
        operation ~ /^(allgather|alltoall|reducescatter)\$/ { factor = (n - 1) / n }
        operation == \"barrier\" || n == 1 { factor = 0 }
        function far(a, b) { return (a > b ? a - b : b - a) > 1e-4 * (a + b) }
        $2" | head -n 3)"
}

for size in 1 2 3 4; do
    ranks $size --operation all -d all -o all -b 1 -e 20K -f 50 -n 1 --tsv
    is "$size ranks: every operation, type and op" 0 "$status"
    is "as many as there are" 113 "$(rows | cut -f1,5,6 | sort -u | wc -l)"
    no_row "with not one element wrong" 'wrong != "0" && !(operation == "barrier" && wrong == "N/A")'
    no_row "algbw is size by time" 'far(algbw, bytes / max / 1000)'
    no_row "busbw is what passes the busiest link" 'far(busbw, algbw * factor)'
    no_row "the slowest rank counts" 'min > avg + .001 || avg > max + .001 || max <= 0'
    is "the last line is for scripts" 1 \
        "$(tail -n 1 "$tmp/said" | grep -Ec "^result ranks=$size operation=all busbw=[0-9.e-]+ latency_us=[0-9.]+ wrong=0\$")"
done

# Layouts
ranks 2 -b 8 -e 64 -n 3
is "the table has a line for each size" "8 16 32 64" "$(awk '/^ / { print $1 }' "$tmp/said" | paste -sd' ')"
is "of 13 fields, as in nccl-tests" "13 float sum -1 0 0" \
    "$(awk '/^ / { print NF, $3, $4, $5, $9, $13 }' "$tmp/said" | sort -u)"
like "with their headings" '^# +size +count +type +redop +root +time +algbw +busbw +#wrong +time +algbw +busbw +#wrong$' "$tmp/said"
like "their settings" '^# minBytes 8 maxBytes 64 step: 2\(factor\) warmup iters: 1 iters: 3 validation: 1$' "$tmp/said"
like "their verdict" '^# Out of bounds values : 0 OK$' "$tmp/said"
like "and their average" '^# Avg bus bandwidth +: [0-9.e-]+$' "$tmp/said"
is "each rank is named" 2 "$(grep -Ec "^#  Rank +[01] Pid +[0-9]+ on +$(uname -n)\$" "$tmp/said")"
ranks 3 --operation allreduce,broadcast -d int32,double -o max --latency -b 4 -e 16 -n 3
is "--latency has a line for each size" 10 "$(grep -Ec '^[0-9]+( +[0-9.]+){3} +3 +0$' "$tmp/said")"
is "under the headings of the OSU benchmarks" 4 \
    "$(grep -Ec '^# Size +Avg Latency\(us\) +Min Latency\(us\) +Max Latency\(us\) +Iterations' "$tmp/said")"
ranks 2 -q -n 1 -e 64
is "--quiet leaves the result" 1 "$(wc -l <"$tmp/said")"
run "$HVD_BANDWIDTH" -n 1 -e 64
is "without hvdrun it is a world of one" 0 "$status"
like "and says that nothing travels" '^# One rank: nothing travels' "$tmp/out"

# Options
ranks 2 --tsv -b 1K -e 4K -i 1K -n 7 -c 0 -w 0 -d half
is "sizes by steps, not checked" "1024 512 7 N/A,2048 1024 7 N/A,3072 1536 7 N/A,4096 2048 7 N/A" \
    "$(rows | cut -f3,4,8,14 | uniq | tr '\t' ' ' | paste -sd,)"
ranks 3 --tsv --operation alltoall,broadcast -b 1 -e 40 -n 1 -r 2
is "sizes are whole elements for each rank, and each is measured once" \
    "alltoall 12 -1,alltoall 24 -1,broadcast 4 2,broadcast 8 2,broadcast 16 2,broadcast 32 2" \
    "$(rows | awk -F'\t' '{ print $1, $3, $7 }' | sort -s -k1,1 | paste -sd,)"
ranks 2 --tsv -b 4 -e 4
is "without -n, iterations are as many as fit, 5 to 1000" '' "$(rows | awk -F'\t' '$8 < 5 || $8 > 1000')"
ranks 2 --help
is "--help ends well" 0 "$status"
is "and is printed once" 1 "$(grep -c '^usage: hvd-bandwidth ' "$tmp/said")"
unlike "without what is not there" 'tune' "$tmp/said"

# What is wrong on the command line of several ranks; of one: tests/program/bad_input_test.sh
for arguments in '-o frob' '-r 3' '-e 1T'; do
    # shellcheck disable=SC2086
    ranks 3 $arguments
    is "three ranks with $arguments end with status 2" 2 "$status"
    is "and one line" 1 "$(grep -c '<stderr>:hvd-bandwidth: ' "$tmp/err")"
done

# What is wrong otherwise
: >"$tmp/err"
timeout 60 "$HVD_BANDWIDTH" -n 1 -e 64 >/dev/full 2>"$tmp/err"
is "output that cannot be written is status 1" 1 $?
like "and said" '^hvd-bandwidth: standard output cannot be written$' "$tmp/err"

# A library that spoils one element of each allreduce of 1000 floats and more
cat >"$tmp/spoil.c" <<-.
	#include <dlfcn.h>
	#include <hvd.h>
	int hvd_allreduce(const char *name, const void *input, void *output, size_t count, enum hvd_dtype dtype, enum hvd_op op)
	{
	    int (*real)(const char *, const void *, void *, size_t, enum hvd_dtype, enum hvd_op);
	    *(void **)&real = dlsym(RTLD_NEXT, "hvd_allreduce");
	    int status = real(name, input, output, count, dtype, op);
	    if (count >= 1000 && hvd_rank() == 1)
	        ((float *)output)[999] += 1;
	    return status;
	}
.
if [ "$SANITIZERS" != no ]; then
    skip "wrong results" "built with $SANITIZERS"
elif ! $CC -D_GNU_SOURCE -shared -fPIC -I "$STAGE$INCLUDEDIR" "$tmp/spoil.c" -o "$tmp/spoil.so" 2>"$tmp/err"; then
    ok "a library that spoils results is compiled" false
else
    run "$HVDRUN" -np 3 -x LD_PRELOAD="$tmp/spoil.so" "$HVD_BANDWIDTH" -b 2000 -e 8000 -n 1
    sed -n 's/^\[0\]<stdout>://p' "$tmp/out" >"$tmp/said"
    is "wrong results end with status 1" 1 "$status"
    is "their elements are counted" "0 0,1 1,1 1" "$(awk '/^ / { print $9, $13 }' "$tmp/said" | paste -sd,)"
    like "and added up" '^# Out of bounds values : 4 FAILED$' "$tmp/said"
    like "also for scripts" '^result .* wrong=4$' "$tmp/said"
    is "and said once" 1 "$(grep -c '<stderr>:hvd-bandwidth: 4 elements of results are wrong$' "$tmp/err")"
fi
finish
