/* SPDX-License-Identifier: Apache-2.0 */
/* For calls of libuv that fail only when descriptors or memory have run out, which leaves a
 * launcher unable to go on: ends the process with status 71 and one line. What was started already
 * is ended by its agents, whose links end with this process. */
#ifndef LAUNCHER_UV_MUST_H
#define LAUNCHER_UV_MUST_H

/* `rc` is what libuv returned, `what` names the thing for the message. */
void uv_must(int rc, const char *what);

#endif
