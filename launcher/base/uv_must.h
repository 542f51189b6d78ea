/* SPDX-License-Identifier: Apache-2.0 */
/* For calls of libuv that fail only when descriptors or memory have run out, which leaves a
 * launcher unable to go on: ends the process with status 71 and one line. What was started already
 * is ended by its agents, whose links end with this process. */
#ifndef LAUNCHER_BASE_UV_MUST_H
#define LAUNCHER_BASE_UV_MUST_H

/* To be called first: libuv gets memory as launcher/base/xalloc.h does. Left to itself it aborts in
 * places.
 */
void uv_must_find_memory(void);

/* Likewise. libuv aborts, too, where a system call fails on which it relies: epoll_ctl() for want
 * of memory or of watches, pipe() for want of descriptors. From now on an abort() while errno says
 * so ends the process like uv_must(). Nobody knows who called it: a bug that aborts after such a
 * failure, long gone, looks the same, and so the line says only what failed last. Any other abort,
 * and a SIGABRT of somebody else's, stays what it is. */
void uv_must_explain_aborts(void);

/* `rc` is what libuv returned, `what` names the thing for the message. */
void uv_must(int rc, const char *what);

#endif
