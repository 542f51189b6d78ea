/* SPDX-License-Identifier: Apache-2.0 */
/* The file of HOROVOD_AUTOTUNE_LOG: a line of names, one line for each sample that counts, and at
 * the end that of what stays; columns with commas between. The first seven are Horovod's, the first
 * three of which are of nothing that there is here.
 *
 * Fails (HVD_ERR_SYSTEM, naming the file) when it cannot be made. When it takes no more later,
 * there is one warning, and further lines are dropped. */
#ifndef LIB_AUTOTUNE_TUNER_LOG_H
#define LIB_AUTOTUNE_TUNER_LOG_H

#include "lib/autotune/tuner.h"

#include <stdbool.h>

struct tuner_log {
    char *name; /* owned */
    int fd;     /* -1: there is no file, or it takes no more */
    bool cache; /* names are remembered */
};

/* `name` "": no file, which is fine. */
int tuner_log_open(struct tuner_log *log, const char *name, bool cache, struct err *err);
void tuner_log_write(struct tuner_log *log, const struct tuner_report *report);
void tuner_log_close(struct tuner_log *log);

/* A line, without a newline. Terminated, cut off if need be; the same in every locale. */
void tuner_log_line(char *text, size_t size, bool cache, const struct tuner_report *report);

#endif
