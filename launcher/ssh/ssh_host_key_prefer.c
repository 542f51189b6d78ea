/* SPDX-License-Identifier: Apache-2.0 */
/* A table of algorithms; see ssh_host_key_prefer.h. */
#include "launcher/ssh/ssh_host_key_prefer.h"

#include <stddef.h>

static const struct {
    int method;
    const char *names;
} methods[] = {
    { LIBSSH2_METHOD_KEX,
      "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,"
      "ecdh-sha2-nistp521,diffie-hellman-group-exchange-sha256,diffie-hellman-group16-sha512,"
      "diffie-hellman-group18-sha512,diffie-hellman-group14-sha256" },
    { LIBSSH2_METHOD_CRYPT_CS, "aes128-ctr,aes256-ctr,aes192-ctr" },
    { LIBSSH2_METHOD_CRYPT_SC, "aes128-ctr,aes256-ctr,aes192-ctr" },
    { LIBSSH2_METHOD_MAC_CS, "hmac-sha2-256,hmac-sha2-512" },
    { LIBSSH2_METHOD_MAC_SC, "hmac-sha2-256,hmac-sha2-512" },
};

int ssh_host_key_prefer(LIBSSH2_SESSION *ssh, const char *kinds)
{
    int rc = libssh2_session_method_pref(ssh, LIBSSH2_METHOD_HOSTKEY, kinds);
    for (size_t i = 0; rc == 0 && i < sizeof methods / sizeof *methods; i++)
        rc = libssh2_session_method_pref(ssh, methods[i].method, methods[i].names);
    return rc;
}
