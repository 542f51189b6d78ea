/* SPDX-License-Identifier: Apache-2.0 */
/* For calls of libuv that fail only when descriptors or memory have run out. A launcher cannot go
 * on then: the process ends with status 71 and one line. Agents end everything that was started,
 * because their links end with this process. */
#ifndef LAUNCHER_BASE_UV_MUST_H
#define LAUNCHER_BASE_UV_MUST_H

/* Makes libuv allocate as launcher/base/xalloc.h does; call this first. By default libuv aborts in
 * some places when memory runs out.
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
