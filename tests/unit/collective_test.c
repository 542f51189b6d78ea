/* SPDX-License-Identifier: Apache-2.0 */
/* Whole collectives of several ranks in one thread, over links in memory, against a plain
 * reference: all kinds, awkward counts, and links that move one byte at a time. */
#include "lib/collective.h"
#include "lib/collective/ring_schedule.h"
#include "lib/ring.h"
#include "tests/support/link_memory.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum { RANKS_MAX = 5 };

static struct ring rings[RANKS_MAX];
static struct collective collectives[RANKS_MAX];
static struct request requests[RANKS_MAX];
static int world_size;

static void open_world(int size, size_t step, size_t capacity)
{
    world_size = size;
    for (int rank = 0; rank < size; rank++) {
        rings[rank].rank = rank;
        rings[rank].size = size;
        rings[rank].staging = malloc(RING_SEGMENT);
        rings[rank].left.rank = ring_left(rank, size);
        rings[rank].right.rank = ring_right(rank, size);
    }
    for (int rank = 0; rank < size; rank++) {
        struct link *ends[2];
        link_memory_pair(ends, step, capacity);
        rings[rank].right.link = ends[0];
        rings[ring_right(rank, size)].left.link = ends[1];
    }
}

static void close_world(void)
{
    for (int rank = 0; rank < world_size; rank++)
        ring_fini(&rings[rank]);
}

static void start_all(uint64_t number)
{
    for (int rank = 0; rank < world_size; rank++)
        if (world_size == 1)
            collective_alone(&requests[rank]);
        else
            collective_start(&collectives[rank], &requests[rank], rank, world_size, number,
                             rings[rank].staging);
}

/* Moves all ranks in turn until all are done, one fails, or nothing moves. */
static int run_all(uint64_t number, struct err *err)
{
    start_all(number);
    for (bool moved = world_size > 1; moved;) {
        moved = false;
        for (int rank = 0; rank < world_size; rank++) {
            int rc = ring_move(&rings[rank], &collectives[rank], err);
            if (rc < 0)
                return rc;
            moved |= rc > 0;
        }
    }
    for (int rank = 0; rank < world_size && world_size > 1; rank++)
        ck_assert_msg(collective_done(&collectives[rank]), "rank %d is stuck", rank);
    return HVD_OK;
}

/* Small whole numbers, so that every order of summation gives the same. */
static float value_of(int rank, size_t index)
{
    return (float)((int)(index * 31 % 17) + rank * 3 - 8);
}

static float *make_input(int rank, size_t count)
{
    float *input = malloc(count * sizeof *input + 1);
    for (size_t i = 0; i < count; i++)
        input[i] = value_of(rank, i);
    return input;
}

static float expected_of(enum hvd_op op, size_t index)
{
    float result = value_of(0, index);
    for (int rank = 1; rank < world_size; rank++) {
        float value = value_of(rank, index);
        if (op == HVD_MIN)
            result = value < result ? value : result;
        else if (op == HVD_MAX)
            result = value > result ? value : result;
        else if (op == HVD_PRODUCT)
            result *= value;
        else
            result += value;
    }
    return op == HVD_AVERAGE ? result / (float)world_size : result;
}

/* An assertion per element would take most of the time. */
static void check_element(bool right, int rank, size_t index)
{
    if (!right)
        ck_abort_msg("rank %d of %d: element %zu is wrong", rank, world_size, index);
}

static void check_allreduce(size_t count, enum hvd_op op, bool in_place)
{
    struct err err = { 0 };
    for (int rank = 0; rank < world_size; rank++) {
        float *input = make_input(rank, count);
        float *output = in_place ? input : malloc(count * sizeof *output + 1);
        requests[rank] = (struct request){ COLLECTIVE_ALLREDUCE, "grad", input, output, count,
                                           HVD_FLOAT32,          op,     0 };
    }
    ck_assert_msg(run_all(0, &err) == HVD_OK, "%s", err.text);
    for (int rank = 0; rank < world_size; rank++) {
        const float *output = requests[rank].output, *input = requests[rank].input;
        for (size_t i = 0; i < count; i++) {
            float expected = world_size == 1 ? value_of(0, i) : expected_of(op, i);
            check_element(output[i] == expected, rank, i);
            check_element(in_place || input[i] == value_of(rank, i), rank, i);
        }
        if (!in_place)
            free(requests[rank].output);
        free((void *)requests[rank].input);
    }
}

static const size_t counts[] = { 0, 1, 2, 3, 7, 1000, 100003 };
enum { COUNTS = sizeof counts / sizeof *counts };

/* How links move: bytes per call, bytes that fit in one. */
static const struct {
    size_t step, capacity, count_max;
} links[] = {
    { 1, 1, 1000 },
    { 1, 64, 1000 },
    { 5, 7, 1000 },
    { 4096, 9000, 100003 },
    { 1 << 20, 1 << 20, 100003 },
};
enum { LINKS = sizeof links / sizeof *links };

static void for_each_world(void (*check)(size_t count))
{
    for (size_t l = 0; l < LINKS; l++)
        for (int size = 1; size <= RANKS_MAX; size++) {
            open_world(size, links[l].step, links[l].capacity);
            for (size_t c = 0; c < COUNTS && counts[c] <= links[l].count_max; c++)
                check(counts[c]);
            close_world();
        }
}

static void sum(size_t count)
{
    check_allreduce(count, HVD_SUM, false);
    check_allreduce(count, HVD_SUM, true);
}

static void other_operations(size_t count)
{
    check_allreduce(count, HVD_AVERAGE, true);
    check_allreduce(count, HVD_MIN, false);
    check_allreduce(count, HVD_MAX, true);
    check_allreduce(count, HVD_PRODUCT, false);
}

START_TEST(allreduce_sums_for_every_size_count_and_link)
{
    for_each_world(sum);
}
END_TEST

START_TEST(allreduce_averages_and_compares_likewise)
{
    for_each_world(other_operations);
}
END_TEST

static void check_broadcast(size_t count, int root)
{
    struct err err = { 0 };
    for (int rank = 0; rank < world_size; rank++) {
        float *data = make_input(rank, count);
        requests[rank] = (struct request){ COLLECTIVE_BROADCAST, "weights", data, data, count,
                                           HVD_FLOAT32,          0,         root };
    }
    ck_assert_msg(run_all(0, &err) == HVD_OK, "%s", err.text);
    for (int rank = 0; rank < world_size; rank++) {
        const float *data = requests[rank].output;
        for (size_t i = 0; i < count; i++)
            check_element(data[i] == value_of(root, i), rank, i);
        free(requests[rank].output);
    }
}

static void broadcast(size_t count)
{
    for (int root = 0; root < world_size; root++)
        check_broadcast(count, root);
}

START_TEST(broadcast_copies_from_every_root)
{
    for_each_world(broadcast);
}
END_TEST

static void check_allgather(size_t count, bool in_place)
{
    struct err err = { 0 };
    for (int rank = 0; rank < world_size; rank++) {
        float *output = malloc(count * (size_t)world_size * sizeof *output + 1);
        float *input = make_input(rank, count), *own = output + count * (size_t)rank;
        if (in_place) {
            memcpy(own, input, count * sizeof *own);
            free(input);
            input = own;
        }
        requests[rank] =
            (struct request){ COLLECTIVE_ALLGATHER, "", input, output, count, HVD_FLOAT32, 0, 0 };
    }
    ck_assert_msg(run_all(0, &err) == HVD_OK, "%s", err.text);
    for (int rank = 0; rank < world_size; rank++) {
        const float *output = requests[rank].output;
        for (size_t i = 0; i < count * (size_t)world_size; i++)
            check_element(output[i] == value_of((int)(i / count), i % count), rank, i);
        if (!in_place)
            free((void *)requests[rank].input);
        free(requests[rank].output);
    }
}

static void allgather(size_t count)
{
    check_allgather(count, false);
    check_allgather(count, true);
}

START_TEST(allgather_puts_parts_in_order_of_rank)
{
    for_each_world(allgather);
}
END_TEST

/* Lets every rank but `late` move until nothing moves. */
static void run_without(int late)
{
    struct err err = { 0 };
    for (bool moved = true; moved;) {
        moved = false;
        for (int rank = 0; rank < world_size; rank++)
            if (rank != late)
                moved |= ring_move(&rings[rank], &collectives[rank], &err) > 0;
    }
}

START_TEST(nobody_passes_a_barrier_before_all_have_come)
{
    for (int size = 2; size <= RANKS_MAX; size++)
        for (int late = 0; late < size; late++) {
            struct err err = { 0 };
            open_world(size, 1 << 20, 1 << 20);
            for (int rank = 0; rank < size; rank++)
                requests[rank] =
                    (struct request){ .kind = COLLECTIVE_BARRIER, .name = "", .dtype = HVD_INT32 };
            start_all(0);
            run_without(late);
            for (int rank = 0; rank < size; rank++)
                ck_assert(!collective_done(&collectives[rank]));
            for (int round = 0; round < 4 * size; round++)
                for (int rank = 0; rank < size; rank++)
                    ck_assert_int_ge(ring_move(&rings[rank], &collectives[rank], &err), 0);
            for (int rank = 0; rank < size; rank++)
                ck_assert(collective_done(&collectives[rank]));
            close_world();
        }
}
END_TEST

/* Fractions, where the order of summation shows in the last bits. */
static void check_bits(int size)
{
    enum { COUNT = 1003 };
    static float data[RANKS_MAX][COUNT], expected[COUNT];
    struct err err = { 0 };
    for (int rank = 0; rank < size; rank++)
        for (int i = 0; i < COUNT; i++)
            data[rank][i] = 1.0f / (float)(3 + rank * 7 + i);
    for (int chunk = 0; chunk < size; chunk++)
        for (size_t i = chunk_start(COUNT, size, chunk); i < chunk_start(COUNT, size, chunk + 1);
             i++) {
            expected[i] = data[(chunk + 1) % size][i];
            for (int next = 2; next <= size; next++)
                expected[i] += data[(chunk + next) % size][i];
            expected[i] /= (float)size;
        }
    for (int rank = 0; rank < size; rank++)
        requests[rank] =
            (struct request){ COLLECTIVE_ALLREDUCE, "",          data[rank], data[rank], COUNT,
                              HVD_FLOAT32,          HVD_AVERAGE, 0 };
    ck_assert_int_eq(run_all(0, &err), HVD_OK);
    for (int rank = 0; rank < size; rank++)
        ck_assert_mem_eq(data[rank], expected, sizeof expected);
}

START_TEST(all_ranks_get_the_same_bits_in_ring_order)
{
    for (int size = 2; size <= RANKS_MAX; size++) {
        open_world(size, 1 << 20, 1 << 20);
        check_bits(size);
        close_world();
        open_world(size, 3, 10);
        check_bits(size);
        close_world();
    }
}
END_TEST

START_TEST(one_collective_after_the_other_uses_the_same_links)
{
    open_world(3, 100, 1000);
    for (uint64_t number = 0; number < 20; number++) {
        int32_t data[3][5];
        struct err err = { 0 };
        for (int rank = 0; rank < 3; rank++) {
            for (int i = 0; i < 5; i++)
                data[rank][i] = (int32_t)number + rank;
            requests[rank] = (struct request){
                COLLECTIVE_ALLREDUCE, "", data[rank], data[rank], 5, HVD_INT32, HVD_SUM, 0
            };
        }
        ck_assert_int_eq(run_all(number, &err), HVD_OK);
        ck_assert_int_eq(data[2][4], 3 * (int32_t)number + 3);
    }
    close_world();
}
END_TEST

/* Links that cut elements in two, and a sum that no float16 can hold. */
START_TEST(an_average_of_halves_is_rounded_after_the_division)
{
    open_world(3, 1, 3);
    uint16_t data[3][7];
    struct err err = { 0 };
    for (int rank = 0; rank < 3; rank++) {
        for (int i = 0; i < 7; i++)
            data[rank][i] = (uint16_t)(rank == 0 ? 0x0001 : 0x7bff); /* 2^-24 and 65504 */
        requests[rank] =
            (struct request){ COLLECTIVE_ALLREDUCE, "",          data[rank], data[rank], 7,
                              HVD_FLOAT16,          HVD_AVERAGE, 0 };
    }
    ck_assert_int_eq(run_all(0, &err), HVD_OK);
    /* Of the blocks, of 3, 2 and 2, the one that begins with both large ones is infinite. */
    for (int rank = 0; rank < 3; rank++)
        for (int i = 0; i < 7; i++)
            ck_assert_uint_eq(data[rank][i], i < 3 ? 0x7c00 : 0x7955); /* 43669.33 */
    close_world();
}
END_TEST

/* What rank 1 of 2 does differently from rank 0, and what must be said. */
static const struct {
    struct request of_rank1;
    const char *text;
} mismatches[] = {
    { { COLLECTIVE_ALLREDUCE, "grad", NULL, NULL, 10, HVD_FLOAT32, HVD_SUM, 0 },
      "allreduce 'grad': rank 0 has 12 float32, rank 1 has 10 float32" },
    { { COLLECTIVE_ALLREDUCE, "grad", NULL, NULL, 12, HVD_FLOAT64, HVD_SUM, 0 },
      "allreduce 'grad': rank 0 has 12 float32, rank 1 has 12 float64" },
    { { COLLECTIVE_ALLREDUCE, "grad", NULL, NULL, 12, HVD_FLOAT32, HVD_AVERAGE, 0 },
      "allreduce 'grad': rank 0 wants the sum, rank 1 the average" },
    { { COLLECTIVE_ALLREDUCE, "bias", NULL, NULL, 12, HVD_FLOAT32, HVD_SUM, 0 },
      "rank 0 called allreduce 'grad', rank 1 called allreduce 'bias'" },
    { { COLLECTIVE_ALLGATHER, "grad", NULL, NULL, 12, HVD_FLOAT32, 0, 0 },
      "rank 0 called allreduce 'grad', rank 1 called allgather 'grad'" },
    { { COLLECTIVE_BARRIER, "", NULL, NULL, 0, HVD_INT32, 0, 0 },
      "rank 0 called allreduce 'grad', rank 1 called barrier" },
};

START_TEST(ranks_that_disagree_are_told_who_does_what)
{
    static double memory[2][64];
    struct err err = { 0 };
    open_world(2, 1 << 20, 1 << 20);
    requests[0] = (struct request){ COLLECTIVE_ALLREDUCE, "grad",  memory[0], memory[0], 12,
                                    HVD_FLOAT32,          HVD_SUM, 0 };
    requests[1] = mismatches[_i].of_rank1;
    requests[1].input = requests[1].output = memory[1];
    ck_assert_int_eq(run_all(0, &err), HVD_ERR_MISMATCH);
    ck_assert_str_eq(err.text, mismatches[_i].text);
    close_world();
}
END_TEST

START_TEST(roots_that_differ_are_named)
{
    float memory[2][4] = { { 0 } };
    struct err err = { 0 };
    open_world(2, 1 << 20, 1 << 20);
    for (int rank = 0; rank < 2; rank++)
        requests[rank] = (struct request){ COLLECTIVE_BROADCAST, "w", memory[rank], memory[rank], 4,
                                           HVD_FLOAT32,          0,   rank };
    ck_assert_int_eq(run_all(0, &err), HVD_ERR_MISMATCH);
    ck_assert_str_eq(err.text, "broadcast 'w': rank 0 has root 0, rank 1 has root 1");
    close_world();
}
END_TEST

/* Any bit of a fingerprint: noticed, or without meaning (the shown part of the name). */
START_TEST(a_flipped_bit_in_a_fingerprint_is_noticed)
{
    struct request request = {
        COLLECTIVE_ALLREDUCE, "grad", NULL, NULL, 0, HVD_FLOAT32, HVD_SUM, 0
    };
    for (int bit = 0; bit < 8 * 40; bit++) {
        struct err err = { 0 };
        size_t room;
        collective_start(&collectives[0], &request, 0, 2, 0, NULL);
        collective_start(&collectives[1], &request, 1, 2, 0, NULL);
        unsigned char *bytes = collectives[1].print_out;
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        memcpy(collective_space(&collectives[0], &room), bytes, FINGERPRINT_SIZE);
        ck_assert_uint_eq(room, FINGERPRINT_SIZE);
        ck_assert_msg(collective_received(&collectives[0], FINGERPRINT_SIZE, &err) < 0, "bit %d",
                      bit);
    }
}
END_TEST

START_TEST(a_long_name_is_told_apart_and_shortened)
{
    struct fingerprint a = { .kind = COLLECTIVE_ALLREDUCE, .rank = 0 }, b = a;
    char name[256], label[FINGERPRINT_LABEL];
    struct err err = { 0 };
    memset(name, 'x', 255);
    name[255] = '\0';
    fingerprint_set_name(&a, name);
    name[254] = 'y';
    fingerprint_set_name(&b, name);
    b.rank = 1;
    ck_assert_int_eq(fingerprint_compare(&a, &b, &err), HVD_ERR_MISMATCH);
    ck_assert_ptr_nonnull(strstr(fingerprint_label(label, &a), "xxx...'"));
}
END_TEST

START_TEST(a_cut_link_names_the_neighbour)
{
    float memory[2][4] = { { 0 } };
    struct err err = { 0 };
    open_world(2, 1 << 20, 1 << 20);
    snprintf(rings[0].right.host, sizeof rings[0].right.host, "node1");
    for (int rank = 0; rank < 2; rank++)
        requests[rank] = (struct request){
            COLLECTIVE_ALLREDUCE, "w", memory[rank], memory[rank], 4, HVD_FLOAT32, HVD_SUM, 0
        };
    start_all(0);
    link_memory_cut(rings[0].right.link);
    ck_assert_int_eq(ring_move(&rings[0], &collectives[0], &err), HVD_ERR_PEER_LOST);
    ck_assert_str_eq(err.text, "connection to rank 1 on node1 broke: cut");
    close_world();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("collective");
    TCase *tcase = tcase_create("collective");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, allreduce_sums_for_every_size_count_and_link);
    tcase_add_test(tcase, allreduce_averages_and_compares_likewise);
    tcase_add_test(tcase, broadcast_copies_from_every_root);
    tcase_add_test(tcase, allgather_puts_parts_in_order_of_rank);
    tcase_add_test(tcase, nobody_passes_a_barrier_before_all_have_come);
    tcase_add_test(tcase, all_ranks_get_the_same_bits_in_ring_order);
    tcase_add_test(tcase, one_collective_after_the_other_uses_the_same_links);
    tcase_add_test(tcase, an_average_of_halves_is_rounded_after_the_division);
    tcase_add_loop_test(tcase, ranks_that_disagree_are_told_who_does_what, 0,
                        sizeof mismatches / sizeof *mismatches);
    tcase_add_test(tcase, roots_that_differ_are_named);
    tcase_add_test(tcase, a_flipped_bit_in_a_fingerprint_is_noticed);
    tcase_add_test(tcase, a_long_name_is_told_apart_and_shortened);
    tcase_add_test(tcase, a_cut_link_names_the_neighbour);
    return unit_run(suite);
}
