/* SPDX-License-Identifier: Apache-2.0 */
/* The log of the library, on stderr, in a file that a test can read. */
#ifndef TESTS_SUPPORT_LOG_CAPTURE_H
#define TESTS_SUPPORT_LOG_CAPTURE_H

#include "lib/base/log.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int log_capture_stderr, log_capture_file;

/* From now on stderr, with the log from level `info` on, goes into the file. */
static void log_capture_start(void)
{
    char name[] = "/tmp/log_capture.XXXXXX";
    log_configure(LOG_INFO, true);
    log_capture_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    log_capture_file = mkostemp(name, O_CLOEXEC);
    ck_assert_int_ge(log_capture_file, 0);
    unlink(name);
    dup2(log_capture_file, STDERR_FILENO);
}

/* All that was written since the start; valid until the next call. */
static const char *log_captured(void)
{
    static char text[4096];
    ssize_t length = pread(log_capture_file, text, sizeof text - 1, 0);
    text[length < 0 ? 0 : length] = '\0';
    return text;
}

/* Restores stderr. */
static void log_capture_stop(void)
{
    dup2(log_capture_stderr, STDERR_FILENO);
    close(log_capture_stderr);
    close(log_capture_file);
}

#endif
