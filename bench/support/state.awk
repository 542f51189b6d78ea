# SPDX-License-Identifier: Apache-2.0
# The state of the machine from round trips of a cache line, in microseconds: "fast" where the cores share a cache, "slow" where
# they do not, "mixed" if the round trips say both, or neither clearly. What is measured in different states is not compared.
function state_of(lowest, highest) {
    return highest < 0.15 ? "fast" : lowest > 0.3 ? "slow" : "mixed"
}
