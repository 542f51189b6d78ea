/* SPDX-License-Identifier: Apache-2.0 */
/* Which way bytes go to a rank of the same host, and how much of its cache each ring may use. */
#include "lib/link/shm_method.h"
#include "tests/support/unit.h"

enum { KIB = 1024, MIB = 1024 * KIB };

static const struct {
    const char *name;
    struct shm_method_case what;
    enum shm_method way;
} cases[] = {
    { "2 ranks, a small piece of mapped memory",
      { true, false, true, 2, 63 * KIB, 0, 0 },
      SHM_METHOD_COPY },
    { "mapped, only copied", { true, false, true, 2, 64 * KIB, 0, 0 }, SHM_METHOD_EXPORT },
    { "the number of ranks is not known",
      { true, false, true, 0, 64 * KIB, 0, 0 },
      SHM_METHOD_EXPORT },
    { "the number of ranks is not known, 1 MiB reduced",
      { true, false, true, 0, 64 * KIB, 1 * MIB, 0 },
      SHM_METHOD_EXPORT },
    { "2 ranks, mapped, 512 KiB reduced",
      { true, false, true, 2, 256 * KIB, 512 * KIB, 0 },
      SHM_METHOD_COPY },
    { "2 ranks, mapped, 1 MiB reduced",
      { true, false, true, 2, 256 * KIB, 1 * MIB, 0 },
      SHM_METHOD_EXPORT },
    { "2 ranks, mapped, far, 16 MiB reduced",
      { true, true, true, 2, 256 * KIB, 16 * MIB, 0 },
      SHM_METHOD_COPY },
    { "2 ranks, mapped, far, 16 MiB reduced, ordinary stores",
      { true, true, false, 2, 256 * KIB, 16 * MIB, 0 },
      SHM_METHOD_COPY },
    { "2 ranks, mapped, far, 32 MiB reduced",
      { true, true, true, 2, 256 * KIB, 32 * MIB, 0 },
      SHM_METHOD_EXPORT },
    { "2 ranks, mapped, far, only copied",
      { true, true, true, 2, 64 * KIB, 0, 0 },
      SHM_METHOD_EXPORT },
    { "4 ranks, mapped, 256 KiB reduced",
      { true, false, true, 4, 64 * KIB, 256 * KIB, 0 },
      SHM_METHOD_COPY },
    { "4 ranks, mapped, 1 MiB reduced",
      { true, false, true, 4, 256 * KIB, 1 * MIB, 0 },
      SHM_METHOD_EXPORT },
    { "4 ranks, mapped, far", { true, true, true, 4, 256 * KIB, 1 * MIB, 0 }, SHM_METHOD_EXPORT },
    { "private, near", { false, false, false, 2, 256 * KIB, 64 * MIB, 32 * MIB }, SHM_METHOD_COPY },
    { "private, far, around the caches",
      { false, true, true, 2, 256 * KIB, 64 * MIB, 32 * MIB },
      SHM_METHOD_COPY },
    { "private, far, ordinary stores",
      { false, true, false, 2, 256 * KIB, 64 * MIB, 4 * MIB },
      SHM_METHOD_FETCH },
    { "the same, the beginning of a vector",
      { false, true, false, 2, 256 * KIB, 64 * MIB, 0 },
      SHM_METHOD_COPY },
    { "the same, only copied", { false, true, false, 2, 256 * KIB, 0, 4 * MIB }, SHM_METHOD_FETCH },
};

START_TEST(the_table_chooses_by_memory_distance_ranks_and_size)
{
    ck_assert_msg(shm_method_choose(&cases[_i].what) == cases[_i].way, "%s", cases[_i].name);
}
END_TEST

START_TEST(the_rings_of_a_host_share_a_budget)
{
    ck_assert_uint_eq(shm_method_ring_bytes(1, 0), SHM_RING_MOST);
    ck_assert_uint_eq(shm_method_ring_bytes(2, 0), 2 * MIB);
    ck_assert_uint_eq(shm_method_ring_bytes(3, 0), 512 * KIB);
    ck_assert_uint_eq(shm_method_ring_bytes(4, 0), 256 * KIB);
    for (int ranks = 2; shm_method_ring_bytes(ranks, 0) > SHM_RING_LEAST; ranks++)
        ck_assert_uint_le(shm_method_ring_bytes(ranks, 0) * (size_t)(ranks * (ranks - 1)),
                          SHM_RINGS_BYTES);
    ck_assert_uint_eq(shm_method_ring_bytes(1000, 0), SHM_RING_LEAST);
    ck_assert_uint_eq(shm_method_ring_bytes(1 << 20, 0), SHM_RING_LEAST);
}
END_TEST

START_TEST(a_processor_with_a_small_or_unknown_cache_of_its_own_gets_the_largest_rings)
{
    static const size_t caches[] = { 0, 256 * KIB, 512 * KIB, 1 * MIB, 1280 * KIB, 2 * MIB - 1 };
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++)
        for (int ranks = 1; ranks < 40; ranks++)
            ck_assert_uint_eq(shm_method_ring_bytes(ranks, caches[i]),
                              shm_method_ring_bytes(ranks, 0));
}
END_TEST

START_TEST(rings_of_a_pair_stay_in_a_large_cache_of_a_processor)
{
    ck_assert_uint_eq(shm_method_ring_bytes(2, 2 * MIB), 512 * KIB);
    ck_assert_uint_eq(shm_method_ring_bytes(2, 3 * MIB), 512 * KIB);
    ck_assert_uint_eq(shm_method_ring_bytes(2, 4 * MIB), 1 * MIB);
    ck_assert_uint_eq(shm_method_ring_bytes(2, SIZE_MAX), SHM_RING_MOST);
    for (int ranks = 3; ranks < 40; ranks++)
        ck_assert_uint_eq(shm_method_ring_bytes(ranks, 2 * MIB), shm_method_ring_bytes(ranks, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shm_method");
    TCase *tcase = tcase_create("shm_method");
    tcase_add_loop_test(tcase, the_table_chooses_by_memory_distance_ranks_and_size, 0,
                        sizeof cases / sizeof *cases);
    tcase_add_test(tcase, the_rings_of_a_host_share_a_budget);
    tcase_add_test(tcase,
                   a_processor_with_a_small_or_unknown_cache_of_its_own_gets_the_largest_rings);
    tcase_add_test(tcase, rings_of_a_pair_stay_in_a_large_cache_of_a_processor);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
