/* SPDX-License-Identifier: Apache-2.0 */
/* HMAC with SHA-1 (RFC 2104), by which known_hosts hides the names of hosts. Nothing is
 * authenticated by it. Here because libsodium has no SHA-1, and hvdrun does not load libcrypto. */
#ifndef LAUNCHER_SSH_HMAC_SHA1_H
#define LAUNCHER_SSH_HMAC_SHA1_H

#include <stddef.h>

enum { SHA1_BYTES = 20, SHA1_BLOCK_BYTES = 64 };

/* The key has at most SHA1_BLOCK_BYTES. */
void hmac_sha1(unsigned char code[SHA1_BYTES], const void *key, size_t key_bytes, const void *data,
               size_t nbytes);

#endif
