/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes are a host key of their type: each type has fields of its own, with lengths. */
#include "launcher/ssh/known_hosts_line.h"
#include "tests/support/unit.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { BLOB_MAX = 70000 };

static unsigned char blob[BLOB_MAX];
static size_t used;

/* A string of `length` bytes that begins with these, and goes on with 0x11. */
static void put(const char *first, size_t nfirst, size_t length)
{
    ck_assert_uint_le(used + 4 + length, sizeof blob);
    for (int i = 0; i < 4; i++)
        blob[used + (size_t)i] = (unsigned char)(length >> (24 - 8 * i));
    memset(blob + used + 4, 0x11, length);
    memcpy(blob + used + 4, first, nfirst < length ? nfirst : length);
    used += 4 + length;
}

static void put_text(const char *text)
{
    put(text, strlen(text), strlen(text));
}

static void begin(const char *type)
{
    used = 0;
    put_text(type);
}

/* Is the first part of the blob a key in a line of this type? */
static bool is_key(const char *type, size_t length)
{
    size_t size = sodium_base64_encoded_len(length, sodium_base64_VARIANT_ORIGINAL), nbytes = 0;
    char *text = malloc(size);
    const char *found = NULL;
    sodium_bin2base64(text, size, blob, length, sodium_base64_VARIANT_ORIGINAL);
    struct known_line line = { .type = { type, strlen(type) }, .key = { text, strlen(text) } };
    unsigned char *key = known_key_decode(&line, &nbytes, &found);
    bool is_one = key != NULL;
    if (is_one) {
        ck_assert_uint_eq(nbytes, length);
        ck_assert_mem_eq(key, blob, length);
        ck_assert_str_eq(found, type);
    }
    free(key);
    free(text);
    return is_one;
}

/* A key of this type is whole, or none; and it is no key of another type. */
static void expect_whole(const char *type)
{
    size_t length = used;
    ck_assert(is_key(type, length));
    ck_assert(!is_key("ssh-dss", length) && !is_key("ssh-future", length));
    for (size_t less = 0; less < length; less += length < 1000 || less < 100 ? 1 : 997)
        ck_assert_msg(!is_key(type, less), "%s of %zu bytes", type, less);
    blob[length] = 0;
    ck_assert(!is_key(type, length + 1));
}

START_TEST(a_number_of_any_length_is_read)
{
    static const size_t lengths[] = { 1, 127, 255, 256, 257, 513, 65535, 65536 };
    begin("ssh-rsa");
    put("\x03", 1, 1);
    put("\x11", 1, lengths[_i]);
    expect_whole("ssh-rsa");
}
END_TEST

static const struct {
    const char *bytes;
    size_t length;
    bool is_number;
} numbers[] = {
    { "", 0, false },         { "\x00", 1, false },    { "\x01", 1, true },
    { "\x7f", 1, true },      { "\x80", 1, false },    { "\xff\x01", 2, false },
    { "\x00\x80", 2, true },  { "\x00\xff", 2, true }, { "\x00\x7f", 2, false },
    { "\x00\x00", 2, false }, { "\x01\x00", 2, true },
};

START_TEST(a_number_is_positive_without_redundant_bytes)
{
    for (int place = 0; place < 2; place++) {
        begin("ssh-rsa");
        for (int i = 0; i < 2; i++)
            if (i == place)
                put(numbers[_i].bytes, numbers[_i].length, numbers[_i].length);
            else
                put("\x03", 1, 1);
        ck_assert(is_key("ssh-rsa", used) == numbers[_i].is_number);
    }
}
END_TEST

START_TEST(a_key_of_ed25519_has_32_bytes)
{
    for (size_t length = 31; length <= 33; length++) {
        begin("ssh-ed25519");
        put("", 0, length);
        ck_assert(is_key("ssh-ed25519", used) == (length == 32));
    }
    begin("ssh-ed25519");
    put("", 0, 32);
    expect_whole("ssh-ed25519");
}
END_TEST

static const struct {
    const char *type, *curve;
    size_t nbytes;
} curves[] = {
    { "ecdsa-sha2-nistp256", "nistp256", 65 },
    { "ecdsa-sha2-nistp384", "nistp384", 97 },
    { "ecdsa-sha2-nistp521", "nistp521", 133 },
};

static bool is_point(const char *type, const char *curve, const char *first, size_t nbytes)
{
    begin(type);
    put_text(curve);
    put(first, 1, nbytes);
    return is_key(type, used);
}

START_TEST(a_point_is_on_the_curve_of_its_type_and_not_compressed)
{
    const char *type = curves[_i].type, *curve = curves[_i].curve;
    size_t nbytes = curves[_i].nbytes;
    ck_assert(!is_point(type, curve, "\x04", nbytes - 1));
    ck_assert(!is_point(type, curve, "\x04", nbytes + 1));
    ck_assert(!is_point(type, curve, "\x02", nbytes));
    ck_assert(!is_point(type, "nistp25", "\x04", nbytes));
    ck_assert(!is_point(type, "", "\x04", nbytes));
    ck_assert(!is_point(type, curves[(_i + 1) % 3].curve, "\x04", nbytes));
    ck_assert(is_point(type, curve, "\x04", nbytes));
    expect_whole(type);
    begin(curves[(_i + 1) % 3].type);
    put_text(curve);
    put("\x04", 1, nbytes);
    ck_assert(!is_key(type, used));
}
END_TEST

#define ROWS(table) (int)(sizeof table / sizeof *table)

int main(void)
{
    Suite *suite = suite_create("known_hosts_key");
    TCase *tcase = tcase_create("keys");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_number_of_any_length_is_read, 0, 8);
    tcase_add_loop_test(tcase, a_number_is_positive_without_redundant_bytes, 0, ROWS(numbers));
    tcase_add_test(tcase, a_key_of_ed25519_has_32_bytes);
    tcase_add_loop_test(tcase, a_point_is_on_the_curve_of_its_type_and_not_compressed, 0,
                        ROWS(curves));
    return unit_run(suite);
}
