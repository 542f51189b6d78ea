/* SPDX-License-Identifier: Apache-2.0 */
/* Looking a key up in known_hosts files; see known_hosts.h:
 *   read the files, then for each question go through their lines, those that stand for the host.
 * Nothing fails: a file that cannot be read is a warning, a malformed line is ignored. The matcher
 * of libssh2 is not used: it knows neither @revoked nor patterns, and stops at an odd line. */
#include "launcher/ssh/known_hosts.h"

#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"
#include "launcher/ssh/known_hosts_line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_SIZE_MAX = 16 << 20, SSH_PORT = 22 };

struct known_file {
    char *path;
    char *text;
    size_t length;
};

struct known_hosts {
    struct known_file *files;
    size_t nfiles;
    char *unread; /* the first file that could not be read, and why; NULL if all could be */
};

/* A position in the files. */
struct cursor {
    const struct known_hosts *known;
    size_t file;
    int line_number;
    struct slice rest;
};

/* ---- the files ---- */

static void add_file(struct known_hosts *known, const char *path, char *text, size_t length)
{
    known->files = xreallocarray(known->files, known->nfiles + 1, sizeof *known->files);
    known->files[known->nfiles++] = (struct known_file){ xstrdup(path), text, length };
}

/* NULL, or the cause of a failure. Devices (/dev/null) and empty pipes are read as empty files. */
static const char *read_text(int fd, struct text_buffer *text)
{
    enum { PIECE = 1 << 16 };
    ssize_t n;
    while ((n = read(fd, text_buffer_reserve(text, PIECE), PIECE)) != 0) {
        if (n < 0 && errno != EINTR)
            return strerror(errno);
        text->length += n > 0 ? (size_t)n : 0;
        if (text->length > FILE_SIZE_MAX)
            return "larger than 16 MiB";
    }
    return NULL;
}

static void read_file(struct known_hosts *known, const char *path, struct string_list *warnings)
{
    struct text_buffer text = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return;
    const char *problem = fd < 0 ? strerror(errno) : read_text(fd, &text);
    if (fd >= 0)
        close(fd);
    if (!problem) {
        add_file(known, path, text.data, text.length);
        return;
    }
    if (!known->unread)
        known->unread = xasprintf("%s cannot be read: %s", path, problem);
    if (warnings)
        string_list_take(warnings, xasprintf("%s is not used: %s", path, problem));
    text_buffer_fini(&text);
}

struct known_hosts *known_hosts_read(char *const *paths, size_t npaths,
                                     struct string_list *warnings)
{
    struct known_hosts *known = xcalloc(1, sizeof *known);
    for (size_t i = 0; i < npaths; i++)
        read_file(known, paths[i], warnings);
    return known;
}

struct known_hosts *known_hosts_parse(const char *text, size_t length, const char *path)
{
    struct known_hosts *known = xcalloc(1, sizeof *known);
    char *copy = xmalloc(length + 1);
    if (length > 0)
        memcpy(copy, text, length);
    add_file(known, path, copy, length);
    return known;
}

const char *known_hosts_unread(const struct known_hosts *known)
{
    return known->unread;
}

void known_hosts_destroy(struct known_hosts *known)
{
    if (!known)
        return;
    for (size_t i = 0; i < known->nfiles; i++) {
        free(known->files[i].path);
        free(known->files[i].text);
    }
    free(known->files);
    free(known->unread);
    free(known);
}

/* ---- the lines that stand for a host ---- */

static struct cursor first_line(const struct known_hosts *known)
{
    struct cursor cursor = { .known = known };
    if (known->nfiles > 0)
        cursor.rest = (struct slice){ known->files[0].text, known->files[0].length };
    return cursor;
}

/* Goes on to the next file at the end of this one. False after the last. */
static bool more_text(struct cursor *cursor)
{
    while (cursor->rest.length == 0) {
        if (cursor->file + 1 >= cursor->known->nfiles)
            return false;
        const struct known_file *file = &cursor->known->files[++cursor->file];
        cursor->rest = (struct slice){ file->text, file->length };
        cursor->line_number = 0;
    }
    return true;
}

static bool next_line(struct cursor *cursor, const char *name, struct known_line *line)
{
    while (more_text(cursor)) {
        cursor->line_number++;
        if (known_line_take(&cursor->rest, line) && known_names_match(line->names, name))
            return true;
    }
    return false;
}

/* The name in the form of the files, in lower case; owned by the caller. */
static char *file_name_of(const char *name, int port)
{
    char *text = port == SSH_PORT ? xstrdup(name) : xasprintf("[%s]:%d", name, port);
    for (char *at = text; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at - 'A' + 'a');
    return text;
}

/* ---- the verdict ---- */

struct question {
    const unsigned char *blob;
    size_t nbytes;
    char type[64];
};

/* The verdict of one line. */
static enum known_hosts_verdict known_hosts_judge(enum known_marker marker, bool same)
{
    switch (marker) {
    case MARKER_REVOKED:
        return same ? KNOWN_HOSTS_REVOKED : KNOWN_HOSTS_UNKNOWN;
    case MARKER_CA:
        return KNOWN_HOSTS_NEEDS_CA;
    default:
        return same ? KNOWN_HOSTS_MATCH : KNOWN_HOSTS_CHANGED;
    }
}

/* Does a line with the verdict `next` count more than those before? */
static bool outweighs(const struct known_hosts_found *next, const struct known_hosts_found *found,
                      const char *type)
{
    static const int weights[] = {
        [KNOWN_HOSTS_UNKNOWN] = 0, [KNOWN_HOSTS_NEEDS_CA] = 1, [KNOWN_HOSTS_CHANGED] = 2,
        [KNOWN_HOSTS_MATCH] = 3,   [KNOWN_HOSTS_REVOKED] = 4,
    };
    if (next->verdict != found->verdict)
        return weights[next->verdict] > weights[found->verdict];
    return next->verdict == KNOWN_HOSTS_CHANGED && strcmp(next->type, type) == 0 &&
           strcmp(found->type, type) != 0;
}

static void weigh_line(struct known_hosts_found *found, const struct cursor *cursor,
                       const struct known_line *line, const struct question *question)
{
    size_t nbytes = 0;
    const char *type = NULL;
    unsigned char *blob = known_key_decode(line, &nbytes, &type);
    if (!blob)
        return;
    bool same = nbytes == question->nbytes && memcmp(blob, question->blob, nbytes) == 0;
    free(blob);
    struct known_hosts_found next = { known_hosts_judge(line->marker, same),
                                      cursor->known->files[cursor->file].path, cursor->line_number,
                                      type };
    if (outweighs(&next, found, question->type))
        *found = next;
}

static struct known_hosts_found look_for(const struct known_hosts *known, const char *name,
                                         int port, const struct question *question)
{
    struct known_hosts_found found = { .verdict = KNOWN_HOSTS_UNKNOWN };
    struct cursor cursor = first_line(known);
    struct known_line line;
    char *wanted = file_name_of(name, port);
    while (next_line(&cursor, wanted, &line))
        weigh_line(&found, &cursor, &line, question);
    free(wanted);
    return found;
}

/* OpenSSH looks the plain name up only where [NAME]:PORT is unknown, and treats a key that is
 * revoked there as unknown. Here such a key is revoked. */
struct known_hosts_found known_hosts_check(const struct known_hosts *known, const char *name,
                                           int port, const unsigned char *blob, size_t nbytes)
{
    struct question question = { .blob = blob, .nbytes = nbytes };
    known_hosts_blob_type(question.type, sizeof question.type, blob, nbytes);
    struct known_hosts_found found = look_for(known, name, port, &question);
    if (port == SSH_PORT || found.verdict == KNOWN_HOSTS_REVOKED)
        return found;
    struct known_hosts_found plain = look_for(known, name, SSH_PORT, &question);
    if (plain.verdict == KNOWN_HOSTS_REVOKED)
        return plain;
    bool without_key =
        found.verdict == KNOWN_HOSTS_UNKNOWN || found.verdict == KNOWN_HOSTS_NEEDS_CA;
    if (without_key && plain.verdict == KNOWN_HOSTS_MATCH)
        return plain;
    if (found.verdict == KNOWN_HOSTS_UNKNOWN && plain.verdict == KNOWN_HOSTS_NEEDS_CA)
        return plain;
    return found;
}

/* ---- the types ---- */

static void add_once(struct string_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], text) == 0)
            return;
    string_list_add(list, text, strlen(text));
}

static void types_of(const struct known_hosts *known, const char *name, int port,
                     struct string_list *types)
{
    struct cursor cursor = first_line(known);
    struct known_line line;
    char *wanted = file_name_of(name, port);
    while (next_line(&cursor, wanted, &line)) {
        size_t nbytes;
        const char *type;
        unsigned char *blob =
            line.marker == MARKER_NONE ? known_key_decode(&line, &nbytes, &type) : NULL;
        if (blob)
            add_once(types, type);
        free(blob);
    }
    free(wanted);
}

bool known_hosts_types(const struct known_hosts *known, const char *name, int port,
                       struct string_list *types)
{
    size_t before = types->count;
    types_of(known, name, port, types);
    if (types->count > before)
        return true;
    if (port != SSH_PORT)
        types_of(known, name, SSH_PORT, types);
    return false;
}
