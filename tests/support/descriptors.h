/* SPDX-License-Identifier: Apache-2.0 */
/* A fixture for sentences that leave no descriptor open: as many are open behind a sentence as
 * before it. Added to a test case before its other fixtures. */
#ifndef TESTS_SUPPORT_DESCRIPTORS_H
#define TESTS_SUPPORT_DESCRIPTORS_H

#include "tests/support/unit.h"

#include <dirent.h>

static int descriptors_before;

static int descriptors_open(void)
{
    int found = 0;
    DIR *directory = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(directory);
    while (readdir(directory))
        found++;
    closedir(directory);
    return found;
}

static void descriptors_note(void)
{
    descriptors_before = descriptors_open();
}

static void descriptors_check(void)
{
    ck_assert_int_eq(descriptors_open(), descriptors_before);
}

static void descriptors_watch(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, descriptors_note, descriptors_check);
}

#endif
