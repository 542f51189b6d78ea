/* SPDX-License-Identifier: Apache-2.0 */
/* A file that holds a JSON array of records and is complete at any time: one pwrite() writes the
 * kept records and a new closing bracket over the old bracket.
 *
 *   [ first record , second record ... ]
 *
 * Fails (HVD_ERR_SYSTEM, naming the file; HVD_ERR_NOMEM) when the file cannot be opened or the
 * first write fails. When a later write fails (disk full, file too large), the file stays complete,
 * one warning is logged, and further records are dropped. In a child of fork() all records are
 * dropped. */
#ifndef LIB_TIMELINE_TIMELINE_FILE_H
#define LIB_TIMELINE_TIMELINE_FILE_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    TIMELINE_KEPT_MAX = 256 * 1024, /* bytes; written when there are more */
    TIMELINE_RECORD_MAX = 8 * 1024,
    TIMELINE_TEXT_MAX = 255 /* bytes of a text; longer ones are cut, each may become 6 */
};

struct timeline_file {
    char *name;     /* owned */
    int fd;         /* -1 once it has failed */
    pid_t owner;    /* the process that may write */
    off_t end;      /* where the closing bracket is */
    char *kept;     /* TIMELINE_KEPT_MAX bytes, owned */
    size_t nkept;   /* of them used */
    size_t nrecord; /* records so far, written or kept */
};

int timeline_file_open(struct timeline_file *file, const char *name, struct err *err);
void timeline_file_close(struct timeline_file *file);

/* Writes a record: begin, then at most TIMELINE_RECORD_MAX bytes of the parts below, of which only
 * the length of texts is checked: JSON as it is, digits, or the inside of a JSON string, escaped.
 * Invalid UTF-8 becomes U+FFFD. */
void timeline_file_begin(struct timeline_file *file);
void timeline_file_json(struct timeline_file *file, const char *json);
void timeline_file_number(struct timeline_file *file, uint64_t number);
void timeline_file_text(struct timeline_file *file, const char *text);

void timeline_file_flush(struct timeline_file *file);

#endif
