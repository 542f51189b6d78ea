/* SPDX-License-Identifier: Apache-2.0 */
/* The algorithms of a session: no SHA-1, no CBC, nothing that a man in the middle can cut a packet
 * out of (chacha20, encrypt-then-MAC: Terrapin). */
#ifndef LAUNCHER_SSH_SSH_HOST_KEY_PREFER_H
#define LAUNCHER_SSH_SSH_HOST_KEY_PREFER_H

#include <libssh2.h>

/* `kinds`: of host keys, in the form of ssh_host_key_order(). An error of libssh2 if it has no
 * algorithm of some sort. */
int ssh_host_key_prefer(LIBSSH2_SESSION *ssh, const char *kinds);

#endif
