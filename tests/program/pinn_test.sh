#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Solving a differential equation as a user does it, alone and with several ranks, data-parallel and as an ensemble.
#
# Reads HVDRUN, PINN and COMPARE_PARAMETERS, the programs.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/support/fit.sh"
program=$PINN name=pinn split=51 whole=102

check_training
like "an ensemble's even ranks have one equation" '^ +2 .* sin\(pi x\)$' "$tmp/out"
like "and its odd ranks another" '^ +3 .* sin\(2 pi x\)$' "$tmp/out"
check_equivalence
check_files
check_usage
finish
