#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tries every call: "make shim". Of three jobs (jobs.sh; JOB='local' for one), every role, call and fault, or those that ROLE,
# CALL and FAULT name; of a job over ssh (JOB=ssh), SAMPLE of them, because a library that encrypts allocates a lot. What does not
# end as it must is shown; shim.log in the build directory has a line for each trial.
# tests/shim/README.md has the names, and what is known not to hold.
. "$srcdir/tests/tap.sh" && . "$srcdir/tests/hosts.sh"
. "$srcdir/tests/shim/jobs.sh"

chosen=
for role in $ROLE; do chosen="$chosen --role $role"; done
for call in $CALL; do chosen="$chosen --call $call"; done
for fault in $FAULT; do chosen="$chosen --fault $fault"; done
: >"$builddir/shim.log"
failed=0
for kind in ${JOB:-local network hosts}; do
    echo "== $kind"
    sample=
    if [ "$kind" = ssh ]; then
        sample="--sample ${SAMPLE:-500}"
        hosts_up 2 || { echo "$hosts_reason"; continue; }
    fi
    # shellcheck disable=SC2086  # words
    run_job "$kind" every --log "$builddir/shim.log" $sample $chosen || failed=1
done
exit $failed
