# SPDX-License-Identifier: Apache-2.0
# Waiting for the machine to have nothing else to do; for measurements in sh, which source it.
# shellcheck shell=sh

# Percent of all cores that were busy during one second, with whatever else there is.
busy() {
    { head -n 1 /proc/stat && sleep 1 && head -n 1 /proc/stat; } | awk '
        { all = 0; for (i = 2; i <= 9; i++) all += $i; idle = $5 + $6; }
        NR == 1 { a = all; b = idle }
        END { printf "%.0f\n", 100 * (1 - (idle - b) / (all - a)) }'
}

# quiet SECONDS: the same, of the second before the machine was quiet, or before patience ended.
quiet() {
    waited=0 now=$(busy)
    while [ "$now" -ge 10 ] && [ $waited -lt "$1" ]; do
        waited=$((waited + 1)) now=$(busy)
    done
    echo "$now"
}
