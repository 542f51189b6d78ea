#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fitting a function as a user does it, alone and with several ranks, data-parallel and as an ensemble.
#
# Reads HVDRUN, FUNCTION_APPROXIMATION and COMPARE_PARAMETERS, the programs.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/support/fit.sh"
program=$FUNCTION_APPROXIMATION name=function_approximation split=16 whole=32

check_training
like "an ensemble's last rank has the last part of the interval" '^ +3 +\[ 0\.50, +1\.00\] +\[ 0\.50, +1\.00\]' "$tmp/out"
check_equivalence
check_files
check_usage
finish
