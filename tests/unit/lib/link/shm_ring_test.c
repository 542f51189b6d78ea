/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of shared memory over plain memory: what is written is read, where it lies, when there
 * is no room, and words that cannot be. Linked with -Wl,--wrap=segment_populate. */
#include "lib/link/shm_ring.h"

#include "lib/base/min.h"
#include "lib/memory/segment.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

enum { STREAM = 5 * SHM_BULK / 2 };

static struct shm_ring *ring;
static _Atomic uint32_t word;
static struct shm_writer writer;
static struct shm_reader reader;
static struct err err;
static unsigned char *out, *in;

/* Up to there the bulk has pages; the next are refused. */
static size_t populated;
static bool no_memory;
int __wrap_segment_populate(const struct segment *segment, size_t offset, size_t size,
                            struct err *why);

int __wrap_segment_populate(const struct segment *segment, size_t offset, size_t size,
                            struct err *why)
{
    ck_assert_ptr_eq(segment->memory, ring->bulk);
    if (no_memory)
        return fail_errno(why, HVD_ERR_SYSTEM, ENOMEM, "shared memory");
    ck_assert_uint_le(offset, populated);
    populated = offset + size > populated ? offset + size : populated;
    return HVD_OK;
}

static void setup(void)
{
    ring = aligned_alloc(4096, sizeof *ring);
    memset(ring, 0, sizeof *ring);
    atomic_init(&word, 0);
    shm_writer_init(&writer, ring, &word);
    shm_reader_init(&reader, ring, &word);
    out = malloc(STREAM);
    in = malloc(STREAM);
    for (size_t i = 0; i < STREAM; i++)
        out[i] = (unsigned char)(i * 2654435761u >> 24);
}

static void teardown(void)
{
    free(ring);
    free(out);
    free(in);
}

static ssize_t put(size_t from, size_t size)
{
    struct iovec part = { out + from, size };
    struct parts parts = parts_begin(&part, 1);
    return shm_writer_put(&writer, &parts, &err);
}

/* At most `most` bytes in one piece; 0 if there are none. */
static size_t get(size_t to, size_t most)
{
    size_t nbytes;
    int rc = shm_reader_open(&reader, &err);
    ck_assert_int_ge(rc, 0);
    if (rc == 0)
        return 0;
    const unsigned char *piece = shm_reader_look(&reader, &nbytes);
    ck_assert_uint_gt(nbytes, 0);
    nbytes = nbytes < most ? nbytes : most;
    memcpy(in + to, piece, nbytes);
    shm_reader_skip(&reader, nbytes);
    return nbytes;
}

static size_t random_size(uint32_t *state)
{
    static const size_t scales[] = { 8, 64, 200, 5000, 40000, 300000 };
    *state = *state * 1664525 + 1013904223;
    size_t scale = scales[(*state >> 8) % 6];
    return 1 + (*state >> 12) % scale;
}

START_TEST(what_is_written_is_read_whatever_the_sizes)
{
    uint32_t state = 1;
    size_t sent = 0, got = 0;
    while (got < STREAM) {
        size_t size = random_size(&state), left = STREAM - sent;
        ssize_t now = put(sent, size < left ? size : left);
        ck_assert_int_ge(now, 0);
        sent += (size_t)now;
        for (int i = 0; i < 3 && random_size(&state) > 20; i++)
            got += get(got, random_size(&state));
        shm_reader_tell(&reader, random_size(&state) > 20);
    }
    ck_assert_mem_eq(in, out, STREAM);
    ck_assert(!shm_reader_has_entry(&reader));
}
END_TEST

START_TEST(an_empty_ring_has_nothing)
{
    struct parts nothing = parts_begin(&(struct iovec){ out, 0 }, 1);
    ck_assert(!shm_reader_has_entry(&reader));
    ck_assert_int_eq(shm_reader_open(&reader, &err), 0);
    ck_assert_int_eq(shm_writer_put(&writer, &nothing, &err), 0);
    ck_assert(!shm_reader_has_entry(&reader));
    ck_assert(!shm_reader_tell(&reader, false));
}
END_TEST

START_TEST(what_is_small_lies_in_the_entry_itself)
{
    size_t nbytes;
    ck_assert_int_eq(put(0, SHM_INLINE), SHM_INLINE);
    ck_assert_int_eq(shm_reader_open(&reader, &err), 1);
    ck_assert_ptr_eq(shm_reader_look(&reader, &nbytes), ring->entries[0].bytes);
    ck_assert_uint_eq(nbytes, SHM_INLINE);
    shm_reader_skip(&reader, SHM_INLINE);
    ck_assert_int_eq(put(0, SHM_INLINE + 1), SHM_INLINE + 1);
    ck_assert_int_eq(shm_reader_open(&reader, &err), 1);
    ck_assert_ptr_eq(shm_reader_look(&reader, &nbytes), ring->bulk);
}
END_TEST

START_TEST(a_small_first_part_goes_along_and_the_rest_begins_at_a_cache_line)
{
    struct iovec header_and_data[] = { { out, 8 }, { out + 8, 0 }, { out + 8, 1000 } };
    struct parts parts = parts_begin(header_and_data, 3);
    ck_assert_int_eq(put(0, 100), 100);
    ck_assert_uint_eq(get(0, 100), 100);
    ck_assert_int_eq(shm_writer_put(&writer, &parts, &err), 1008);
    ck_assert_int_eq(parts.count, 0);
    size_t nbytes;
    ck_assert_int_eq(shm_reader_open(&reader, &err), 1);
    shm_reader_look(&reader, &nbytes);
    ck_assert_uint_eq(nbytes, 8);
    shm_reader_skip(&reader, 8);
    uintptr_t at = (uintptr_t)shm_reader_look(&reader, &nbytes);
    ck_assert_uint_eq(nbytes, 1000);
    ck_assert_uint_eq(at % SHM_LINE, 0);
    ck_assert_mem_eq((void *)at, out + 8, 1000);
}
END_TEST

START_TEST(a_full_ring_takes_more_when_much_was_read)
{
    size_t sent = 0, got = 0;
    for (ssize_t now; (now = put(sent, SHM_PIECE)) > 0;)
        sent += (size_t)now;
    ck_assert_uint_gt(sent, SHM_BULK * 9 / 10);
    ck_assert(!shm_writer_has_room(&writer));
    while (!shm_reader_tell(&reader, true))
        got += get(got, SIZE_MAX);
    ck_assert_uint_lt(got, sent / 2);
    ck_assert(shm_writer_has_room(&writer));
    ck_assert_int_gt(put(sent, SHM_PIECE), 0);
}
END_TEST

START_TEST(a_ring_of_small_entries_is_full_and_is_read)
{
    for (size_t i = 0; i < SHM_ENTRIES; i++)
        ck_assert_int_eq(put(i, 1), 1);
    ck_assert_int_eq(put(0, 1), 0);
    ck_assert_int_eq(shm_writer_refer(&writer, SHM_MAPPED, &(struct shm_reference){ 0 }, &err), 0);
    ck_assert(!shm_writer_has_room(&writer));
    for (size_t i = 0; i < SHM_ENTRIES; i++)
        ck_assert_uint_eq(get(i, 1), 1);
    ck_assert_mem_eq(in, out, SHM_ENTRIES);
    ck_assert(shm_reader_tell(&reader, true));
    ck_assert_int_eq(put(0, 1), 1);
}
END_TEST

/* In every order of sizes: no room, all is read, only what is much was told. */
START_TEST(a_writer_without_room_has_it_when_all_was_read)
{
    uint32_t state = (uint32_t)_i + 7;
    for (int round = 0; round < 20; round++) {
        size_t size;
        do
            size = random_size(&state);
        while (put(0, size) > 0);
        while (get(0, SIZE_MAX) > 0)
            shm_reader_tell(&reader, true);
        ck_assert(shm_writer_has_room(&writer));
        ck_assert_int_gt(put(0, size), 0);
    }
}
END_TEST

/* How many bytes from the front of the bulk were ever written. */
static size_t touched_bytes(void)
{
    size_t touched = SHM_BULK;
    while (touched > 0 && ring->bulk[touched - 1] == 0)
        touched--;
    return touched;
}

START_TEST(little_that_is_said_touches_little_memory)
{
    for (int i = 0; i < 5000; i++) {
        ck_assert_int_eq(put(1, 57 + (size_t)i % 3000), 57 + i % 3000);
        while (get(0, SIZE_MAX) > 0)
            ;
        shm_reader_tell(&reader, false);
    }
    ck_assert_uint_le(touched_bytes(), 32 * 1024);
}
END_TEST

static void put_and_get(size_t nbytes)
{
    ck_assert_int_eq(put(1, nbytes), (ssize_t)nbytes);
    for (size_t got = 0; got < nbytes;)
        got += get(0, SIZE_MAX);
    shm_reader_tell(&reader, false);
}

START_TEST(what_is_read_at_once_touches_new_memory_only_after_many_laps)
{
    enum { SMALL_PART = 32 * 1024, LAP = SHM_FIRST / SHM_PIECE };
    memset(out, 1, STREAM);
    for (int i = 0; i < SHM_LAPS * LAP; i++)
        put_and_get(SHM_PIECE);
    ck_assert_uint_eq(touched_bytes(), SMALL_PART + SHM_FIRST);
    for (int i = 0; i < LAP; i++)
        put_and_get(SHM_PIECE);
    ck_assert_uint_eq(touched_bytes(), SMALL_PART + 2 * SHM_FIRST);
    for (int i = 0; i < SHM_LAPS * SHM_BULK / SHM_PIECE; i++)
        put_and_get(SHM_PIECE);
    ck_assert_uint_eq(touched_bytes(), SHM_BULK);
}
END_TEST

/* The reader is behind, wherever in a lap the writer is, and what it reads is what was written. */
START_TEST(what_does_not_suffice_grows_though_not_all_is_read)
{
    size_t before = (size_t)_i * SHM_PIECE, sent = 0, got = 0;
    for (size_t done = 0; done < before; done += SHM_PIECE)
        put_and_get(SHM_PIECE);
    for (ssize_t now; got < STREAM; sent += (size_t)now) {
        size_t size = SHM_PIECE < STREAM - sent ? SHM_PIECE : STREAM - sent;
        now = size > 0 ? put(sent, size) : 0;
        for (int i = 0; now == 0 && i < 3; i++)
            got += get(got, SIZE_MAX);
        if (now == 0)
            shm_reader_tell(&reader, false);
    }
    ck_assert_mem_eq(in, out, STREAM);
    ck_assert_uint_gt(touched_bytes(), SHM_BULK / 2);
}
END_TEST

START_TEST(where_memory_is_promised_pages_are_had_before_they_are_used)
{
    enum { FIRST = SHM_SMALL_BYTES + SHM_FIRST };
    populated = FIRST;
    no_memory = _i == 1;
    shm_writer_populates(&writer);
    for (size_t sent = 0, got = 0; got < STREAM;) {
        ssize_t now = sent < STREAM ? put(sent, size_min(SHM_PIECE, STREAM - sent)) : 0;
        ck_assert_int_ge(now, 0);
        sent += (size_t)now;
        for (int i = 0; now == 0 && i < 3; i++)
            got += get(got, SIZE_MAX);
        shm_reader_tell(&reader, false);
        no_memory |= _i == 2 && populated > 2 * FIRST;
    }
    ck_assert_mem_eq(in, out, STREAM);
    ck_assert_uint_le(touched_bytes(), populated);
    if (_i == 0)
        ck_assert_uint_gt(touched_bytes(), SHM_BULK / 2);
}
END_TEST

/* With two pieces in use, and stores that bypass the caches. */
START_TEST(a_limit_holds_however_much_is_sent)
{
    enum { LIMIT = 2 * SHM_PIECE };
    shm_writer_limit(&writer, LIMIT);
    shm_reader_limit(&reader, LIMIT);
    writer.streams = _i == 1;
    for (size_t sent = 0, got = 0; got < STREAM;) {
        ssize_t now = sent < STREAM ? put(sent, size_min(SHM_PIECE, STREAM - sent)) : 0;
        ck_assert_int_ge(now, 0);
        sent += (size_t)now;
        if (now == 0)
            got += get(got, SIZE_MAX);
        shm_reader_tell(&reader, now > 0);
    }
    ck_assert_mem_eq(in, out, STREAM);
    ck_assert_uint_le(touched_bytes(), SHM_SMALL_BYTES + LIMIT);
}
END_TEST

START_TEST(what_is_mentioned_is_room_and_is_told_all_the_same)
{
    for (size_t i = 0; i < SHM_ENTRIES; i++)
        ck_assert_int_eq(put(i, 1), 1);
    ck_assert_uint_eq(get(0, 1), 1);
    shm_reader_mention(&reader);
    ck_assert_int_eq(put(0, 1), 1);
    ck_assert(shm_reader_tell(&reader, false));
    ck_assert(!shm_reader_tell(&reader, false));
}
END_TEST

static const uint32_t numbers[] = { 65535 - 3, UINT32_MAX - 3, UINT32_MAX - SHM_ENTRIES };

START_TEST(numbers_wrap_around)
{
    writer.entries = writer.seen = reader.entries = reader.told = numbers[_i];
    atomic_store(&word, numbers[_i]);
    for (size_t i = 0; i < 3 * SHM_ENTRIES; i++) {
        ck_assert(!shm_reader_has_entry(&reader));
        ck_assert_int_eq(put(i, 99), 99);
        ck_assert_uint_eq(get(i, 99), 99);
        shm_reader_tell(&reader, true);
    }
    ck_assert_mem_eq(in, out, 3 * SHM_ENTRIES);
}
END_TEST

START_TEST(references_come_in_their_place)
{
    struct shm_reference reference = { 1, 2, 3 };
    ck_assert_int_eq(put(0, 10), 10);
    ck_assert_int_eq(shm_writer_refer(&writer, SHM_PRIVATE, &reference, &err), 1);
    ck_assert_int_eq(put(10, 10), 10);
    ck_assert_uint_eq(get(0, 10), 10);
    ck_assert_int_eq(shm_reader_open(&reader, &err), 1);
    ck_assert_int_eq(reader.kind, SHM_PRIVATE);
    ck_assert_mem_eq(&reader.reference, &reference, sizeof reference);
    ck_assert_int_eq(shm_reader_open(&reader, &err), 1);
    shm_reader_close(&reader);
    ck_assert_uint_eq(get(10, 10), 10);
    ck_assert_mem_eq(in, out, 20);
}
END_TEST

static void *write_all(void *unused)
{
    uint32_t state = 5;
    for (size_t sent = 0; sent < STREAM;) {
        size_t size = random_size(&state), left = STREAM - sent;
        ssize_t now = put(sent, size < left ? size : left);
        if (now == 0)
            sched_yield();
        sent += (size_t)now;
    }
    return unused;
}

START_TEST(two_threads_need_no_lock)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, write_all, NULL), 0);
    for (size_t got = 0, now; got < STREAM; got += now) {
        now = get(got, SIZE_MAX);
        if (now == 0)
            sched_yield();
        shm_reader_tell(&reader, now > 0);
    }
    pthread_join(thread, NULL);
    ck_assert_mem_eq(in, out, STREAM);
}
END_TEST

/* kind, bytes in the entry, bytes in the bulk, line */
static const struct {
    uint64_t kind, inline_size, bulk_size, line;
} impossible[] = {
    { SHM_BYTES, 0, 0, 0 },      { SHM_BYTES, 57, 0, 0 },        { SHM_BYTES, 63, 65535, 0 },
    { SHM_BYTES, 0, 65, 65535 }, { SHM_BYTES, 0, 65535, 65000 }, { SHM_SEGMENT, 0, 0, 0 },
    { SHM_MAPPED, 23, 0, 0 },    { SHM_MAPPED, 24, 1, 0 },       { SHM_PRIVATE, 0, 100, 0 },
    { SHM_PRIVATE, 25, 0, 0 },
};

START_TEST(an_entry_that_cannot_be_is_refused)
{
    uint64_t made = 1 | impossible[_i].kind << 16 | impossible[_i].inline_size << 18 |
                    impossible[_i].bulk_size << 24 | impossible[_i].line << 40;
    atomic_store(&ring->entries[0].word, made);
    ck_assert_int_eq(shm_reader_open(&reader, &err), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(the_last_bytes_of_the_bulk_can_be_read)
{
    size_t nbytes;
    atomic_store(&ring->entries[0].word, 1 | UINT64_C(64) << 24 | UINT64_C(65535) << 40);
    ck_assert_int_eq(shm_reader_open(&reader, &err), 1);
    ck_assert_ptr_eq(shm_reader_look(&reader, &nbytes), ring->bulk + SHM_BULK - 64);
}
END_TEST

START_TEST(an_entry_of_another_lap_has_not_come)
{
    atomic_store(&ring->entries[0].word, 2 | UINT64_C(8) << 18);
    ck_assert(!shm_reader_has_entry(&reader));
    ck_assert_int_eq(shm_reader_open(&reader, &err), 0);
}
END_TEST

/* The ring is full, 5 entries are known to have been read before. */
static const int32_t lies[] = { -1, 4, SHM_ENTRIES + 6, INT32_MAX, INT32_MIN };

START_TEST(a_reader_that_lies_is_noticed)
{
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(put(i, 1), 1);
    atomic_store(&word, 5);
    for (size_t i = 0; i < SHM_ENTRIES; i++)
        ck_assert_int_eq(put(i, 1), 1);
    atomic_store(&word, (uint32_t)lies[_i]);
    ck_assert_int_eq(put(0, 1), HVD_ERR_PROTOCOL);
    ck_assert_int_eq(shm_writer_refer(&writer, SHM_MAPPED, &(struct shm_reference){ 0 }, &err),
                     HVD_ERR_PROTOCOL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shm_ring");
    TCase *tcase = tcase_create("shm_ring");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, what_is_written_is_read_whatever_the_sizes);
    tcase_add_test(tcase, an_empty_ring_has_nothing);
    tcase_add_test(tcase, what_is_small_lies_in_the_entry_itself);
    tcase_add_test(tcase, a_small_first_part_goes_along_and_the_rest_begins_at_a_cache_line);
    tcase_add_test(tcase, a_full_ring_takes_more_when_much_was_read);
    tcase_add_test(tcase, a_ring_of_small_entries_is_full_and_is_read);
    tcase_add_loop_test(tcase, a_writer_without_room_has_it_when_all_was_read, 0, 4);
    tcase_add_test(tcase, little_that_is_said_touches_little_memory);
    tcase_add_test(tcase, what_is_read_at_once_touches_new_memory_only_after_many_laps);
    tcase_add_loop_test(tcase, what_does_not_suffice_grows_though_not_all_is_read, 0, 9);
    tcase_add_loop_test(tcase, where_memory_is_promised_pages_are_had_before_they_are_used, 0, 3);
    tcase_add_loop_test(tcase, a_limit_holds_however_much_is_sent, 0, 2);
    tcase_add_test(tcase, what_is_mentioned_is_room_and_is_told_all_the_same);
    tcase_add_loop_test(tcase, numbers_wrap_around, 0, 3);
    tcase_add_test(tcase, two_threads_need_no_lock);
    tcase_add_test(tcase, references_come_in_their_place);
    tcase_add_loop_test(tcase, an_entry_that_cannot_be_is_refused, 0,
                        sizeof impossible / sizeof *impossible);
    tcase_add_test(tcase, the_last_bytes_of_the_bulk_can_be_read);
    tcase_add_test(tcase, an_entry_of_another_lap_has_not_come);
    tcase_add_loop_test(tcase, a_reader_that_lies_is_noticed, 0, sizeof lies / sizeof *lies);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
