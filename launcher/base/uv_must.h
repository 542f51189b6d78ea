/* SPDX-License-Identifier: Apache-2.0 */
/* For calls of libuv that fail only when descriptors or memory have run out. A launcher cannot go
 * on then: the process ends with status 71 and one line. Agents end everything that was started,
 * because their links end with this process. */
#ifndef LAUNCHER_BASE_UV_MUST_H
#define LAUNCHER_BASE_UV_MUST_H

/* Makes libuv allocate as launcher/base/xalloc.h does; call this first. By default libuv aborts in
 * some places when memory runs out. */
void uv_must_find_memory(void);

/* Call this first, too. libuv also aborts when a system call fails on which it relies: epoll_ctl()
 * because memory or watches have run out, pipe() because descriptors have. From now on, an abort()
 * while errno says so ends the process like uv_must(). The caller of abort() is unknown: a bug that
 * aborts long after such a failure looks the same, so the line reports only the last failure. Any
 * other abort, and a SIGABRT from another process, keeps its effect. */
void uv_must_explain_aborts(void);

/* `rc` is libuv's status, `what` names the thing for the message. */
void uv_must(int rc, const char *what);

#endif
