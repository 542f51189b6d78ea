/* SPDX-License-Identifier: Apache-2.0 */
/* The file of HOROVOD_AUTOTUNE_LOG: a line of names, one line for each sample that counts, and at
 * the end a line with the final numbers. Commas separate the columns. The first seven columns are
 * Horovod's; the first three of them have no meaning in this library.
 *
 * Fails (HVD_ERR_SYSTEM, naming the file) when the file cannot be made. When a later write fails,
 * the log warns once, and drops further lines. */
#ifndef LIB_AUTOTUNE_TUNER_LOG_H
#define LIB_AUTOTUNE_TUNER_LOG_H

#include "lib/autotune/tuner.h"

#include <stdbool.h>

struct tuner_log {
    char *name; /* owned */
    int fd;     /* -1: there is no file, or writing has failed */
    bool cache; /* names are remembered */
};

/* `name` "": no file, which is fine. */
int tuner_log_open(struct tuner_log *log, const char *name, bool cache, struct err *err);
void tuner_log_write(struct tuner_log *log, const struct tuner_report *report);
void tuner_log_close(struct tuner_log *log);

/* Writes a line, without a newline. Terminated, cut off if need be; the same in every locale. */
void tuner_log_line(char *text, size_t size, bool cache, const struct tuner_report *report);

#endif
