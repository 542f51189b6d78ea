/* SPDX-License-Identifier: Apache-2.0 */
/* A sum is another one when a bit is. */
#include "lib/base/checksum.h"
#include "tests/support/unit.h"

START_TEST(every_bit_of_a_word_counts)
{
    static const uint64_t words[] = { 0, 1, 0x00000001000000ff, 0x00040000ffffffff };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (unsigned nbits = 12; nbits <= 32; nbits++)
            for (unsigned bit = 0; bit < 64 - nbits; bit++)
                ck_assert_uint_ne(checksum_word(words[i], nbits),
                                  checksum_word(words[i] ^ UINT64_C(1) << bit, nbits));
}
END_TEST

START_TEST(every_bit_of_some_bytes_counts_and_how_many_there_are)
{
    unsigned char bytes[21] = "bytes that count, all";
    uint32_t sum = checksum_bytes(bytes, sizeof bytes);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        ck_assert_uint_ne(checksum_bytes(bytes, sizeof bytes), sum);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (size_t length = 0; length < sizeof bytes; length++)
        ck_assert_uint_ne(checksum_bytes(bytes, length), sum);
    ck_assert_uint_ne(checksum_bytes("\0", 1), checksum_bytes("\0\0", 2));
    ck_assert_uint_eq(checksum_bytes(bytes, sizeof bytes), sum);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sum");
    TCase *tcase = tcase_create("sum");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, every_bit_of_a_word_counts);
    tcase_add_test(tcase, every_bit_of_some_bytes_counts_and_how_many_there_are);
    return unit_run(suite);
}
