/* SPDX-License-Identifier: Apache-2.0 */
/* The distance of two processors: when it is measured, by which side, and what becomes of a side
 * that does not answer. The clock is this file's: linked with -Wl,--wrap=monotonic_ns. */
#include "lib/link/shm_distance.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <sched.h>

static _Atomic uint32_t word;
static struct shm_distance asker, other;
static struct shm_distance_pair *asker_pair, *other_pair; /* each process has its own */
static _Atomic uint64_t now_ns, step_ns; /* the clock, and how far each reading moves it */

uint64_t __wrap_monotonic_ns(void);

/* How many more trips the other side answers when this side reads the clock. */
static int trips_left;

uint64_t __wrap_monotonic_ns(void)
{
    uint32_t value = atomic_load(&word);
    if (trips_left > 0 && value % 2 == 1) {
        trips_left--;
        atomic_store(&word, value + 1);
    }
    return atomic_fetch_add(&now_ns, atomic_load(&step_ns));
}

static void setup(void)
{
    atomic_init(&word, 0);
    trips_left = 0;
    asker_pair = shm_distance_pair_get(0);
    other_pair = shm_distance_pair_get(0);
    shm_distance_init(&asker, asker_pair, &word, true);
    shm_distance_init(&other, other_pair, &word, false);
}

static void teardown(void)
{
    shm_distance_pair_put(asker_pair);
    shm_distance_pair_put(other_pair);
}

static bool measurement_is_due(void)
{
    return asker_pair->measured != asker_pair->due &&
           (asker.due != asker_pair->due || asker.tries > 0);
}

START_TEST(nothing_is_asked_before_something_is_copied)
{
    shm_distance_measure(&asker);
    ck_assert_uint_eq(word, 0);
    shm_distance_count(&asker, 1);
    shm_distance_measure(&asker);
    ck_assert_uint_eq(word, 1);
}
END_TEST

START_TEST(a_side_that_is_not_asked_says_nothing)
{
    shm_distance_count(&other, 1);
    shm_distance_measure(&other);
    ck_assert_uint_eq(word, 0);
}
END_TEST

/* One side at a time looks: each finds the other one's last word, and nobody goes on. */
START_TEST(a_side_that_does_not_look_all_the_time_is_not_timed)
{
    asker_pair->place = other_pair->place = SHM_PLACE_FAR;
    shm_distance_count(&asker, 1);
    for (int i = 0; i < 100; i++) {
        shm_distance_measure(&asker);
        shm_distance_measure(&other);
    }
    ck_assert(shm_distance_is_far(&asker) && shm_distance_is_far(&other));
    ck_assert(!measurement_is_due());
}
END_TEST

static void *look_all_the_time(void *arg)
{
    atomic_bool *is_over = arg;
    while (!atomic_load(is_over)) {
        shm_distance_measure(&other);
        sched_yield();
    }
    return NULL;
}

/* Trips as the clock of this file has them: both sides read it. */
static void measure(uint64_t step)
{
    pthread_t thread;
    atomic_bool is_over = false;
    atomic_store(&step_ns, step);
    ck_assert_int_eq(pthread_create(&thread, NULL, look_all_the_time, &is_over), 0);
    for (bool asks = true; asks; asks = measurement_is_due() || asker.asked) {
        if (!measurement_is_due())
            shm_distance_count(&asker, SHM_DISTANCE_AGAIN);
        shm_distance_measure(&asker);
        sched_yield();
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
}

/* With one processor the sides cannot look at the same time. */
static bool has_two_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1;
}

START_TEST(both_sides_time_the_trips)
{
    if (!has_two_processors())
        return;
    measure(1000000);
    ck_assert(shm_distance_is_far(&asker));
    measure(1);
    ck_assert(!shm_distance_is_far(&asker));
}
END_TEST

/* The other side answers the first question, and then so many trips, of which each takes 1.25
 * `step`: a burst of four reads the clock five times after its beginning. */
static void answer_trips(int trips, uint64_t step)
{
    atomic_store(&step_ns, step);
    shm_distance_count(&asker, 1);
    shm_distance_measure(&asker);
    atomic_store(&word, 2);
    trips_left = trips;
    shm_distance_measure(&asker);
    ck_assert_int_eq(trips_left, 0);
}

static void answer_and_stop(int trips)
{
    answer_trips(trips, 100000);
}

/* Trips as an Intel Xeon has them whose processors share a cache, at most, and as processors have
 * them that do not, at least. */
START_TEST(the_slowest_near_trip_is_near_and_the_fastest_far_one_far)
{
    answer_trips(8, 232 * 4 / 5);
    ck_assert(shm_distance_is_near(&asker));
    teardown();
    setup();
    answer_trips(8, 320 * 4 / 5);
    ck_assert(shm_distance_is_far(&asker));
}
END_TEST

START_TEST(a_side_that_stops_looking_has_been_timed_if_it_looked_for_long_enough)
{
    answer_and_stop(8);
    ck_assert(shm_distance_is_far(&asker));
    ck_assert(!measurement_is_due());
}
END_TEST

START_TEST(a_side_that_stops_looking_sooner_is_timed_again)
{
    answer_and_stop(7);
    ck_assert(!shm_distance_is_far(&asker));
    ck_assert_int_eq(asker.tries, SHM_DISTANCE_TRIES - 1);
    atomic_store(&word, word + 1); /* the answer comes late */
    trips_left = 16;
    shm_distance_measure(&asker);
    ck_assert(shm_distance_is_far(&asker) && !asker.asked);
    ck_assert(!measurement_is_due());
}
END_TEST

START_TEST(many_bytes_later_it_is_measured_again)
{
    shm_distance_count(&asker, 1);
    atomic_store(&asker_pair->measured, 1);
    shm_distance_count(&asker, SHM_DISTANCE_AGAIN - 2);
    ck_assert(!measurement_is_due());
    shm_distance_count(&asker, 1);
    ck_assert(measurement_is_due());
}
END_TEST

/* One link carries the data, and another one of the pair is idle on both sides. */
START_TEST(what_one_link_measures_holds_for_all_links_of_the_pair)
{
    _Atomic uint32_t word_of_data = 0;
    struct shm_distance data;
    shm_distance_init(&data, asker_pair, &word_of_data, true);
    shm_distance_count(&data, 1);
    atomic_store(&step_ns, 100000);
    shm_distance_measure(&asker);
    ck_assert_uint_eq(word, 1);
    atomic_store(&word, 2);
    trips_left = 16;
    shm_distance_measure(&asker);
    ck_assert(shm_distance_is_far(&data));
    shm_distance_measure(&data);
    ck_assert_uint_eq(word_of_data, 0);
}
END_TEST

START_TEST(links_to_one_process_are_a_pair)
{
    struct shm_distance_pair *one = shm_distance_pair_get(7), *same = shm_distance_pair_get(7),
                             *another = shm_distance_pair_get(8);
    ck_assert_ptr_eq(one, same);
    ck_assert_ptr_ne(one, another);
    atomic_store(&one->place, SHM_PLACE_FAR);
    shm_distance_pair_put(one);
    ck_assert_int_eq(atomic_load(&same->place), SHM_PLACE_FAR);
    shm_distance_pair_put(same);
    one = shm_distance_pair_get(7);
    ck_assert_int_eq(atomic_load(&one->place), SHM_PLACE_UNKNOWN);
    shm_distance_pair_put(one);
    shm_distance_pair_put(another);
    shm_distance_pair_put(NULL);
}
END_TEST

START_TEST(links_to_unknown_processes_are_not)
{
    ck_assert_ptr_ne(asker_pair, other_pair);
}
END_TEST

START_TEST(whatever_the_other_side_writes_ends)
{
    static const uint32_t values[] = { 0, 1, 2, 3, UINT32_MAX, UINT32_MAX - 1 };
    shm_distance_count(&asker, 1);
    for (int i = 0; i < 60; i++) {
        atomic_store(&word, values[i % 6]);
        shm_distance_measure(&other);
        atomic_store(&word, values[i / 6 % 6]);
        shm_distance_measure(&asker);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shm_distance");
    TCase *tcase = tcase_create("shm_distance");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, nothing_is_asked_before_something_is_copied);
    tcase_add_test(tcase, a_side_that_is_not_asked_says_nothing);
    tcase_add_test(tcase, a_side_that_does_not_look_all_the_time_is_not_timed);
    tcase_add_test(tcase, both_sides_time_the_trips);
    tcase_add_test(tcase, the_slowest_near_trip_is_near_and_the_fastest_far_one_far);
    tcase_add_test(tcase, a_side_that_stops_looking_has_been_timed_if_it_looked_for_long_enough);
    tcase_add_test(tcase, a_side_that_stops_looking_sooner_is_timed_again);
    tcase_add_test(tcase, many_bytes_later_it_is_measured_again);
    tcase_add_test(tcase, what_one_link_measures_holds_for_all_links_of_the_pair);
    tcase_add_test(tcase, links_to_one_process_are_a_pair);
    tcase_add_test(tcase, links_to_unknown_processes_are_not);
    tcase_add_test(tcase, whatever_the_other_side_writes_ends);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
