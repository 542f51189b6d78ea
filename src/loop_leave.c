/* SPDX-License-Identifier: Apache-2.0 */
/* Leaving a loop that may still wait for a thread; see loop_leave.h. */
#include "src/loop_leave.h"

#include "launcher/uv_must.h"

enum { LEAVE_MS = 500 };

static void on_time_over(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

void loop_leave(uv_loop_t *loop)
{
    static uv_timer_t timer; /* outlives the loop: one per program */
    uv_must(uv_timer_init(loop, &timer), "timers");
    uv_must(uv_timer_start(&timer, on_time_over, LEAVE_MS, 0), "timers");
    uv_unref((uv_handle_t *)&timer);
}
