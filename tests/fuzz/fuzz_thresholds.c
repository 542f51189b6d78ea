/* SPDX-License-Identifier: Apache-2.0 */
/* The file of HVD_TUNING.
 *
 * Whatever it is: it is read, or refused by one line that names the file and the line, and then
 * nothing has changed. Its numbers, written and read again, are the same. */
#include "lib/autotune/thresholds_file.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct algorithm_thresholds before = { .small = 1, .large = 2, .tree = 3, .few = 4 };

static bool equal(const struct algorithm_thresholds *a, const struct algorithm_thresholds *b)
{
    return a->small == b->small && a->large == b->large && a->tree == b->tree && a->few == b->few;
}

static void check_again(const struct algorithm_thresholds *thresholds)
{
    char text[256];
    struct algorithm_thresholds again = before;
    int length = snprintf(text, sizeof text, "small=%zu\nlarge = %zu # \n\ttree=%zu\r\nfew =%d",
                          thresholds->small, thresholds->large, thresholds->tree, thresholds->few);
    PROMISE(thresholds_parse(&again, text, (size_t)length, "again", NULL) == HVD_OK);
    PROMISE(equal(thresholds, &again));
}

/* The file says what its text says. */
static void check_file(const char *text, size_t length, int rc,
                       const struct algorithm_thresholds *thresholds)
{
    char path[32];
    struct algorithm_thresholds from_file = before;
    struct err err = { .code = HVD_OK };
    int fd = memfd_create("thresholds", MFD_CLOEXEC);
    PROMISE(fd >= 0 && write(fd, text, length) == (ssize_t)length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    PROMISE(thresholds_file_read(&from_file, path, false, &err) == rc);
    PROMISE(equal(&from_file, thresholds));
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    struct algorithm_thresholds thresholds = before;
    struct err err = { .code = HVD_OK };
    size_t length;
    char *text = (char *)fuzz_rest(&input, &length);
    int rc = thresholds_parse(&thresholds, text, length, "name", &err);
    check_file(text, length, rc, &thresholds);
    free(text);
    if (rc == HVD_OK) {
        check_again(&thresholds);
        return 0;
    }
    PROMISE(rc == HVD_ERR_ENVIRONMENT && err.code == rc && equal(&thresholds, &before));
    fuzz_check_line(err.text, "HVD_TUNING: name:");
    return 0;
}
