/* SPDX-License-Identifier: Apache-2.0 */
/* What lines of known_hosts say of a host's key. The verdicts on keys of another type, on other
 * ports and on plain names beside them are those of OpenSSH 9.2. */
#include "launcher/ssh/known_hosts.h"
#include "tests/support/host_keys.h"
#include "tests/support/unit.h"

#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Of a.example and [a.example]:2222, made by ssh-keygen -H. */
#define HASHED "|1|JTUHN1pGCKuO1ktfjmwV5JtuYg0=|Tn7pNk/uA2YGMSdTJDR4SSjQkvk="
#define HASHED_2222 "|1|fm4YT09qq+e6gFn1ESajjiOt8wg=|OkXgz5ZO/mTaGlLVSkyA0PrUDTs="

/* In memory of exactly that size, so that a read behind its end is seen. */
static struct known_hosts *parse(const char *text, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);
    memcpy(copy, text, length);
    struct known_hosts *known = known_hosts_parse(copy, length, "k");
    free(copy);
    return known;
}

static struct known_hosts_found check(const struct known_hosts *known, const char *name, int port,
                                      const char *key_text)
{
    struct host_key key = host_key(key_text);
    return known_hosts_check(known, name, port, key.blob, key.nbytes);
}

/* The key that is offered is ED1. */
struct verdict_case {
    const char *text, *name;
    int port;
    enum known_hosts_verdict verdict;
    int line;
};

static void expect(const struct verdict_case *row, const char *text, size_t length)
{
    struct known_hosts *known = parse(text, length);
    struct known_hosts_found found = check(known, row->name, row->port, ED1);
    ck_assert_msg(found.verdict == row->verdict && found.line == row->line,
                  "'%s' for %s port %d: verdict %d line %d", row->text, row->name, row->port,
                  (int)found.verdict, found.line);
    if (row->line)
        ck_assert_str_eq(found.path, "k");
    else
        ck_assert_ptr_null(found.path);
    known_hosts_destroy(known);
}

static void expect_all(const struct verdict_case *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect(&rows[i], rows[i].text, strlen(rows[i].text));
}

START_TEST(names_and_patterns_are_found_as_openssh_finds_them)
{
    static const struct verdict_case rows[] = {
        { "", "a", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "a " ED1, "a", 22, KNOWN_HOSTS_MATCH, 1 },
        { "a " ED1 "\n", "A", 22, KNOWN_HOSTS_MATCH, 1 },
        { "A " ED1 "\n", "a", 22, KNOWN_HOSTS_MATCH, 1 },
        { "a " ED1, "b", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "ab " ED1, "a", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "a " ED1, "ab", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "b,a,c " ED1, "a", 22, KNOWN_HOSTS_MATCH, 1 },
        { "b,,a, " ED1, "a", 22, KNOWN_HOSTS_MATCH, 1 },
        { "* " ED1, "a", 22, KNOWN_HOSTS_MATCH, 1 },
        { "*.example " ED1, "a.example", 22, KNOWN_HOSTS_MATCH, 1 },
        { "*.example " ED1, "example", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "n*e*e " ED1, "node-ee", 22, KNOWN_HOSTS_MATCH, 1 },
        { "*aab " ED1, "aaaab", 22, KNOWN_HOSTS_MATCH, 1 },
        { "a** " ED1, "a", 22, KNOWN_HOSTS_MATCH, 1 },
        { "node? " ED1, "node7", 22, KNOWN_HOSTS_MATCH, 1 },
        { "node? " ED1, "node", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "node?,!node7 " ED1, "node7", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "!node7,node? " ED1, "node7", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "node?,!node7 " ED1, "node8", 22, KNOWN_HOSTS_MATCH, 1 },
        { "!node7 " ED1, "node8", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "!* " ED1, "a", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "[ab] " ED1, "a", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "::1 " ED1, "::1", 22, KNOWN_HOSTS_MATCH, 1 },
        { "fe80::1%eth0 " ED1, "fe80::1%eth0", 22, KNOWN_HOSTS_MATCH, 1 },
        { HASHED " " ED1, "a.example", 22, KNOWN_HOSTS_MATCH, 1 },
        { HASHED " " ED1, "A.Example", 22, KNOWN_HOSTS_MATCH, 1 },
        { HASHED " " ED1, "b.example", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { HASHED_2222 " " ED1, "a.example", 2222, KNOWN_HOSTS_MATCH, 1 },
        { HASHED_2222 " " ED1, "a.example", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { HASHED ",a " ED1, "a.example", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "a," HASHED " " ED1, "a.example", 22, KNOWN_HOSTS_UNKNOWN, 0 },
    };
    expect_all(rows, COUNT(rows));
}
END_TEST

START_TEST(a_port_has_names_of_its_own)
{
    static const struct verdict_case rows[] = {
        { "[a]:2222 " ED1, "a", 2222, KNOWN_HOSTS_MATCH, 1 },
        { "[a]:2222 " ED1, "a", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "[a]:2222 " ED1, "a", 2223, KNOWN_HOSTS_UNKNOWN, 0 },
        { "[::1]:2222 " ED1, "::1", 2222, KNOWN_HOSTS_MATCH, 1 },
        { "[*]:2222 " ED1, "a", 2222, KNOWN_HOSTS_MATCH, 1 },
        { "[a]:* " ED1, "a", 2222, KNOWN_HOSTS_MATCH, 1 },
        { "[a]:22 " ED1, "a", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        /* without a key for the port, the same key for the plain name will do */
        { "a " ED1, "a", 2222, KNOWN_HOSTS_MATCH, 1 },
        { "a " ED2, "a", 2222, KNOWN_HOSTS_UNKNOWN, 0 },
        { "a " ED1 "\n[a]:2222 " ED2, "a", 2222, KNOWN_HOSTS_CHANGED, 2 },
        { "a " ED2 "\n[a]:2222 " ED1, "a", 2222, KNOWN_HOSTS_MATCH, 2 },
        { "@cert-authority a " ED2, "a", 2222, KNOWN_HOSTS_NEEDS_CA, 1 },
        { "@cert-authority [a]:2222 " ED2 "\na " ED1, "a", 2222, KNOWN_HOSTS_MATCH, 2 },
        /* a key that is revoked for the plain name is for every port */
        { "@revoked a " ED1, "a", 2222, KNOWN_HOSTS_REVOKED, 1 },
        { "[a]:2222 " ED1 "\n@revoked a " ED1, "a", 2222, KNOWN_HOSTS_REVOKED, 2 },
        { "@revoked [a]:2222 " ED1, "a", 22, KNOWN_HOSTS_UNKNOWN, 0 },
    };
    expect_all(rows, COUNT(rows));
}
END_TEST

START_TEST(of_several_lines_the_gravest_decides)
{
    static const struct verdict_case rows[] = {
        { "a " ED2, "a", 22, KNOWN_HOSTS_CHANGED, 1 },
        { "a " EC, "a", 22, KNOWN_HOSTS_CHANGED, 1 },
        { "a " ED2 "\na " ED1, "a", 22, KNOWN_HOSTS_MATCH, 2 },
        { "a " ED1 "\na " ED2, "a", 22, KNOWN_HOSTS_MATCH, 1 },
        { "a " EC "\na " ED2 "\na " RSA, "a", 22, KNOWN_HOSTS_CHANGED, 2 },
        { "a " EC "\na " ED1 "\na " RSA, "a", 22, KNOWN_HOSTS_MATCH, 2 },
        { "b " ED2 "\na " ED1, "a", 22, KNOWN_HOSTS_MATCH, 2 },
        { "@revoked a " ED1, "a", 22, KNOWN_HOSTS_REVOKED, 1 },
        { "@revoked * " ED1, "a", 22, KNOWN_HOSTS_REVOKED, 1 },
        { "@revoked * " ED1, "a", 2222, KNOWN_HOSTS_REVOKED, 1 },
        { "@revoked\ta\t" ED1, "a", 22, KNOWN_HOSTS_REVOKED, 1 },
        { "a " ED1 "\n@revoked a " ED1, "a", 22, KNOWN_HOSTS_REVOKED, 2 },
        { "@revoked a " ED1 "\na " ED1, "a", 22, KNOWN_HOSTS_REVOKED, 1 },
        { "@revoked a " ED2 "\na " ED1, "a", 22, KNOWN_HOSTS_MATCH, 2 },
        { "@revoked a " ED2, "a", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "@revoked b " ED1, "a", 22, KNOWN_HOSTS_UNKNOWN, 0 },
        { "@cert-authority a " ED2, "a", 22, KNOWN_HOSTS_NEEDS_CA, 1 },
        { "@cert-authority a " ED1, "a", 22, KNOWN_HOSTS_NEEDS_CA, 1 },
        { "@cert-authority a " EC "\na " ED1, "a", 22, KNOWN_HOSTS_MATCH, 2 },
        { "@cert-authority a " EC "\na " ED2, "a", 22, KNOWN_HOSTS_CHANGED, 2 },
        { "@cert-authority a " EC "\n@revoked a " ED1, "a", 22, KNOWN_HOSTS_REVOKED, 2 },
    };
    expect_all(rows, COUNT(rows));
}
END_TEST

START_TEST(a_bad_line_says_nothing_and_hides_nothing)
{
    static const char *const bad_lines[] = {
        "garbage",
        "a",
        "a ssh-ed25519",
        "a ssh-ed25519 ",
        "a ssh-ed25519 AAAA",
        "a ssh-ed25519 !!!!",
        "a ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILxl4ej75Z9bJp7VMvr8lFP8xT4GL5aBIyLEU8Fev9w=",
        "a ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILxl4ej75Z9bJp7VMvr8lFP8xT4GL5aBIyLEU8Fev9wLAAAA",
        "a ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILxl4ej75Z9bJp7VMvr8lFP8xT4GL5aBIyLEU8Fev9wL=",
        "a ssh-ed25519 /////3NzaC1lZDI1NTE5AAAAILxl4ej75Z9bJp7VMvr8lFP8xT4GL5aBIyLEU8Fev9wL",
        "a ssh-future AAAAC3NzaC1lZDI1NTE5AAAAILxl4ej75Z9bJp7VMvr8lFP8xT4GL5aBIyLEU8Fev9wL",
        "a ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIHlheYx81KRQsTpI8rWZt7R9o1Df5mIv3MRe38f6Evax",
        "a 1024 35 1234567890",
        "# a " ED2,
        "\t # a " ED2,
        "@future a " ED2,
        "@revoked @revoked a " ED1,
        "@revoked @cert-authority a " ED1,
        "@revoked",
        "@revoked ",
        "@",
        "@ a " ED1,
        "|1|| " ED2,
        "|1|JTUHN1pGCKuO1ktfjmwV5JtuYg0= " ED2,
        "|2|JTUHN1pGCKuO1ktfjmwV5JtuYg0=|Tn7pNk/uA2YGMSdTJDR4SSjQkvk= " ED2,
        "|1|JTUHN1pGCKuO1ktfjmwV5JtuYg0=|Tn7pNk/uA2YGMSdTJDR4SSjQkvk " ED2,
        "|1|JTUHN1pGCKuO1ktfjmwV5JtuYg==|Tn7pNk/uA2YGMSdTJDR4SSjQkvk= " ED2,
        "|1|JTUHN1pGCKuO1ktfjmwV5JtuYg0=|Tn7pNk/uA2YGMSdTJDR4SSjQkvk=|x " ED2,
        "|",
        "\xff\xfe\xfd a " ED2,
        "\r",
        "\t \r",
        " ",
    };
    for (size_t i = 0; i < COUNT(bad_lines); i++) {
        char text[1024];
        struct verdict_case alone = { bad_lines[i], "a", 22, KNOWN_HOSTS_UNKNOWN, 0 };
        struct verdict_case before = { text, "a", 22, KNOWN_HOSTS_MATCH, 2 };
        struct verdict_case hashed = { text, "a.example", 22, KNOWN_HOSTS_MATCH, 3 };
        expect(&alone, bad_lines[i], strlen(bad_lines[i]));
        snprintf(text, sizeof text, "%s\na " ED1 "\n" HASHED " " ED1, bad_lines[i]);
        expect(&before, text, strlen(text));
        expect(&hashed, text, strlen(text));
    }
}
END_TEST

START_TEST(lines_of_all_habits_are_read)
{
    static const struct verdict_case rows[] = {
        { "a " ED1 "\r\n", "a", 22, KNOWN_HOSTS_MATCH, 1 },
        { "a " ED1 "\r", "a", 22, KNOWN_HOSTS_MATCH, 1 },
        { "a " ED1 " root@a # comment\r\n", "a", 22, KNOWN_HOSTS_MATCH, 1 },
        { "\t a \t " ED1 " \t", "a", 22, KNOWN_HOSTS_MATCH, 1 },
        { "\n\r\n# x\n\na " ED1, "a", 22, KNOWN_HOSTS_MATCH, 5 },
        { "@revoked   a   " ED1, "a", 22, KNOWN_HOSTS_REVOKED, 1 },
    };
    expect_all(rows, COUNT(rows));
}
END_TEST

START_TEST(behind_a_nul_nothing_is_read)
{
    static const char text[] = "a " ED1 "\0 rest\n\0b " ED1 "\nc\0 " ED1 "\nd " ED1 "\0";
    struct verdict_case a = { "NUL", "a", 22, KNOWN_HOSTS_MATCH, 1 };
    struct verdict_case b = { "NUL", "b", 22, KNOWN_HOSTS_UNKNOWN, 0 };
    struct verdict_case c = { "NUL", "c", 22, KNOWN_HOSTS_UNKNOWN, 0 };
    struct verdict_case d = { "NUL", "d", 22, KNOWN_HOSTS_MATCH, 4 };
    expect(&a, text, sizeof text);
    expect(&b, text, sizeof text);
    expect(&c, text, sizeof text);
    expect(&d, text, sizeof text);
}
END_TEST

/* A line of a megabyte, before one that counts. */
START_TEST(a_long_line_is_a_line)
{
    static const char *const starts[] = {
        "", "# ", "a ssh-ed25519 ", "*a*a*a*a*", "a,", "|1|", "@"
    };
    static const char last[] = "\na " ED1 "\n";
    size_t long_bytes = 1 << 20, length = long_bytes + strlen(last);
    char *text = malloc(length + 1);
    for (size_t i = 0; i < COUNT(starts); i++) {
        struct verdict_case row = { starts[i], "a", 22, KNOWN_HOSTS_MATCH, 2 };
        memset(text, 'a', long_bytes);
        memcpy(text, starts[i], strlen(starts[i]));
        memcpy(text + long_bytes, last, sizeof last);
        expect(&row, text, length);
    }
    free(text);
}
END_TEST

START_TEST(a_pattern_may_be_as_long_as_openssh_takes_it)
{
    char text[4096], name[2048];
    for (int length = 1021; length <= 1024; length++) {
        bool taken = length <= 1022;
        memset(name, 'n', (size_t)length);
        name[length] = '\0';
        snprintf(text, sizeof text, "a,%s,b " ED1, name);
        struct verdict_case row = { "long", name, 22,
                                    taken ? KNOWN_HOSTS_MATCH : KNOWN_HOSTS_UNKNOWN, taken };
        expect(&row, text, strlen(text));
        row.name = "a";
        expect(&row, text, strlen(text));
    }
}
END_TEST

START_TEST(a_changed_key_tells_which_type_is_known)
{
    struct known_hosts *known = parse("a " EC "\nb " ED2, strlen("a " EC "\nb " ED2));
    ck_assert_str_eq(check(known, "a", 22, ED1).type, "ecdsa-sha2-nistp256");
    ck_assert_str_eq(check(known, "b", 22, ED1).type, "ssh-ed25519");
    ck_assert_str_eq(check(known, "a", 22, EC).type, "ecdsa-sha2-nistp256");
    ck_assert_ptr_null(check(known, "c", 22, EC).type);
    known_hosts_destroy(known);
}
END_TEST

static void expect_types(const char *name, int port, const char *expected, bool are_own)
{
    static const char text[] = "a " EC "\na " ED2 "\na " ED1 "\n@revoked a " RSA
                               "\n@cert-authority c " RSA "\n[a]:2222 " RSA "\n";
    char joined[200] = "";
    struct string_list types = { 0 };
    struct known_hosts *known = parse(text, sizeof text - 1);
    ck_assert_int_eq(known_hosts_types(known, name, port, &types), are_own);
    for (size_t i = 0; i < types.count; i++)
        strcat(strcat(joined, i ? "," : ""), types.items[i]);
    ck_assert_str_eq(joined, expected);
    string_list_fini(&types);
    known_hosts_destroy(known);
}

START_TEST(the_types_that_are_known_are_told_once)
{
    expect_types("a", 22, "ecdsa-sha2-nistp256,ssh-ed25519", true);
    expect_types("a", 2222, "ssh-rsa", true);
    expect_types("a", 2223, "ecdsa-sha2-nistp256,ssh-ed25519", false);
    expect_types("b", 22, "", false);
    expect_types("c", 22, "", false);
}
END_TEST

START_TEST(fingerprints_are_those_of_ssh_keygen)
{
    char text[FINGERPRINT_SIZE];
    struct host_key key = host_key(ED1);
    known_hosts_fingerprint(text, key.blob, key.nbytes);
    ck_assert_str_eq(text, "SHA256:g6/ivZjekzcNQefeBDS6xoDBLh5/h/WRLg7ufRi2SE0");
    key = host_key(RSA);
    known_hosts_fingerprint(text, key.blob, key.nbytes);
    ck_assert_str_eq(text, "SHA256:uq9T797rcLiiwYg0QNXZhZTgibS+Rl8OCLmnJSiQaQI");
}
END_TEST

START_TEST(a_blob_begins_with_its_type)
{
    char type[12];
    struct host_key key = host_key(ED1);
    ck_assert(known_hosts_blob_type(type, sizeof type, key.blob, key.nbytes));
    ck_assert_str_eq(type, "ssh-ed25519");
    ck_assert(!known_hosts_blob_type(type, sizeof type - 1, key.blob, key.nbytes));
    ck_assert(!known_hosts_blob_type(type, sizeof type, key.blob, 14));
    ck_assert(!known_hosts_blob_type(type, sizeof type, key.blob, 3));
    ck_assert(!known_hosts_blob_type(type, sizeof type, NULL, 0));
    ck_assert(!known_hosts_blob_type(type, sizeof type, (const unsigned char *)"\0\0\0\0", 4));
    ck_assert(!known_hosts_blob_type(type, sizeof type, (const unsigned char *)"\0\0\0\1\n", 5));
}
END_TEST

START_TEST(a_blob_that_is_no_key_is_unknown)
{
    static const char text[] = "a " ED1;
    struct known_hosts *known = parse(text, sizeof text - 1);
    ck_assert_int_eq(known_hosts_check(known, "a", 22, NULL, 0).verdict, KNOWN_HOSTS_CHANGED);
    ck_assert_int_eq(known_hosts_check(known, "b", 22, NULL, 0).verdict, KNOWN_HOSTS_UNKNOWN);
    known_hosts_destroy(known);
    known_hosts_destroy(NULL);
}
END_TEST

/* ---- mutations ---- */

static unsigned long long seed = 4;

static size_t below(size_t limit)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (size_t)(seed >> 33) % limit;
}

/* Changes, doubles or takes away some bytes. `text` has room for `size`. */
static size_t mutate(char *text, size_t length, size_t size)
{
    static const char often[] = "\n\r\0\t |,!*?@[]:#= A/";
    size_t at = below(length), count = 1 + below(8);
    switch (below(4)) {
    case 0:
        text[at] = often[below(sizeof often)];
        return length;
    case 1:
        text[at] = (char)below(256);
        return length;
    case 2:
        count = count > length - at ? length - at : count;
        memmove(text + at, text + at + count, length - at - count);
        return length - count > 0 ? length - count : 1;
    default:
        count = count > length - at ? length - at : count;
        if (length + count > size)
            return length;
        memmove(text + at + count, text + at, length - at);
        return length + count;
    }
}

/* Whatever a file begins with, its other lines count: the first says that RSA is revoked, the last
 * that EC is the key of "last". */
START_TEST(no_mutation_of_a_file_hides_its_other_lines)
{
    static const char first[] = "@revoked * " RSA "\n", last[] = "\nlast " EC "\n";
    static const char middle[] = "a,b*,!bc " ED1 "\n" HASHED " " ED2 "\r\n[a]:2222\t" ED1 " x\n"
                                 "@cert-authority *.a " ED2 "\n@revoked b " ED2 "\n# c\n";
    for (int round = 0; round < 4000; round++) {
        char text[2048];
        size_t length = sizeof middle - 1, start = sizeof first - 1;
        memcpy(text, first, start);
        memcpy(text + start, middle, length);
        for (size_t n = 1 + below(6); n > 0; n--)
            length = mutate(text + start, length, 1024);
        memcpy(text + start + length, last, sizeof last);
        struct known_hosts *known = parse(text, start + length + sizeof last - 1);
        struct string_list types = { 0 };
        ck_assert_int_eq(check(known, "last", 22, EC).verdict, KNOWN_HOSTS_MATCH);
        ck_assert_int_eq(check(known, "a.example", 22, RSA).verdict, KNOWN_HOSTS_REVOKED);
        check(known, "a", 2222, ED1);
        check(known, "bc", 22, ED2);
        known_hosts_types(known, "a", 2222, &types);
        string_list_fini(&types);
        known_hosts_destroy(known);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("known_hosts");
    TCase *lines = tcase_create("lines"), *keys = tcase_create("keys");
    tcase_add_test(lines, names_and_patterns_are_found_as_openssh_finds_them);
    tcase_add_test(lines, a_port_has_names_of_its_own);
    tcase_add_test(lines, of_several_lines_the_gravest_decides);
    tcase_add_test(lines, a_bad_line_says_nothing_and_hides_nothing);
    tcase_add_test(lines, lines_of_all_habits_are_read);
    tcase_add_test(lines, behind_a_nul_nothing_is_read);
    tcase_add_test(lines, a_long_line_is_a_line);
    tcase_add_test(lines, a_pattern_may_be_as_long_as_openssh_takes_it);
    tcase_add_test(lines, no_mutation_of_a_file_hides_its_other_lines);
    tcase_add_test(keys, a_changed_key_tells_which_type_is_known);
    tcase_add_test(keys, the_types_that_are_known_are_told_once);
    tcase_add_test(keys, fingerprints_are_those_of_ssh_keygen);
    tcase_add_test(keys, a_blob_begins_with_its_type);
    tcase_add_test(keys, a_blob_that_is_no_key_is_unknown);
    tcase_set_timeout(lines, 60);
    suite_add_tcase(suite, lines);
    suite_add_tcase(suite, keys);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
