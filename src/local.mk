# SPDX-License-Identifier: Apache-2.0
# The programs, each in a room of its own; they are built at the top of the build directory.
include src/options/local.mk
include src/hvdrun/local.mk
include src/agent/local.mk
include src/ssh/local.mk
include src/service/local.mk
