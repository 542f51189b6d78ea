/* SPDX-License-Identifier: Apache-2.0 */
/* A WELCOME names just the neighbours of its rank in a world of its size. */
#include "lib/base/join_protocol.h"
#include "tests/support/unit.h"

#include <string.h>

static struct join_welcome decoded;

static int decode_welcome_of(const struct join_welcome *message)
{
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    join_welcome_encode(&writer, message);
    ck_assert_uint_le(PROOF_SIZE + writer.length, JOIN_RENDEZVOUS_MAX);
    memset(&decoded, 0, sizeof decoded);
    wire_reader_init(&reader, writer.data, writer.length);
    int rc = join_welcome_decode(&decoded, &reader, NULL);
    wire_writer_fini(&writer);
    return rc;
}

/* With names and addresses as long as they can be. */
static void fill_welcome(struct join_welcome *message, int rank, int size, int star)
{
    int ranks[NEIGHBOURS_MAX];
    *message = (struct join_welcome){ .rank_info = { rank, size, rank, size, 0, 1 }, .star = star };
    message->nneighbours = neighbours(ranks, rank, size, star);
    for (int i = 0; i < message->nneighbours; i++) {
        struct join_peer *peer = &message->neighbours[i];
        peer->rank = ranks[i];
        memset(peer->host, 'h', sizeof peer->host - 1);
        peer->addresses.count = JOIN_ADDRESSES_MAX;
        for (int j = 0; j < JOIN_ADDRESSES_MAX; j++)
            memset(peer->addresses.text[j], '1', JOIN_ADDRESS_MAX - 1);
    }
}

START_TEST(worlds_of_any_size_have_their_neighbours)
{
    static const int sizes[] = { 1, 2, 3, 4, 5, 6, 7, 21, 1000, WORLD_SIZE_MAX };
    struct join_welcome message;
    int size = sizes[_i];
    for (int rank = 0; rank < size; rank += size / 50 + 1) {
        for (int star = 1; star <= size; star = star == size ? size + 1 : size) {
            fill_welcome(&message, rank, size, star);
            ck_assert_int_eq(decode_welcome_of(&message), HVD_OK);
            ck_assert_mem_eq(&decoded, &message, sizeof message);
        }
    }
}
END_TEST

static void swap_them(struct join_welcome *message)
{
    struct join_peer first = message->neighbours[0];
    message->neighbours[0] = message->neighbours[1];
    message->neighbours[1] = first;
}

static void leave_one_out(struct join_welcome *message)
{
    message->nneighbours--;
}

static void name_one_twice(struct join_welcome *message)
{
    message->neighbours[1] = message->neighbours[0];
}

static void name_itself(struct join_welcome *message)
{
    message->neighbours[0].rank = message->rank_info.rank;
}

static void name_an_unknown_rank(struct join_welcome *message)
{
    message->neighbours[0].rank = 7;
}

static void change_the_star(struct join_welcome *message)
{
    message->star = message->rank_info.size;
}

static void tell_no_star(struct join_welcome *message)
{
    message->star = 0;
}

static void tell_a_star_of_more_than_all(struct join_welcome *message)
{
    message->star = message->rank_info.size + 1;
}

static void add_one(struct join_welcome *message)
{
    message->neighbours[message->nneighbours] = message->neighbours[0];
    message->neighbours[message->nneighbours++].rank = 8;
}

START_TEST(neighbours_that_are_not_those_of_the_place_are_refused)
{
    static void (*const wrongs[])(struct join_welcome *) = {
        swap_them,       leave_one_out,        name_one_twice,
        name_itself,     name_an_unknown_rank, add_one,
        change_the_star, tell_no_star,         tell_a_star_of_more_than_all,
    };
    struct join_welcome message;
    fill_welcome(&message, 2, 9, 1);
    wrongs[_i](&message);
    ck_assert_int_eq(decode_welcome_of(&message), HVD_ERR_PROTOCOL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("join_welcome");
    TCase *tcase = tcase_create("join_welcome");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, worlds_of_any_size_have_their_neighbours, 0, 10);
    tcase_add_loop_test(tcase, neighbours_that_are_not_those_of_the_place_are_refused, 0, 9);
    return unit_run(suite);
}
