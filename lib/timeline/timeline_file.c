/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON array that grows in a file; see timeline_file.h. */
#include "lib/timeline/timeline_file.h"

#include "lib/base/descriptor.h"
#include "lib/base/log.h"
#include "lib/base/signal_block.h"
#include "lib/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char tail[] = "\n]\n";
enum { TAIL_SIZE = sizeof tail - 1 };

static void timeline_file_put(struct timeline_file *file, const char *bytes, size_t length)
{
    memcpy(file->kept + file->nkept, bytes, length);
    file->nkept += length;
}

/* One pwrite() unless it writes only a part: then the next one returns the reason. 0 or an
 * errno. */
static int timeline_file_write_all(int fd, const char *bytes, size_t length, off_t at)
{
    while (length > 0) {
        ssize_t done = pwrite(fd, bytes, length, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        bytes += done;
        at += done;
        length -= (size_t)done;
    }
    return 0;
}

/* The old contents stay; a bracket where one was before needs no new space. */
static int write_kept(struct timeline_file *file)
{
    struct signal_block blocked;
    signal_block_begin(&blocked, SIGXFSZ);
    memcpy(file->kept + file->nkept, tail, TAIL_SIZE);
    int error = timeline_file_write_all(file->fd, file->kept, file->nkept + TAIL_SIZE, file->end);
    if (error && file->end > 0 &&
        timeline_file_write_all(file->fd, tail, TAIL_SIZE, file->end) == 0 &&
        ftruncate(file->fd, file->end + TAIL_SIZE) < 0)
        error = errno;
    signal_block_end(&blocked);
    if (!error)
        file->end += (off_t)file->nkept;
    file->nkept = 0;
    return error;
}

static void drop_file(struct timeline_file *file)
{
    if (getpid() == file->owner) /* else it is closed already, and the number may be another's */
        descriptor_close(file->fd);
    file->fd = -1;
    file->nkept = 0;
}

void timeline_file_flush(struct timeline_file *file)
{
    if (file->fd < 0 || file->nkept == 0)
        return;
    if (getpid() != file->owner) {
        drop_file(file);
        return;
    }
    int error = write_kept(file);
    if (!error)
        return;
    drop_file(file);
    struct err err = { 0 };
    fail_errno(&err, HVD_ERR_SYSTEM, error, "timeline '%s' ends here", file->name);
    log_line(LOG_WARNING, -1, "%s", err.text);
}

static int open_file(struct timeline_file *file, struct err *err)
{
    file->fd = descriptor_file(file->name);
    if (file->fd < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "timeline '%s'", file->name);
    timeline_file_put(file, "[", 1);
    int error = write_kept(file);
    return error ? fail_errno(err, HVD_ERR_SYSTEM, error, "timeline '%s'", file->name) : HVD_OK;
}

int timeline_file_open(struct timeline_file *file, const char *name, struct err *err)
{
    *file = (struct timeline_file){
        .name = strdup(name), .fd = -1, .owner = getpid(), .kept = malloc(TIMELINE_KEPT_MAX)
    };
    int rc = file->name && file->kept ? open_file(file, err)
                                      : fail(err, HVD_ERR_NOMEM, "timeline: out of memory");
    if (rc < 0)
        timeline_file_close(file);
    return rc;
}

void timeline_file_close(struct timeline_file *file)
{
    timeline_file_flush(file);
    drop_file(file);
    free(file->name);
    free(file->kept);
    *file = (struct timeline_file){ .fd = -1 };
}

void timeline_file_begin(struct timeline_file *file)
{
    if (file->nkept > TIMELINE_KEPT_MAX - TIMELINE_RECORD_MAX)
        timeline_file_flush(file);
    if (file->fd < 0)
        file->nkept = 0; /* the next write drops the following records */
    timeline_file_json(file, file->nrecord++ > 0 ? ",\n" : "\n");
}

void timeline_file_json(struct timeline_file *file, const char *json)
{
    timeline_file_put(file, json, strlen(json));
}

void timeline_file_number(struct timeline_file *file, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    timeline_file_put(file, digits + at, sizeof digits - at);
}

/* Escapes one character; returns how many bytes of the text it had. */
static size_t put_character(struct timeline_file *file, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char byte = (unsigned char)*text;
    size_t length = text_utf8_length(text, strnlen(text, 4));
    if (length == 0)
        timeline_file_json(file, "\\ufffd");
    else if (byte < 0x20 || byte == 0x7f)
        timeline_file_put(file, (char[]){ '\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15] }, 6);
    else if (byte == '"' || byte == '\\')
        timeline_file_put(file, (char[]){ '\\', *text }, 2);
    else
        timeline_file_put(file, text, length);
    return length ? length : 1;
}

void timeline_file_text(struct timeline_file *file, const char *text)
{
    for (const char *at = text; *at && at - text < TIMELINE_TEXT_MAX;)
        at += put_character(file, at);
}
