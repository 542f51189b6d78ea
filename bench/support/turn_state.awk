# SPDX-License-Identifier: Apache-2.0
# With state.awk: the state of the machine during a turn, from the lines of bench/bound_line before and after it. "changed" if the
# two differ. A change and back within the turn shows in neither.
BEGIN { FS = "\t" }
{ state[NR] = state_of($6, $6) }
END { print NR == 2 && state[1] == state[2] ? state[1] : "changed" }
