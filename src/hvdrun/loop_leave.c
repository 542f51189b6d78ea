/* SPDX-License-Identifier: Apache-2.0 */
/* Leaving a loop that may still wait for a process; see loop_leave.h. */
#include "src/hvdrun/loop_leave.h"

#include "launcher/base/uv_must.h"

enum { LEAVE_MS = 500 };

static uv_timer_t timer; /* there is one loop in a program */

static void on_time_over(uv_timer_t *handle)
{
    uv_stop(handle->loop);
}

void loop_leave(uv_loop_t *loop)
{
    uv_must(uv_timer_init(loop, &timer), "timers");
    uv_must(uv_timer_start(&timer, on_time_over, LEAVE_MS, 0), "timers");
    uv_unref((uv_handle_t *)&timer);
}

void loop_close(uv_loop_t *loop)
{
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(loop, UV_RUN_NOWAIT);
    uv_loop_close(loop); /* fails while hvdssh, say, still ends: then the exit frees the loop */
}
