/* SPDX-License-Identifier: Apache-2.0 */
/* The file of --report. It is created before anything is started, so that a failure is known then,
 * and appears under its name only once it is whole. An old file of that name stays until then. */
#ifndef SRC_HVDRUN_REPORT_FILE_H
#define SRC_HVDRUN_REPORT_FILE_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct report_file {
    int fd;          /* -1: none */
    char *given;     /* owned; its path as the user gave it, for messages */
    char *path;      /* owned; its final path */
    char *temporary; /* owned; its name until then */
    bool named;      /* the file has its temporary name already */
    bool in_place;   /* a device, a pipe, our stdout or stderr: written as it is */
    int own;         /* STDOUT_FILENO or STDERR_FILENO if the file is one of them; else -1 */
};

/* HVD_OK, or HVD_ERR_SYSTEM and "PATH: reason". A pipe must have a reader. A path that stands for
 * stdin, stdout or stderr, such as /dev/stdout, must not stand for a stream that is `closed`, even
 * if its descriptor is open for another file now. The file has the rights of the one that it
 * replaces. */
int report_file_open(struct report_file *file, const char *path, const bool closed[3],
                     struct err *err);

/* Writes the whole text and gives the file its name; a pipe has two seconds for everything. HVD_OK,
 * or HVD_ERR_SYSTEM and "PATH: reason". */
int report_file_write(struct report_file *file, const char *text, size_t length, struct err *err);

/* Closes the file. A file that was not written completely is removed. Fine if nothing was
 * opened. */
void report_file_close(struct report_file *file);

#endif
