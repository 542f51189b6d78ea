# SPDX-License-Identifier: Apache-2.0
# With state.awk: the state of the machine from the lines of bench/bound_line.
BEGIN { FS = "\t" }
{ state_note($6) }
END { print state_noted() }
