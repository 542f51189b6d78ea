/* SPDX-License-Identifier: Apache-2.0 */
/* The round trip of a cache line; see shm_distance.h. Cannot fail. The least of several bursts
 * counts, since a burst during which one side was interrupted says nothing. If the other side stops
 * looking, the bursts before count, if they are enough: on a busy machine sides seldom look at the
 * same time for all bursts. */
#include "lib/link/shm_distance.h"

#include "lib/base/clock.h"
#include "lib/base/cpu_pause.h"

/* Looks at the word: a side looks at least LOOKS_LEAST times, then until PATIENCE_NS are over or it
 * has looked LOOKS_MOST times. How long a pause between two looks takes depends on the
 * processor. */
enum {
    BURSTS = 4,
    BURSTS_LEAST = 2,
    TRIPS = 4,
    LOOKS_LEAST = 64,
    LOOKS_PER_CLOCK = 16,
    LOOKS_MOST = 1024
};
#define PATIENCE_NS 2000ull

void shm_distance_init(struct shm_distance *distance, struct shm_distance_pair *pair,
                       _Atomic uint32_t *word, bool asks)
{
    *distance = (struct shm_distance){ .word = word, .pair = pair, .asks = asks };
}

bool shm_distance_is_far(const struct shm_distance *distance)
{
    return atomic_load_explicit(&distance->pair->place, memory_order_relaxed) == SHM_PLACE_FAR;
}

bool shm_distance_is_near(const struct shm_distance *distance)
{
    return atomic_load_explicit(&distance->pair->place, memory_order_relaxed) == SHM_PLACE_NEAR;
}

void shm_distance_count(struct shm_distance *distance, size_t nbytes)
{
    struct shm_distance_pair *pair = distance->pair;
    size_t before = atomic_load_explicit(&pair->since, memory_order_relaxed);
    if (nbytes == 0)
        return;
    bool is_due = before == 0 || before + nbytes >= SHM_DISTANCE_AGAIN;
    atomic_store_explicit(&pair->since, is_due ? 1 : before + nbytes, memory_order_relaxed);
    if (is_due)
        atomic_fetch_add_explicit(&pair->due, 1, memory_order_relaxed);
}

static bool comes(struct shm_distance *distance, uint32_t value)
{
    uint64_t until_ns = 0;
    for (int looks = 0; looks < LOOKS_MOST; looks++) {
        if (atomic_load_explicit(distance->word, memory_order_acquire) == value)
            return true;
        if (looks == LOOKS_LEAST)
            until_ns = monotonic_ns() + PATIENCE_NS;
        else if (looks > LOOKS_LEAST && looks % LOOKS_PER_CLOCK == 0 && monotonic_ns() >= until_ns)
            return false;
        cpu_pause();
    }
    return false;
}

/* Stores `value` and waits for the next one, TRIPS times: false if it does not come. */
static bool make_trips(struct shm_distance *distance, uint32_t *value)
{
    for (int trip = 0; trip < TRIPS; trip++, *value += 2) {
        atomic_store_explicit(distance->word, *value, memory_order_release);
        if (!comes(distance, *value + 1))
            return false;
    }
    return true;
}

/* From now on the other side is expected to look at the word all the time. `value` is what this
 * side stores first, and at the end what it would store next. Returns how many bursts the other
 * side looked. */
static int time_trips(struct shm_distance *distance, uint32_t *value)
{
    uint64_t least = UINT64_MAX;
    int bursts = 0;
    for (; bursts < BURSTS; bursts++) {
        uint64_t start = monotonic_ns();
        if (!make_trips(distance, value))
            break;
        uint64_t took = monotonic_ns() - start;
        least = took < least ? took : least;
    }
    bool far = least > (uint64_t)SHM_FAR_NS * TRIPS;
    if (bursts >= BURSTS_LEAST)
        atomic_store_explicit(&distance->pair->place, far ? SHM_PLACE_FAR : SHM_PLACE_NEAR,
                              memory_order_relaxed);
    return bursts;
}

/* The first question waits in the word until the other side looks. Then the other side seems to
 * look all the time. */
static void ask(struct shm_distance *distance)
{
    if (!distance->asked) {
        distance->asked = true;
        uint32_t question = distance->answer + 1;
        distance->answer += 2;
        atomic_store_explicit(distance->word, question, memory_order_release);
        return;
    }
    if (atomic_load_explicit(distance->word, memory_order_acquire) != distance->answer)
        return;
    uint32_t value = distance->answer + 1;
    int bursts = time_trips(distance, &value);
    bool is_done = bursts == BURSTS;
    distance->asked = !is_done;
    distance->answer = is_done ? value - 1 : value + 1;
    if (bursts >= BURSTS_LEAST)
        atomic_store_explicit(&distance->pair->measured, distance->due, memory_order_relaxed);
    else
        distance->tries--;
}

static void answer(struct shm_distance *distance)
{
    uint32_t question = atomic_load_explicit(distance->word, memory_order_acquire);
    if (question % 2 == 0)
        return;
    uint32_t value = question + 1;
    if (time_trips(distance, &value) < BURSTS)
        return;
    atomic_store_explicit(distance->word, value, memory_order_release);
}

/* One that another link has made is not tried any more. */
static bool shm_distance_is_due(struct shm_distance *distance)
{
    unsigned due = atomic_load_explicit(&distance->pair->due, memory_order_relaxed);
    if (distance->due != due) {
        distance->due = due;
        distance->tries = SHM_DISTANCE_TRIES;
    }
    return distance->tries > 0 &&
           atomic_load_explicit(&distance->pair->measured, memory_order_relaxed) != due;
}

void shm_distance_measure(struct shm_distance *distance)
{
    if (!distance->asks)
        answer(distance);
    else if (shm_distance_is_due(distance))
        ask(distance);
}
