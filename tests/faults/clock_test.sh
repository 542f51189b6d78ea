#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Clocks: what people set (CLOCK_REALTIME) tells nobody when to give up, and who was frozen has not been silent.
. "$srcdir/tests/tap.sh"

# ---- F87: the wall clock jumps by an hour with each look at it, on hvdrun, its agents and the ranks ----

# Who may look at it: for the time in a line of a log or a report, or in a message of Horovod's, and to compare the clocks of hosts.
# src/service/service_syscalls.c and launcher/ssh/ssh_confine.c name the call alone.
shows='^(lib/base/log|lib/timeline/timeline|launcher/(agent/agent_setup|job/host_check|output/job_output|ssh/ssh_confine)|src/hvdrun/(job_setup|worker_notifier)|src/service/service_syscalls|rendezvous/server/rendezvous)\.c$'
looks='CLOCK_REALTIME|gettimeofday|uv_clock_gettime|[^_a-z]time\(NULL\)|timespec_get'
waits='pthread_timedjoin_np|sem_timedwait|pthread_mutex_timedlock|mq_timed|CLOCK_REALTIME, *TIMER_ABSTIME|timerfd_create\(CLOCK_REALTIME'
is "F87: the wall clock is looked at where it is shown, and nowhere else" '' \
    "$(cd "$srcdir" && grep -rlE "$looks" lib launcher rendezvous src --include='*.[ch]' | grep -vE "$shows")"
is "F87: and nobody waits by it" '' "$(cd "$srcdir" && grep -rlE "$waits" lib launcher rendezvous src --include='*.[ch]')"
# A condition has the wall clock unless it is told otherwise.
is "F87: not even for a condition" '' "$(cd "$srcdir" && grep -rlE 'pthread_cond_timedwait' lib launcher rendezvous src \
    --include='*.c' | while read -r file; do
    grep -qE 'pthread_condattr_setclock' "$file" "$(dirname "$file")/progress.c" 2>/dev/null || echo "$file"
done)"

cat >"$tmp/jump.c" <<-.
	#include <dlfcn.h>
	#include <stdlib.h>
	#include <sys/syscall.h>
	#include <sys/time.h>
	#include <time.h>
	#include <unistd.h>
	static long jump(void)
	{
	    static unsigned count;
	    return __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) % 2 ? -3600 : 3600;
	}
	int clock_gettime(clockid_t clock, struct timespec *now)
	{
	    int rc = (int)syscall(SYS_clock_gettime, clock, now);
	    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
	        now->tv_sec += jump();
	    return rc;
	}
	int gettimeofday(struct timeval *restrict now, void *restrict zone)
	{
	    struct timespec clock;
	    (void)zone;
	    clock_gettime(CLOCK_REALTIME, &clock);
	    now->tv_sec = clock.tv_sec;
	    now->tv_usec = clock.tv_nsec / 1000;
	    return 0;
	}
	time_t time(time_t *out)
	{
	    struct timespec clock;
	    clock_gettime(CLOCK_REALTIME, &clock);
	    if (out)
	        *out = clock.tv_sec;
	    return clock.tv_sec;
	}
.
if [ "$SANITIZERS" != no ]; then
    skip "F87: a job whose wall clock jumps" "built with $SANITIZERS"
elif ! $CC -D_GNU_SOURCE -shared -fPIC "$tmp/jump.c" -o "$tmp/jump.so" 2>"$tmp/err"; then
    ok "F87: a clock that jumps is compiled" false
else
    ok "F87: the clock jumps" [ $(($(LD_PRELOAD=$tmp/jump.so date +%s) - $(date +%s))) -gt 3000 ]
    export LD_PRELOAD="$tmp/jump.so"
    run "$HVDRUN" -np 3 -x LD_PRELOAD --start-timeout 60 --timeout 600 "$WORLD" init collectives barriers 100 shutdown
    is "F87: no time-out fires" '0 ' "$status $(cat "$tmp/err")"
    run "$HVDRUN" -np 2 -x LD_PRELOAD --prefix-output-with-timestamp --verbose "$WORLD" init place shutdown
    is "F87: and none with time stamps" 0 "$status"
    run timeout 60 "$HVDRUN" -np 2 -x LD_PRELOAD --timeout 1 --grace 1 "$ACT" stay
    is "F87: one that has come fires all the same" 124 "$status"
    run timeout 60 "$HVDRUN" -np 2 -x LD_PRELOAD --start-timeout 1 sh -c '[ $HOROVOD_RANK = 0 ] || exec "$0" stay; exec "$0" init' "$WORLD"
    is "F87: so does the one of the start" 75 "$status"
    printf 'a line\n' | timeout 60 "$HVDRUN" -np 1 -x LD_PRELOAD cat >"$tmp/out" 2>"$tmp/err"
    is "F87: stdin arrives, and its end" '[0]<stdout>:a line' "$(cat "$tmp/out")"
    unset LD_PRELOAD
fi

# ---- F88, F89: everything is frozen for longer than the heartbeat timeout, and thaws in the worst order ----

members() {
    grep -lsza "^HVD_TEST_JOB=$job\$" /proc/[0-9]*/environ | sed 's,/proc/\([0-9]*\)/.*,\1,'
}
signal_all() {
    for _p in $2; do
        kill "-$1" "$_p" 2>/dev/null
    done
}
if [ "$SANITIZERS" != no ]; then
    skip "F88: everything frozen" "built with $SANITIZERS"
    finish
    exit
fi
start "$HVDRUN" -np 4 -H localhost:2,127.0.0.2:2 --heartbeat-timeout 3 "$WORLD" init stream "$tmp/enough" shutdown
ok "a job on two hosts streams" until_said streaming
all=$(members)
signal_all STOP "$pid $all"
sleep 5 # is the fault
signal_all CONT "$pid"
sleep 0.2
signal_all CONT "$all"
: >"$tmp/enough"
stop_with
is "F88: everything frozen for longer than the heartbeat time-out is nobody's loss" 0 "$status"
unlike "F88: and no host is called lost" 'lost|FAILED' "$tmp/err"
ok "nothing is left" no_survivors
finish
