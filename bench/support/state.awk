# SPDX-License-Identifier: Apache-2.0
# The state of the machine from round trips of a cache line, in microseconds: "fast" where the cores share a cache, "slow" where
# they do not, "mixed" if the round trips say both, or neither clearly. What is measured in different states is not compared.
function state_of(lowest, highest) {
    return highest < 0.15 ? "fast" : lowest > 0.3 ? "slow" : "mixed"
}

function state_note(trip_us) {
    if (!state_notes++ || trip_us < state_lowest)
        state_lowest = trip_us
    if (trip_us > state_highest)
        state_highest = trip_us
}

function state_noted() {
    return state_of(state_lowest, state_highest)
}
