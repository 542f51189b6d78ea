/* SPDX-License-Identifier: Apache-2.0 */
/* Public keys of hosts that nobody has, as files write them: type and base64. */
#ifndef TESTS_SUPPORT_HOST_KEYS_H
#define TESTS_SUPPORT_HOST_KEYS_H

#include <check.h>
#include <sodium.h>
#include <string.h>

#define ED1 "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILxl4ej75Z9bJp7VMvr8lFP8xT4GL5aBIyLEU8Fev9wL"
#define ED2 "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHlheYx81KRQsTpI8rWZt7R9o1Df5mIv3MRe38f6Evax"
#define EC                                                                                         \
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBLd4pFBSb+9W"         \
    "W+VsUx9vK9P2RKC9HCxujn6Z8552B8xRjfcmBCVQ5RKN/utOx7W9PjwX7KMvbicOZXTbRoF08lY="
#define RSA                                                                                        \
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC0QmaWlSOgB+Yc+FUiTtwsVhFqh69VL+SS36kRwK94ISXC"         \
    "6DgqBoe90dp1v1IJvmY3zeZ1rf2fA2rmnn7Z/butcjWojFEFfHNcSQuRP94bwpzaMrPUavioUiqYQsde6uK+"         \
    "+oEUKqnVRktAIgYwk/2Dlj4TZD5jO+TPRHVQiwHWfQ=="
#define DSS "ssh-dss AAAAB3NzaC1kc3MAAAABAQAAAAEBAAAAAQEAAAABAQ=="

struct host_key {
    unsigned char blob[512];
    size_t nbytes;
};

/* Any of the above in the form that goes over the wire. */
static inline struct host_key host_key(const char *text)
{
    struct host_key key;
    const char *base64 = strchr(text, ' ') + 1;
    ck_assert_int_eq(sodium_base642bin(key.blob, sizeof key.blob, base64, strlen(base64), NULL,
                                       &key.nbytes, NULL, sodium_base64_VARIANT_ORIGINAL),
                     0);
    return key;
}

#endif
