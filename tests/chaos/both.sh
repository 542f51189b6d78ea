#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make chaos: TRIALS on this machine, then a quarter as many on three hosts, if there can be some; SEED is the first's.
status=0
seed=${SEED:+--seed $SEED}
# shellcheck disable=SC2086  # words
sh "$srcdir/tests/chaos/chaos.sh" --trials "$TRIALS" $seed "$@" || status=$?
[ "$TRIALS" -ge 4 ] || exit "$status"
# shellcheck disable=SC2086
sh "$srcdir/tests/chaos/chaos.sh" --hosts 3 --trials $((TRIALS / 4)) $seed --slow "$@" || { rc=$?; [ $rc = 77 ] || status=$rc; }
exit "$status"
