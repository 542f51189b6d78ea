/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/directory.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The records of ranks [first, end), each on the host that its letter names, with as many addresses
 * as its rank, modulo 4. */
static struct wire_writer records(const char *hosts, int first, int end)
{
    struct wire_writer writer = { 0 };
    for (int rank = first; rank < end; rank++) {
        struct join_peer peer = { .rank = rank, .addresses.count = rank % 4 };
        snprintf(peer.host, sizeof peer.host, "node-%c", hosts[rank]);
        for (int i = 0; i < peer.addresses.count; i++)
            snprintf(peer.addresses.text[i], sizeof *peer.addresses.text, "10.0.%d.%d:4", i, rank);
        join_peer_encode(&writer, &peer);
    }
    return writer;
}

/* In memory of just that size. */
static struct directory *create(const struct wire_writer *writer, size_t nbytes, int size,
                                struct err *err)
{
    unsigned char *exact = malloc(nbytes > 0 ? nbytes : 1);
    ck_assert_ptr_nonnull(exact);
    if (nbytes > 0)
        memcpy(exact, writer->data, nbytes);
    struct directory *directory = directory_create(exact, nbytes, size, err);
    free(exact);
    return directory;
}

START_TEST(everybody_is_found)
{
    struct err err;
    struct wire_writer all = records("aabbcc", 0, 6);
    struct directory *directory = create(&all, all.length, 6, &err);
    for (int rank = 5; rank >= 0; rank--) {
        struct join_peer peer;
        char host[20], address[20];
        directory_find(directory, rank, &peer);
        snprintf(host, sizeof host, "node-%c", "aabbcc"[rank]);
        snprintf(address, sizeof address, "10.0.2.%d:4", rank);
        ck_assert_int_eq(peer.rank, rank);
        ck_assert_str_eq(peer.host, host);
        ck_assert_int_eq(peer.addresses.count, rank % 4);
        if (rank % 4 == 3)
            ck_assert_str_eq(peer.addresses.text[2], address);
    }
    directory_destroy(directory);
    wire_writer_fini(&all);
}
END_TEST

START_TEST(hosts_are_numbered_in_the_order_of_their_ranks)
{
    static const struct {
        const char *hosts, *numbers;
    } rows[] = {
        { "a", "0" },       { "aaaa", "0000" },           { "zyxw", "0123" },
        { "bbaa", "0011" }, { "abcabcabc", "012012012" }, { "abbacab", "0110201" },
    };
    struct err err;
    int size = (int)strlen(rows[_i].hosts);
    struct wire_writer all = records(rows[_i].hosts, 0, size);
    struct directory *directory = create(&all, all.length, size, &err);
    for (int rank = 0; rank < size; rank++)
        ck_assert_int_eq(directory_host(directory, rank), rows[_i].numbers[rank] - '0');
    directory_destroy(directory);
    wire_writer_fini(&all);
}
END_TEST

START_TEST(who_has_no_address_cannot_be_dialled)
{
    struct err err;
    struct wire_writer writer = { 0 };
    for (int rank = 0; rank < 3; rank++) {
        struct join_peer peer = { .rank = rank, .host = "a", .addresses.count = rank != _i };
        join_peer_encode(&writer, &peer);
    }
    struct directory *directory = create(&writer, writer.length, 3, &err);
    ck_assert(directory_is_everywhere(directory) == (_i == 3));
    directory_destroy(directory);
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(a_host_is_one_printable_line)
{
    struct err err;
    struct wire_writer writer = { 0 };
    struct join_peer peer = { .rank = 0, .host = "a\nb" }, found;
    join_peer_encode(&writer, &peer);
    struct directory *directory = create(&writer, writer.length, 1, &err);
    directory_find(directory, 0, &found);
    ck_assert_ptr_null(strchr(found.host, '\n'));
    directory_destroy(directory);
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(records_of_a_subtree_are_those_of_its_ranks)
{
    struct err err;
    struct wire_writer some = records("aabbcc", 2, 5);
    ck_assert_int_eq(directory_check(some.data, some.length, 2, 5, &err), HVD_OK);
    ck_assert_int_eq(directory_check(NULL, 0, 5, 5, &err), HVD_OK);
    static const int others[][2] = { { 1, 4 }, { 2, 4 }, { 2, 6 }, { 3, 5 }, { 2, 2 } };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_int_eq(directory_check(some.data, some.length, others[i][0], others[i][1], &err),
                         HVD_ERR_PROTOCOL);
    wire_writer_fini(&some);
}
END_TEST

START_TEST(records_that_are_cut_short_or_too_long_are_refused)
{
    struct err err;
    struct wire_writer all = records("abca", 0, 4);
    for (size_t nbytes = 0; nbytes < all.length; nbytes++) {
        ck_assert_ptr_null(create(&all, nbytes, 4, &err));
        ck_assert_int_eq(err.code, HVD_ERR_PROTOCOL);
    }
    wire_put_u8(&all, 0);
    ck_assert_ptr_null(create(&all, all.length, 4, &err));
    ck_assert_int_eq(err.code, HVD_ERR_PROTOCOL);
    wire_writer_fini(&all);
}
END_TEST

START_TEST(changed_records_do_no_harm)
{
    struct wire_writer all = records("abca", 0, 4);
    for (size_t at = 0; at < all.length; at++)
        for (int bit = 0; bit < 8; bit++) {
            struct err err;
            all.data[at] ^= (unsigned char)(1u << bit);
            struct directory *directory = create(&all, all.length, 4, &err);
            ck_assert(directory || err.code == HVD_ERR_PROTOCOL);
            for (int rank = 0; directory && rank < 4; rank++) {
                struct join_peer peer;
                directory_find(directory, rank, &peer);
                ck_assert_int_eq(peer.rank, rank);
            }
            directory_destroy(directory);
            all.data[at] ^= (unsigned char)(1u << bit);
        }
    wire_writer_fini(&all);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("directory");
    TCase *tests = tcase_create("directory");
    tcase_add_test(tests, everybody_is_found);
    tcase_add_loop_test(tests, hosts_are_numbered_in_the_order_of_their_ranks, 0, 6);
    tcase_add_loop_test(tests, who_has_no_address_cannot_be_dialled, 0, 4);
    tcase_add_test(tests, a_host_is_one_printable_line);
    tcase_add_test(tests, records_of_a_subtree_are_those_of_its_ranks);
    tcase_add_test(tests, records_that_are_cut_short_or_too_long_are_refused);
    tcase_add_test(tests, changed_records_do_no_harm);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
