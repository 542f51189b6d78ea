/* SPDX-License-Identifier: Apache-2.0 */
/* What /bin/sh on another machine answers, line by line; see greeting.h. */
#include "launcher/connect/agent_bootstrap.h"

#include "launcher/base/xalloc.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX_MAX = 32 };

void greeting_init(struct greeting *greeting, const char *nonce, const char *machine)
{
    *greeting = (struct greeting){ 0 };
    snprintf(greeting->nonce, sizeof greeting->nonce, "%s", nonce);
    snprintf(greeting->machine, sizeof greeting->machine, "%s", machine);
}

void greeting_fini(struct greeting *greeting)
{
    free(greeting->line);
    *greeting = (struct greeting){ 0 };
}

static enum greeting_action refuse(struct greeting *greeting, const char *what, const char *text)
{
    snprintf(greeting->error, sizeof greeting->error, "%s%s", what, text);
    text_make_line(greeting->error);
    return GREETING_FAILED;
}

static enum greeting_action on_here(struct greeting *greeting, const char *rest)
{
    (void)rest;
    if (greeting->answered) /* a mark is no noise, so nothing else would bound them */
        return refuse(greeting, "/bin/sh says twice that it is there", "");
    greeting->answered = true;
    return GREETING_WAIT;
}

static enum greeting_action on_run(struct greeting *greeting, const char *rest)
{
    (void)greeting;
    (void)rest;
    return GREETING_DONE;
}

static enum greeting_action on_send(struct greeting *greeting, const char *machine)
{
    char what[160];
    if (greeting->sent)
        return refuse(greeting, "/bin/sh asks for hvdagent twice", "");
    greeting->sent = true;
    if (strcmp(machine, greeting->machine) == 0)
        return GREETING_SEND;
    snprintf(what, sizeof what,
             "hvdagent is not installed there, and a copy of ours, for %s, cannot run on ",
             greeting->machine);
    return refuse(greeting, what, machine);
}

static enum greeting_action on_fail(struct greeting *greeting, const char *text)
{
    return refuse(greeting, "hvdagent is not installed there, and cannot be sent: ", text);
}

/* What stands behind "hvd-NONCE "; a word, and what follows it. */
static enum greeting_action take_mark(struct greeting *greeting, char *mark)
{
    static const struct {
        const char *word;
        enum greeting_action (*take)(struct greeting *greeting, const char *rest);
    } marks[] = {
        { "here", on_here }, { "run", on_run }, { "send", on_send }, { "fail", on_fail }
    };
    size_t length = strlen(mark);
    if (length > 0 && mark[length - 1] == '\r')
        return refuse(greeting, "/bin/sh is given a terminal there; leave out -t", "");
    char *rest = mark + strcspn(mark, " ");
    if (*rest)
        *rest++ = '\0';
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strcmp(marks[i].word, mark) == 0)
            return marks[i].take(greeting, rest);
    return refuse(greeting, "/bin/sh answers what it was not told: ", mark);
}

static enum greeting_action too_noisy(struct greeting *greeting)
{
    snprintf(greeting->error, sizeof greeting->error,
             "more than %d KiB of other output before /bin/sh answers; it begins with '%s'",
             GREETING_NOISE_MAX / 1024, greeting->first_noise);
    return GREETING_FAILED;
}

static void take_noise(struct greeting *greeting)
{
    greeting->noise += greeting->length + 1;
    if (*greeting->first_noise)
        return;
    snprintf(greeting->first_noise, sizeof greeting->first_noise, "%s", greeting->line);
    text_make_line(greeting->first_noise);
}

/* A line is complete, and terminated. */
static enum greeting_action take_line(struct greeting *greeting)
{
    char prefix[PREFIX_MAX];
    size_t length = (size_t)snprintf(prefix, sizeof prefix, "hvd-%s ", greeting->nonce);
    if (strncmp(greeting->line, prefix, length) == 0) {
        greeting->noise -= greeting->noise > 0; /* the newline before a mark belongs to it */
        return take_mark(greeting, greeting->line + length);
    }
    take_noise(greeting);
    return GREETING_WAIT;
}

/* The line that is still coming may become a mark. */
static bool is_noisy(const struct greeting *greeting)
{
    size_t noise = greeting->noise + (greeting->length > PREFIX_MAX ? greeting->length : 0);
    return noise > GREETING_NOISE_MAX + 1;
}

static void append(struct greeting *greeting, const char *data, size_t length)
{
    if (greeting->length + length + 1 > greeting->capacity) {
        greeting->capacity = 2 * (greeting->length + length + 1);
        greeting->line = xrealloc(greeting->line, greeting->capacity);
    }
    for (size_t i = 0; i < length; i++)
        greeting->line[greeting->length++] = data[i] ? data[i] : '?';
    greeting->line[greeting->length] = '\0';
}

enum greeting_action greeting_take(struct greeting *greeting, const char *data, size_t length)
{
    enum greeting_action action = GREETING_WAIT;
    while (length > 0 && action == GREETING_WAIT) {
        const char *end = memchr(data, '\n', length);
        size_t piece = end ? (size_t)(end - data) : length;
        append(greeting, data, piece);
        piece += end != NULL;
        data += piece;
        length -= piece;
        if (end) {
            action = take_line(greeting);
            greeting->length = 0;
        }
        if (action == GREETING_WAIT && is_noisy(greeting))
            action = too_noisy(greeting);
    }
    if (length > 0 && (action == GREETING_DONE || action == GREETING_SEND))
        return refuse(greeting, "/bin/sh goes on where hvdagent should wait", "");
    return action;
}

const char *greeting_end(struct greeting *greeting)
{
    if (greeting->length > 0)
        take_noise(greeting);
    greeting->length = 0;
    return greeting->first_noise;
}
