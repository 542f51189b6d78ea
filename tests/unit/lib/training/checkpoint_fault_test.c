/* SPDX-License-Identifier: Apache-2.0 */
/* Disks, directories and memory that fail while a checkpoint is written: the old file is there,
 * whole, and nothing else. Linked with -Wl,--wrap for the calls that fail in turn. */
#include "lib/training/checkpoint_file.h"

#include "lib/training/checkpoint_layout.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- calls that fail ---- */

enum call { NONE, WRITE, FSYNC, RENAME, CLOSE, MEMORY, CALLS };

static struct {
    enum call call;
    int countdown; /* to the one that fails; 0 when none does */
    int made;      /* of that call */
    bool little;   /* the disk takes a byte at a time */
} fault;

static bool fails(enum call call)
{
    fault.made += call == fault.call;
    return call == fault.call && fault.countdown > 0 && --fault.countdown == 0;
}

#define WRAPPED(type, name, parameters, call, failure, ...)                                        \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        if (fails(call)) {                                                                         \
            errno = call == MEMORY ? ENOMEM : ENOSPC;                                              \
            return failure;                                                                        \
        }                                                                                          \
        return __real_##name(__VA_ARGS__);                                                         \
    }

WRAPPED(int, fsync, (int fd), FSYNC, -1, fd)
WRAPPED(int, rename, (const char *from, const char *to), RENAME, -1, from, to)
WRAPPED(void *, malloc, (size_t size), MEMORY, NULL, size)
WRAPPED(void *, calloc, (size_t count, size_t size), MEMORY, NULL, count, size)
WRAPPED(void *, realloc, (void *memory, size_t size), MEMORY, NULL, memory, size)
WRAPPED(ssize_t, write, (int fd, const void *bytes, size_t size), WRITE, -1, fd, bytes,
        fault.little ? 1 : size)

int __real_close(int fd);
int __wrap_close(int fd);

/* What cannot be closed is closed all the same. */
int __wrap_close(int fd)
{
    int rc = __real_close(fd);
    if (!fails(CLOSE))
        return rc;
    errno = EIO;
    return -1;
}

/* ---- a file ---- */

static const double numbers[2] = { 0.125, -7 };
static struct checkpoint_entry entries[] = {
    { CHECKPOINT_SCALAR, HVD_FLOAT64, 0, { 0 }, "rate", 0, 0 },
    { CHECKPOINT_SCALAR, HVD_FLOAT64, 0, { 0 }, "other", 0, 0 },
};

static char directory[64], path[96];
static struct err err;
static struct checkpoint_file file;

static int give(void *arg, size_t entry, uint64_t at, void *out, size_t nbytes, struct err *error)
{
    if (arg) {
        *error = (struct err){ .code = HVD_ERR_SYSTEM, .text = "the device is gone" };
        return HVD_ERR_SYSTEM;
    }
    memcpy(out, (const char *)&numbers[entry] + at, nbytes);
    return HVD_OK;
}

static int save(size_t count)
{
    return checkpoint_file_write(path, entries, count, give, NULL, &err);
}

static int open_and_close(void)
{
    int rc = checkpoint_file_open(&file, path, &err);
    checkpoint_file_close(&file);
    return rc;
}

static void check_text(const char *expected)
{
    ck_assert_msg(strncmp(err.text, path, strlen(path)) == 0, "%s", err.text);
    ck_assert_str_eq(err.text + strlen(path), expected);
}

static int files(void)
{
    int count = 0;
    DIR *there = opendir(directory);
    while (readdir(there))
        count++;
    closedir(there);
    return count - 2; /* . and .. */
}

/* The old file has two entries, the new one has one. */
static void set_up(void)
{
    fault.call = NONE;
    snprintf(directory, sizeof directory, "/tmp/hvd-checkpoint-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/last", directory);
    for (int i = 0; i < 2; i++)
        ck_assert(checkpoint_entry_measure(&entries[i]));
    ck_assert_int_eq(save(2), HVD_OK);
}

static void tear_down(void)
{
    fault.call = NONE;
    unlink(path);
    ck_assert_int_eq(rmdir(directory), 0); /* no temporary file is left */
}

/* ---- what goes wrong ---- */

START_TEST(a_disk_may_take_a_byte_at_a_time)
{
    fault.little = true;
    ck_assert_int_eq(save(1), HVD_OK);
    fault.little = false;
    ck_assert_int_eq(open_and_close(), HVD_OK);
}
END_TEST

/* There is one file, which is whole, and has so many entries. */
static void check_file(size_t count)
{
    ck_assert_int_eq(files(), 1);
    ck_assert_int_eq(checkpoint_file_open(&file, path, &err), HVD_OK);
    ck_assert_uint_eq(file.count, count);
    checkpoint_file_close(&file);
}

static const struct {
    enum call call;
    int which; /* the how manieth of the calls fails */
    const char *text;
} disk_faults[] = {
    { WRITE, 1, ": cannot write the checkpoint: No space left on device" },
    { WRITE, 2, ": cannot write the checkpoint: No space left on device" },
    { FSYNC, 1, ": cannot write the checkpoint: No space left on device" },
    { CLOSE, 1, ": cannot write the checkpoint: Input/output error" },
    { RENAME, 1, ": cannot write the checkpoint: No space left on device" },
};

START_TEST(a_disk_that_fails_leaves_the_old_file)
{
    fault.call = disk_faults[_i].call;
    fault.countdown = disk_faults[_i].which;
    ck_assert_int_eq(save(1), HVD_ERR_SYSTEM);
    fault.call = NONE;
    check_text(disk_faults[_i].text);
    check_file(2);
}
END_TEST

START_TEST(a_directory_that_cannot_be_flushed_has_the_new_file)
{
    fault.call = FSYNC;
    fault.countdown = 2;
    ck_assert_int_eq(save(1), HVD_ERR_SYSTEM);
    fault.call = NONE;
    check_text(": cannot flush the checkpoint's directory: No space left on device");
    check_file(1);
}
END_TEST

START_TEST(a_source_that_fails_leaves_the_old_file)
{
    ck_assert_int_eq(checkpoint_file_write(path, entries, 1, give, &err, &err), HVD_ERR_SYSTEM);
    check_text(": the device is gone");
    check_file(2);
}
END_TEST

/* Check asks for memory, too: it must not be what fails. Returns how often it was asked for. */
static int act_without(int (*act)(void), int which, int *rc)
{
    fault.call = MEMORY;
    fault.countdown = which;
    fault.made = 0;
    *rc = act();
    fault.call = NONE;
    return fault.made;
}

/* Every allocation that a success makes fails in turn. */
static void try_without_memory(int (*act)(void))
{
    int rc, count = act_without(act, 0, &rc);
    ck_assert_int_eq(rc, HVD_OK);
    ck_assert_int_gt(count, 0);
    for (int i = 1; i <= count; i++) {
        act_without(act, i, &rc);
        ck_assert_msg(rc == HVD_ERR_NOMEM || rc == HVD_ERR_SYSTEM, "allocation %d: %d", i, rc);
        ck_assert_ptr_nonnull(strcasestr(err.text, "memory"));
    }
}

static int save_one(void)
{
    return save(1);
}

START_TEST(without_memory_the_old_file_is_left)
{
    try_without_memory(save_one);
    check_file(1);
}
END_TEST

START_TEST(without_memory_nothing_is_opened)
{
    try_without_memory(open_and_close);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checkpoint_fault");
    TCase *cases = tcase_create("checkpoint_fault");
    suite_add_tcase(suite, cases);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, a_disk_may_take_a_byte_at_a_time);
    tcase_add_loop_test(cases, a_disk_that_fails_leaves_the_old_file, 0,
                        sizeof disk_faults / sizeof *disk_faults);
    tcase_add_test(cases, a_directory_that_cannot_be_flushed_has_the_new_file);
    tcase_add_test(cases, a_source_that_fails_leaves_the_old_file);
    tcase_add_test(cases, without_memory_the_old_file_is_left);
    tcase_add_test(cases, without_memory_nothing_is_opened);
    return unit_run(suite);
}
