/* SPDX-License-Identifier: Apache-2.0 */
/* Reading thresholds; see thresholds_file.h. */
#include "lib/autotune/thresholds_file.h"

#include "lib/base/env_names.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fields are a size_t, except `few`. */
static const struct row {
    const char *name;
    size_t offset;
    bool is_int;
    uint64_t high;
} rows[] = {
    { "small", offsetof(struct algorithm_thresholds, small), false, (uint64_t)1 << 40 },
    { "large", offsetof(struct algorithm_thresholds, large), false, (uint64_t)1 << 40 },
    { "tree", offsetof(struct algorithm_thresholds, tree), false, (uint64_t)1 << 40 },
    { "few", offsetof(struct algorithm_thresholds, few), true, 65536 },
};

enum { ROWS = sizeof rows / sizeof *rows };

struct slice {
    const char *at;
    size_t length;
};

static bool thresholds_file_is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static struct slice trim(struct slice text)
{
    while (text.length > 0 && thresholds_file_is_blank(*text.at))
        text.at++, text.length--;
    while (text.length > 0 && thresholds_file_is_blank(text.at[text.length - 1]))
        text.length--;
    return text;
}

/* Takes the text before `mark`, or all of it; false if there is no mark. */
static bool thresholds_file_cut(struct slice *rest, char mark, struct slice *before)
{
    const char *at = rest->length > 0 ? memchr(rest->at, mark, rest->length) : NULL;
    size_t length = at ? (size_t)(at - rest->at) : rest->length;
    *before = (struct slice){ rest->at, length };
    rest->at += length + (at != NULL);
    rest->length -= length + (at != NULL);
    return at != NULL;
}

static const struct row *find_row(struct slice name)
{
    for (int i = 0; i < ROWS; i++)
        if (strlen(rows[i].name) == name.length && memcmp(rows[i].name, name.at, name.length) == 0)
            return &rows[i];
    return NULL;
}

static bool thresholds_file_read_number(struct slice text, uint64_t high, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        *value = *value * 10 + (uint64_t)(text.at[i] - '0');
        if (*value > high)
            return false;
    }
    return text.length > 0;
}

/* A line that is not empty. */
static int thresholds_file_read_line(struct algorithm_thresholds *thresholds, struct slice line,
                                     unsigned *seen, struct err *err)
{
    char quoted[QUOTED_SIZE];
    struct slice name;
    uint64_t value;
    quote_token(quoted, sizeof quoted, line.at, line.length);
    if (!thresholds_file_cut(&line, '=', &name))
        return fail(err, HVD_ERR_ENVIRONMENT, "expected NAME = NUMBER: '%s'", quoted);
    const struct row *row = find_row(trim(name));
    if (!row)
        return fail(err, HVD_ERR_ENVIRONMENT, "expected small, large, tree or few: '%s'", quoted);
    if (*seen & 1u << (row - rows))
        return fail(err, HVD_ERR_ENVIRONMENT, "%s is there twice", row->name);
    if (!thresholds_file_read_number(trim(line), row->high, &value))
        return fail(err, HVD_ERR_ENVIRONMENT, "expected a number from 0 to %llu: '%s'",
                    (unsigned long long)row->high, quoted);
    *seen |= 1u << (row - rows);
    if (row->is_int)
        *(int *)((char *)thresholds + row->offset) = (int)value;
    else
        *(size_t *)((char *)thresholds + row->offset) = (size_t)value;
    return HVD_OK;
}

int thresholds_parse(struct algorithm_thresholds *thresholds, const char *text, size_t length,
                     const char *name, struct err *err)
{
    struct algorithm_thresholds read = *thresholds;
    struct slice rest = { text, length }, line, content;
    unsigned seen = 0;
    for (int number = 1; rest.length > 0; number++) {
        thresholds_file_cut(&rest, '\n', &line);
        thresholds_file_cut(&line, '#', &content);
        content = trim(content);
        if (content.length == 0 || thresholds_file_read_line(&read, content, &seen, err) == HVD_OK)
            continue;
        return fail_context(err, ENV_TUNING ": %.200s:%d", name, number);
    }
    *thresholds = read;
    return HVD_OK;
}

static int thresholds_file_cannot(const char *name, const char *what, struct err *err)
{
    fail_errno(err, HVD_ERR_ENVIRONMENT, errno, "%s", what);
    return fail_context(err, ENV_TUNING ": %.200s", name);
}

/* Reads the whole file; a larger file fills more than THRESHOLDS_FILE_MAX bytes. */
static int thresholds_file_read_all(int fd, char text[THRESHOLDS_FILE_MAX + 1], size_t *length,
                                    const char *name, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return thresholds_file_cannot(name, "stat", err);
    if (!S_ISREG(status.st_mode))
        return fail(err, HVD_ERR_ENVIRONMENT, ENV_TUNING ": %.200s: is not a regular file", name);
    for (ssize_t n = 1; n > 0 && *length <= THRESHOLDS_FILE_MAX; *length += (size_t)n)
        if ((n = read(fd, text + *length, THRESHOLDS_FILE_MAX + 1 - *length)) < 0)
            return thresholds_file_cannot(name, "read", err);
    if (*length > THRESHOLDS_FILE_MAX)
        return fail(err, HVD_ERR_ENVIRONMENT, ENV_TUNING ": %.200s: is larger than %d bytes", name,
                    THRESHOLDS_FILE_MAX);
    return HVD_OK;
}

int thresholds_file_read(struct algorithm_thresholds *thresholds, const char *name,
                         bool missing_is_fine, struct err *err)
{
    char text[THRESHOLDS_FILE_MAX + 1];
    size_t length = 0;
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return missing_is_fine && errno == ENOENT ? HVD_OK
                                                  : thresholds_file_cannot(name, "open", err);
    int rc = thresholds_file_read_all(fd, text, &length, name, err);
    close(fd);
    return rc < 0 ? rc : thresholds_parse(thresholds, text, length, name, err);
}
