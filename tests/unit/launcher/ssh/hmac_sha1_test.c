/* SPDX-License-Identifier: Apache-2.0 */
/* HMAC with SHA-1: the cases of RFC 2202, and libcrypto's for every length up to three blocks. */
#include "launcher/ssh/hmac_sha1.h"
#include "tests/support/unit.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

START_TEST(the_first_cases_of_rfc_2202)
{
    static const struct {
        const char *key, *data;
        const unsigned char code[SHA1_BYTES + 1];
    } cases[] = {
        { "\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b",
          "Hi There",
          "\xb6\x17\x31\x86\x55\x05\x72\x64\xe2\x8b\xc0\xb6\xfb\x37\x8c\x8e\xf1\x46\xbe\x00" },
        { "Jefe", "what do ya want for nothing?",
          "\xef\xfc\xdf\x6a\xe5\xeb\x2f\xa2\xd2\x74\x16\xd5\xf1\x84\xdf\x9c\x25\x9a\x7c\x79" },
    };
    unsigned char code[SHA1_BYTES];
    hmac_sha1(code, cases[_i].key, strlen(cases[_i].key), cases[_i].data, strlen(cases[_i].data));
    ck_assert_mem_eq(code, cases[_i].code, SHA1_BYTES);
}
END_TEST

START_TEST(libcrypto_has_the_same_for_every_length)
{
    unsigned char key[SHA1_BLOCK_BYTES], data[3 * SHA1_BLOCK_BYTES], code[SHA1_BYTES],
        expected[EVP_MAX_MD_SIZE];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 167 + 13);
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (unsigned char)(i * 59 + 7);
    for (size_t n = 0; n <= sizeof data; n++) {
        size_t key_bytes = n % (sizeof key + 1);
        unsigned length = 0;
        hmac_sha1(code, key, key_bytes, data, n);
        HMAC(EVP_sha1(), key, (int)key_bytes, data, n, expected, &length);
        ck_assert_uint_eq(length, SHA1_BYTES);
        ck_assert_mem_eq(code, expected, SHA1_BYTES);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hmac_sha1");
    TCase *tcase = tcase_create("hmac_sha1");
    tcase_add_loop_test(tcase, the_first_cases_of_rfc_2202, 0, 2);
    tcase_add_test(tcase, libcrypto_has_the_same_for_every_length);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
