#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2086,SC2154 # arguments and faults are lists of words; they come from elastic_scenarios.sh
#
# Horovod's eight elastic scenarios with its epochs, sizes and commits, on fixed hosts where too few are left, in C, in Python on libhvd, and with Horovod's own workers if
# HVD_TEST_STOCK_PYTHON names a Python that imports horovod.torch (0.28.1).
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/support/elastic_scenarios.sh"
train=$srcdir/tests/python/elastic_scenario.py

# scenario SENTENCE STATUS
scenario() {
    scenario_begin "$tmp"
    run $environment "$HVDRUN" --grace 1 $arguments $worker "$tmp/log" "$epochs" "$sizes" $faults
    case $status in
    0) ;;
    124) status=hangs ;;
    *) status=failed ;;
    esac
    is "$language: $1" "$2" "$status"
    ok "... with the expected epochs, ranks, sizes and commits" scenario_log_is_expected "$tmp"
    ok "... and nobody is left behind" until_true no_survivors
}

environment="LD_LIBRARY_PATH=$STAGE$LIBDIR"
language=C worker=$ELASTIC_SCENARIO
scenarios scenario

if [ -n "$PYDIR" ] && "$PYTHON" -c 'import numpy' 2>/dev/null; then
    environment="$environment PYTHONPATH=$STAGE$PYDIR PYTHONDONTWRITEBYTECODE=1"
    language=Python worker="$PYTHON $train hvd.numpy"
    scenarios scenario
else
    skip "the scenarios in Python" "built without Python, or no numpy"
fi

if [ -n "${HVD_TEST_STOCK_PYTHON-}" ]; then
    environment= language=Horovod worker="$HVD_TEST_STOCK_PYTHON $train horovod.torch"
    scenarios scenario
else
    skip "the scenarios with Horovod's own workers" "HVD_TEST_STOCK_PYTHON names no Python with Horovod"
fi
finish
