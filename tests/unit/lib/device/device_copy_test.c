/* SPDX-License-Identifier: Apache-2.0 */
/* Devices without a world: registering and extending them, and blocking copies of any length, also
 * by several threads, and when the device fails. */
#include "lib/device/device_copy.h"

#include "lib/device/device.h"
#include "lib/hvd_device.h"
#include "tests/support/device_ranks.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 3 * DEVICE_CHUNK + 5, THREADS = 3 };

static void start(void)
{
    device_start(NULL);
}

static void stop(void)
{
    device_stop();
}

/* ---- registering ---- */

START_TEST(a_table_with_a_function_missing_is_refused)
{
    static const struct {
        size_t offset;
        const char *text;
    } rows[] = {
        { offsetof(struct hvd_device, name), "register device: name is NULL" },
        { offsetof(struct hvd_device, alloc_pinned), "register device: alloc_pinned is NULL" },
        { offsetof(struct hvd_device, free_pinned), "register device: free_pinned is NULL" },
        { offsetof(struct hvd_device, copy_to_host), "register device: copy_to_host is NULL" },
        { offsetof(struct hvd_device, copy_from_host), "register device: copy_from_host is NULL" },
        { offsetof(struct hvd_device, create_event), "register device: create_event is NULL" },
        { offsetof(struct hvd_device, destroy_event), "register device: destroy_event is NULL" },
        { offsetof(struct hvd_device, record_event), "register device: record_event is NULL" },
        { offsetof(struct hvd_device, query_event), "register device: query_event is NULL" },
        { offsetof(struct hvd_device, can_allreduce), "register device: can_allreduce is NULL" },
        { offsetof(struct hvd_device, allreduce), "register device: allreduce is NULL" },
    };
    struct hvd_device whole = *npu_table;
    whole.can_allreduce = (int (*)(void *, enum hvd_dtype, enum hvd_op, int))abort;
    whole.allreduce = (int (*)(void *, const struct hvd_device_allreduce *))abort;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hvd_device table = whole;
        memset((char *)&table + rows[i].offset, 0, sizeof(void *));
        ck_assert_int_eq(hvd_register_device(&table), HVD_ERR_INVALID);
        ck_assert_str_eq(hvd_last_error(), rows[i].text);
    }
    ck_assert_int_eq(hvd_register_device(NULL), HVD_ERR_INVALID);
    ck_assert_str_eq(hvd_last_error(), "register device: device is NULL");
}
END_TEST

/* ---- extension ---- */

static int last_failure;

static int tell_failure(void *context)
{
    return context == npu_table->context ? last_failure : 0;
}

/* As a vendor has it whose header is newer than this library. */
struct newer_extension {
    struct hvd_device_extension known;
    void (*unknown)(void);
};

START_TEST(an_extension_is_read_as_far_as_both_know_it)
{
    const struct newer_extension newer = { { .size = sizeof newer, .failure = tell_failure },
                                           abort };
    struct hvd_device_extension extension = newer.known;
    ck_assert_int_eq(hvd_extend_device(device, &extension), HVD_OK);
    extension.size = sizeof extension.size;
    ck_assert_int_eq(hvd_extend_device(device, &extension), HVD_ERR_INVALID);
    ck_assert(strstr(hvd_last_error(), "extend device: size is "));
    ck_assert_int_eq(hvd_extend_device(device, NULL), HVD_ERR_INVALID);
    ck_assert_int_eq(hvd_extend_device(device + 1, &newer.known), HVD_ERR_INVALID);
    ck_assert_str_eq(hvd_last_error(), "extend device: there is no device 2");
}
END_TEST

/* A vendor whose header had failure() alone is not asked for collectives. */
START_TEST(functions_that_belong_together_come_together)
{
    struct err err;
    struct hvd_device_extension extension = {
        .size = sizeof extension,
        .collective = (int (*)(void *, const struct hvd_device_collective *))abort
    };
    const struct hvd_device_collective question = { .kind = HVD_DEVICE_BROADCAST };
    ck_assert_int_eq(hvd_extend_device(device, &extension), HVD_ERR_INVALID);
    ck_assert_str_eq(hvd_last_error(), "extend device: can_collective is NULL");
    extension.can_collective = extension.collective;
    extension.collective = NULL;
    ck_assert_int_eq(hvd_extend_device(device, &extension), HVD_ERR_INVALID);
    ck_assert_str_eq(hvd_last_error(), "extend device: collective is NULL");
    extension.size = offsetof(struct hvd_device_extension, can_collective);
    ck_assert_int_eq(hvd_extend_device(device, &extension), HVD_OK);
    struct device *held = device_hold(device, &err);
    ck_assert(!device_can_collective(held, &question));
    device_release(held);
}
END_TEST

START_TEST(a_device_that_is_in_use_is_not_extended)
{
    struct err err;
    const struct hvd_device_extension extension = { .size = sizeof extension,
                                                    .failure = tell_failure };
    struct device *held = device_hold(device, &err);
    ck_assert_int_eq(hvd_extend_device(device, &extension), HVD_ERR_INVALID);
    ck_assert_str_eq(hvd_last_error(), "extend device: device 1 (npu) is in use");
    device_release(held);
    ck_assert_int_eq(hvd_extend_device(device, &extension), HVD_OK);
}
END_TEST

static const struct {
    struct accelerator_faults faults;
    int failure, status;
    const char *text;
} null_rows[] = {
    { { .pinned = 1 }, 0, HVD_ERR_NOMEM, "device 1 (npu) has no pinned memory left" },
    { { .event = 1 }, 0, HVD_ERR_NOMEM, "device 1 (npu) has no event left" },
    { { .pinned = 3 }, -9, HVD_ERR_SYSTEM, "device 1 (npu) failed to allocate pinned memory (-9)" },
    { { .event = 1 }, -9, HVD_ERR_SYSTEM, "device 1 (npu) failed to create an event (-9)" },
};

START_TEST(a_failed_device_is_told_from_one_that_has_no_memory_left)
{
    struct err err;
    const struct hvd_device_extension extension = { .size = sizeof extension,
                                                    .failure = tell_failure };
    ck_assert_int_eq(hvd_extend_device(device, &extension), HVD_OK);
    struct device *held = device_hold(device, &err);
    last_failure = null_rows[_i].failure;
    accelerator_inject(npu, &null_rows[_i].faults);
    ck_assert_int_eq(device_reserve(held, &err), null_rows[_i].status);
    ck_assert_msg(strncmp(err.text, null_rows[_i].text, strlen(null_rows[_i].text)) == 0, "%s",
                  err.text);
    ck_assert_int_eq(device_reserve(held, &err), HVD_OK);
    device_release(held);
}
END_TEST

START_TEST(a_number_is_not_used_again)
{
    int last = device;
    for (int i = 0; i < 5; i++) {
        int next = hvd_register_device(npu_table);
        ck_assert_int_gt(next, last);
        ck_assert_int_eq(hvd_unregister_device(next), HVD_OK);
        ck_assert_int_eq(hvd_unregister_device(next), HVD_ERR_INVALID);
        last = next;
    }
    ck_assert_int_eq(hvd_unregister_device(0), HVD_ERR_INVALID);
    ck_assert_str_eq(hvd_last_error(), "unregister device: there is no device 0");
}
END_TEST

/* The table is copied; of the name, what is needed. */
START_TEST(a_name_is_cut_and_escaped)
{
    struct err err;
    char name[] = "an\n accelerator whose name has no end", byte = 0;
    struct hvd_device table = *npu_table;
    table.name = name;
    int number = hvd_register_device(&table);
    memset(name, '?', sizeof name);
    memset(&table, 0, sizeof table);
    ck_assert_int_eq(device_read(number, &byte, "", 1, &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text,
                     "device 2 (an\\x0a accelerator whose name has ) failed to copy to the "
                     "host (-2)");
    ck_assert_int_eq(hvd_unregister_device(number), HVD_OK);
}
END_TEST

/* ---- copies ---- */

static void fill(unsigned char *bytes, size_t nbytes, unsigned seed)
{
    for (size_t i = 0; i < nbytes; i++)
        bytes[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
}

/* There and back, with a byte on each side that is left alone. */
static void check_copies(size_t nbytes, unsigned seed)
{
    struct err err;
    unsigned char *out = calloc(1, nbytes + 2), *back = calloc(1, nbytes + 2);
    fill(out, nbytes + 2, seed);
    unsigned char *memory = device_put(out, nbytes + 2);
    fill(out + 1, nbytes, seed + 1);
    ck_assert_int_eq(device_write(device, memory + 1, out + 1, nbytes, &err), HVD_OK);
    ck_assert_int_eq(device_read(device, back, memory, nbytes + 2, &err), HVD_OK);
    ck_assert_int_eq(memcmp(out, back, nbytes + 2), 0);
    accelerator_free(npu, memory);
    free(out);
    free(back);
}

START_TEST(copies_of_any_length_go_there_and_back)
{
    static const size_t lengths[] = { 0,
                                      1,
                                      7,
                                      DEVICE_CHUNK - 3,
                                      DEVICE_CHUNK - 2,
                                      DEVICE_CHUNK,
                                      DEVICE_CHUNK + 1,
                                      2 * DEVICE_CHUNK,
                                      MOST };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        check_copies(lengths[i], (unsigned)i);
    ck_assert_uint_eq(accelerator_holdings(npu).pinned, 2 * DEVICE_CHUNK);
}
END_TEST

static void *copy_often(void *seed)
{
    for (int i = 0; i < 4; i++)
        check_copies(MOST / 2, *(unsigned *)seed);
    return NULL;
}

START_TEST(several_threads_copy_at_once)
{
    pthread_t threads[THREADS];
    unsigned seeds[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = 100 * i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, copy_often, &seeds[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}
END_TEST

static const struct {
    struct accelerator_faults faults;
    int read, write; /* what comes of it */
    const char *text;
} failing[] = {
    { { .pinned = 1 }, HVD_ERR_NOMEM, HVD_OK, "device 1 (npu) has no pinned memory left" },
    { { .pinned = 2 }, HVD_OK, HVD_OK, NULL },
    { { .event = 1 }, HVD_ERR_NOMEM, HVD_OK, "device 1 (npu) has no event left" },
    { { .refuse[HVD_DEVICE_TO_HOST] = 1 },
      HVD_ERR_SYSTEM,
      HVD_OK,
      "device 1 (npu) failed to copy to the host (-5)" },
    { { .fail[HVD_DEVICE_TO_HOST] = 2 },
      HVD_ERR_SYSTEM,
      HVD_OK,
      "device 1 (npu) failed to copy to the host (-5)" },
    { { .refuse[HVD_DEVICE_FROM_HOST] = 3 },
      HVD_OK,
      HVD_ERR_SYSTEM,
      "device 1 (npu) failed to copy from the host (-5)" },
    { { .fail[HVD_DEVICE_FROM_HOST] = 1 },
      HVD_OK,
      HVD_ERR_SYSTEM,
      "device 1 (npu) failed to copy from the host (-5)" },
};

START_TEST(a_copy_that_fails_says_so_and_the_next_one_works)
{
    struct err err = { .code = HVD_OK };
    unsigned char *host = calloc(1, MOST), *memory = device_put(host, MOST);
    accelerator_inject(npu, &failing[_i].faults);
    ck_assert_int_eq(device_read(device, host, memory, MOST, &err), failing[_i].read);
    ck_assert_int_eq(device_write(device, memory, host, MOST, &err), failing[_i].write);
    if (failing[_i].text)
        ck_assert_str_eq(err.text, failing[_i].text);
    check_copies(MOST, 1);
    accelerator_free(npu, memory);
    free(host);
}
END_TEST

START_TEST(there_is_no_copy_without_a_device)
{
    struct err err;
    char byte = 0;
    ck_assert_int_eq(device_read(7, &byte, &byte, 1, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "there is no device 7");
    ck_assert_int_eq(device_write(device + 1, &byte, &byte, 0, &err), HVD_ERR_INVALID);
    ck_assert_int_eq(device_write(device, NULL, NULL, 0, &err), HVD_OK);
}
END_TEST

START_TEST(who_is_held_is_not_unregistered)
{
    struct err err;
    struct device *held = device_hold(device, &err);
    ck_assert_ptr_nonnull(held);
    ck_assert_int_eq(hvd_unregister_device(device), HVD_ERR_INVALID);
    ck_assert_str_eq(hvd_last_error(), "unregister device: device 1 (npu) is in use");
    device_release(held);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_copy");
    TCase *tcase = tcase_create("device_copy");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, a_table_with_a_function_missing_is_refused);
    tcase_add_test(tcase, an_extension_is_read_as_far_as_both_know_it);
    tcase_add_test(tcase, functions_that_belong_together_come_together);
    tcase_add_test(tcase, a_device_that_is_in_use_is_not_extended);
    tcase_add_loop_test(tcase, a_failed_device_is_told_from_one_that_has_no_memory_left, 0,
                        sizeof null_rows / sizeof *null_rows);
    tcase_add_test(tcase, a_number_is_not_used_again);
    tcase_add_test(tcase, a_name_is_cut_and_escaped);
    tcase_add_test(tcase, copies_of_any_length_go_there_and_back);
    tcase_add_test(tcase, several_threads_copy_at_once);
    tcase_add_loop_test(tcase, a_copy_that_fails_says_so_and_the_next_one_works, 0,
                        sizeof failing / sizeof *failing);
    tcase_add_test(tcase, there_is_no_copy_without_a_device);
    tcase_add_test(tcase, who_is_held_is_not_unregistered);
    return unit_run(suite);
}
