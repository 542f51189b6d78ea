/* SPDX-License-Identifier: Apache-2.0 */
/* Which processors ranks are bound to, on machines that hwloc makes up from a description. */
#include "launcher/placement/binding.h"

#include "launcher/placement/binding_places.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct binding_places places;
static struct err err;

static void release(void)
{
    binding_places_fini(&places);
}

/* The places of a machine of which processors [first, end) may be used, and those of `more`. */
static int find(const char *machine, enum binding_kind kind, int first, int end, unsigned long more)
{
    hwloc_topology_t topology;
    unsigned long words[] = { more, 0 };
    struct cpu_mask own = { words, COUNT(words) };
    for (int cpu = first; cpu < end; cpu++)
        words[cpu / 64] |= 1ul << cpu % 64;
    ck_assert_int_eq(hwloc_topology_init(&topology), 0);
    ck_assert_int_eq(hwloc_topology_set_synthetic(topology, machine), 0);
    ck_assert_int_eq(hwloc_topology_load(topology), 0);
    binding_places_fini(&places);
    int rc = binding_places_find(&places, kind, topology, &own, &err);
    hwloc_topology_destroy(topology);
    return rc;
}

/* All of its processors may be used. */
static void find_all(const char *machine, enum binding_kind kind)
{
    ck_assert_int_eq(find(machine, kind, 0, 128, 0), HVD_OK);
}

static void expect_rank_info(int local_rank, enum binding_kind kind, const char *expected)
{
    char text[256];
    binding_text(text, sizeof text, kind, binding_place_for(&places, local_rank));
    ck_assert_str_eq(text, expected);
}

static const char two_sockets[] = "package:2 numa:1 core:4 pu:2";

/* Processors are numbered through the cores of a socket here; the second thread of a core comes
 * behind it. */
static const struct {
    const char *machine;
    enum binding_kind kind;
    int local_rank;
    const char *text;
} rows[] = {
    { two_sockets, BIND_CORE, 0, "bound to core 0 (cpus 0-1)" },
    { two_sockets, BIND_CORE, 1, "bound to core 1 (cpus 2-3)" },
    { two_sockets, BIND_CORE, 7, "bound to core 7 (cpus 14-15)" },
    { two_sockets, BIND_CORE, 8, "bound to core 0 (cpus 0-1)" },
    { two_sockets, BIND_SOCKET, 0, "bound to socket 0 (cpus 0-7)" },
    { two_sockets, BIND_SOCKET, 1, "bound to socket 1 (cpus 8-15)" },
    { two_sockets, BIND_SOCKET, 2, "bound to socket 0 (cpus 0-7)" },
    { two_sockets, BIND_NUMA, 1, "bound to NUMA node 1 (cpus 8-15)" },
    { "package:1 core:2 pu:1", BIND_CORE, 1, "bound to core 1 (cpu 1)" },
    { "package:1 numa:4 core:2 pu:1", BIND_SOCKET, 3, "bound to socket 0 (cpus 0-7)" },
    { "package:1 numa:4 core:2 pu:1", BIND_NUMA, 3, "bound to NUMA node 3 (cpus 6-7)" },
    { "package:2 numa:2 core:32 pu:1", BIND_CORE, 127, "bound to core 127 (cpu 127)" },
    { "package:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", BIND_CORE, 3,
      "bound to core 3 (cpus 3,7)" },
    { "package:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", BIND_SOCKET, 1,
      "bound to socket 1 (cpus 2-3,6-7)" },
};

START_TEST(ranks_take_the_places_in_turn)
{
    find_all(rows[_i].machine, rows[_i].kind);
    expect_rank_info(rows[_i].local_rank, rows[_i].kind, rows[_i].text);
}
END_TEST

START_TEST(what_may_not_be_used_is_left_out_and_numbers_stay)
{
    ck_assert_int_eq(find(two_sockets, BIND_CORE, 9, 12, 0), HVD_OK);
    ck_assert_int_eq(places.count, 2);
    expect_rank_info(0, BIND_CORE, "bound to core 4 (cpu 9)");
    expect_rank_info(1, BIND_CORE, "bound to core 5 (cpus 10-11)");
    ck_assert_int_eq(find(two_sockets, BIND_SOCKET, 12, 16, 1 | 1 << 3), HVD_OK);
    expect_rank_info(0, BIND_SOCKET, "bound to socket 0 (cpus 0,3)");
    expect_rank_info(1, BIND_SOCKET, "bound to socket 1 (cpus 12-15)");
    ck_assert_int_eq(places.at[0].ncores, 2);
    ck_assert_int_eq(places.at[1].ncores, 2);
    ck_assert_int_eq(find(two_sockets, BIND_NUMA, 12, 16, 0), HVD_OK);
    ck_assert_int_eq(places.count, 1);
    expect_rank_info(3, BIND_NUMA, "bound to NUMA node 1 (cpus 12-15)");
}
END_TEST

START_TEST(a_machine_that_does_not_tell_has_a_core_per_processor_and_one_socket)
{
    find_all("pu:4", BIND_CORE);
    ck_assert_int_eq(places.count, 4);
    expect_rank_info(3, BIND_CORE, "bound to core 3 (cpu 3)");
    find_all("pu:4", BIND_SOCKET);
    ck_assert_int_eq(places.count, 1);
    ck_assert_int_eq(places.at[0].ncores, 4);
    find_all("pu:4", BIND_NUMA);
    ck_assert_int_eq(places.count, 1);
}
END_TEST

START_TEST(memory_of_another_kind_is_no_second_place)
{
    find_all("package:2 [numa(memory=1GB)] [numa(memory=2GB)] core:2 pu:1", BIND_NUMA);
    ck_assert_int_eq(places.count, 2);
    expect_rank_info(0, BIND_NUMA, "bound to NUMA node 0 (cpus 0-1)");
    expect_rank_info(1, BIND_NUMA, "bound to NUMA node 2 (cpus 2-3)");
}
END_TEST

START_TEST(nothing_that_may_be_used_is_an_error)
{
    ck_assert_int_eq(find(two_sockets, BIND_CORE, 16, 20, 0), HVD_ERR_SYSTEM);
    ck_assert_int_eq(places.count, 0);
}
END_TEST

static const struct {
    const char *machine;
    struct binding binding;
    int nranks;
    const char *error; /* NULL: there is room */
} rooms[] = {
    { two_sockets, { BIND_CORE, false }, 8, NULL },
    { two_sockets,
      { BIND_CORE, false },
      9,
      "--bind-to core: 9 ranks, but 8 cores (core:overload-allowed" },
    { two_sockets, { BIND_CORE, true }, 9, NULL },
    { two_sockets, { BIND_SOCKET, false }, 8, NULL },
    { two_sockets,
      { BIND_SOCKET, false },
      9,
      "--bind-to socket: 5 ranks for socket 0, but 4 cores (socket:over" },
    { two_sockets,
      { BIND_NUMA, false },
      9,
      "--bind-to numa: 5 ranks for NUMA node 0, but 4 cores (numa:over" },
    { two_sockets, { BIND_NUMA, true }, 99, NULL },
    { "core:1 pu:2", { BIND_CORE, false }, 2, "--bind-to core: 2 ranks, but 1 core (" },
    { two_sockets, { BIND_NONE, false }, 99, NULL },
};

START_TEST(every_choice_is_a_binding)
{
    static const struct {
        const char *word;
        struct binding binding;
    } choices[] = {
        { "none", { BIND_NONE, false } },
        { "core", { BIND_CORE, false } },
        { "socket", { BIND_SOCKET, false } },
        { "numa", { BIND_NUMA, false } },
        { "core:overload-allowed", { BIND_CORE, true } },
        { "socket:overload-allowed", { BIND_SOCKET, true } },
        { "numa:overload-allowed", { BIND_NUMA, true } },
    };
    char words[] = BIND_TO_CHOICES;
    int choice = 0;
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "), choice++) {
        struct binding binding = binding_of(choice);
        ck_assert_int_lt(choice, BIND_TO_COUNT);
        ck_assert_str_eq(word, choices[choice].word);
        ck_assert_int_eq(binding.kind, choices[choice].binding.kind);
        ck_assert_int_eq(binding.overload, choices[choice].binding.overload);
    }
    ck_assert_int_eq(choice, BIND_TO_COUNT);
}
END_TEST

START_TEST(no_place_gets_more_ranks_than_cores_unless_that_is_allowed)
{
    struct binding binding = rooms[_i].binding;
    find_all(rooms[_i].machine, binding.kind == BIND_NONE ? BIND_CORE : binding.kind);
    int rc = binding_check(binding, &places, rooms[_i].nranks, &err);
    ck_assert_int_eq(rc, rooms[_i].error ? HVD_ERR_INVALID : HVD_OK);
    if (rooms[_i].error)
        ck_assert_msg(strncmp(err.text, rooms[_i].error, strlen(rooms[_i].error)) == 0, "%s",
                      err.text);
}
END_TEST

START_TEST(the_fuller_place_is_the_one_that_is_named)
{
    ck_assert_int_eq(find(two_sockets, BIND_SOCKET, 12, 16, 3), HVD_OK); /* 1 and 2 cores */
    ck_assert_int_eq(binding_check((struct binding){ BIND_SOCKET, false }, &places, 2, &err),
                     HVD_OK);
    ck_assert_int_eq(binding_check((struct binding){ BIND_SOCKET, false }, &places, 3, &err),
                     HVD_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "2 ranks for socket 0, but 1 core "));
}
END_TEST

START_TEST(a_text_that_does_not_fit_is_cut_off)
{
    char text[32];
    ck_assert_int_eq(find("pu:64", BIND_SOCKET, 0, 0, 0x5555555555555555), HVD_OK);
    binding_text(text, sizeof text, BIND_SOCKET, &places.at[0]);
    ck_assert_str_eq(text, "bound to socket 0 (cpus 0,2,4,6");
    binding_text(text, sizeof text, BIND_NONE, NULL);
    ck_assert_str_eq(text, "not bound");
}
END_TEST

START_TEST(this_machine_has_as_many_processors_as_this_process_may_use)
{
    struct cpu_mask own;
    int count = 0;
    cpu_mask_own(&own);
    ck_assert_int_eq(binding_places_read(&places, (enum binding_kind)_i, &err), HVD_OK);
    for (int i = 0; i < places.count; i++)
        count += cpu_mask_count(&places.at[i].cpus);
    ck_assert_int_eq(count, cpu_mask_count(&own));
    cpu_mask_fini(&own);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("binding");
    TCase *tcase = tcase_create("places");
    tcase_add_checked_fixture(tcase, NULL, release);
    tcase_add_loop_test(tcase, ranks_take_the_places_in_turn, 0, COUNT(rows));
    tcase_add_test(tcase, what_may_not_be_used_is_left_out_and_numbers_stay);
    tcase_add_test(tcase, a_machine_that_does_not_tell_has_a_core_per_processor_and_one_socket);
    tcase_add_test(tcase, memory_of_another_kind_is_no_second_place);
    tcase_add_test(tcase, nothing_that_may_be_used_is_an_error);
    tcase_add_test(tcase, every_choice_is_a_binding);
    tcase_add_loop_test(tcase, no_place_gets_more_ranks_than_cores_unless_that_is_allowed, 0,
                        COUNT(rooms));
    tcase_add_test(tcase, the_fuller_place_is_the_one_that_is_named);
    tcase_add_test(tcase, a_text_that_does_not_fit_is_cut_off);
    tcase_add_loop_test(tcase, this_machine_has_as_many_processors_as_this_process_may_use,
                        BIND_CORE, BINDING_KINDS);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
