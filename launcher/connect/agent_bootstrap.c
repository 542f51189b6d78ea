/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing the answers of /bin/sh on another machine, line by line; see agent_bootstrap.h. */
#include "launcher/connect/agent_bootstrap.h"

#include "launcher/base/xalloc.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX_MAX = 32 };

void agent_bootstrap_init(struct agent_bootstrap *bootstrap, const char *nonce, const char *machine)
{
    *bootstrap = (struct agent_bootstrap){ 0 };
    snprintf(bootstrap->nonce, sizeof bootstrap->nonce, "%s", nonce);
    snprintf(bootstrap->machine, sizeof bootstrap->machine, "%s", machine);
}

void agent_bootstrap_fini(struct agent_bootstrap *bootstrap)
{
    free(bootstrap->line);
    *bootstrap = (struct agent_bootstrap){ 0 };
}

static enum agent_bootstrap_action agent_bootstrap_refuse(struct agent_bootstrap *bootstrap,
                                                          const char *what, const char *text)
{
    snprintf(bootstrap->error, sizeof bootstrap->error, "%s%s", what, text);
    text_make_line(bootstrap->error);
    return BOOTSTRAP_FAILED;
}

static enum agent_bootstrap_action on_here(struct agent_bootstrap *bootstrap, const char *rest)
{
    (void)rest;
    if (bootstrap->answered) /* a mark does not count as noise, so repeated marks need a limit of
                              * their own */
        return agent_bootstrap_refuse(bootstrap, "/bin/sh says twice that it is there", "");
    bootstrap->answered = true;
    return BOOTSTRAP_WAIT;
}

static enum agent_bootstrap_action on_run(struct agent_bootstrap *bootstrap, const char *rest)
{
    (void)bootstrap;
    (void)rest;
    return BOOTSTRAP_DONE;
}

static enum agent_bootstrap_action on_agent_bootstrap_send(struct agent_bootstrap *bootstrap,
                                                           const char *machine)
{
    char what[160];
    if (bootstrap->sent)
        return agent_bootstrap_refuse(bootstrap, "/bin/sh asks for hvdagent twice", "");
    bootstrap->sent = true;
    if (strcmp(machine, bootstrap->machine) == 0)
        return BOOTSTRAP_SEND;
    snprintf(what, sizeof what,
             "hvdagent is not installed there, and a copy of ours, for %s, cannot run on ",
             bootstrap->machine);
    return agent_bootstrap_refuse(bootstrap, what, machine);
}

static enum agent_bootstrap_action on_fail(struct agent_bootstrap *bootstrap, const char *text)
{
    return agent_bootstrap_refuse(bootstrap,
                                  "hvdagent is not installed there, and cannot be sent: ", text);
}

/* Handles the text behind "hvd-NONCE ": a word and its argument. */
static enum agent_bootstrap_action take_mark(struct agent_bootstrap *bootstrap, char *mark)
{
    static const struct {
        const char *word;
        enum agent_bootstrap_action (*take)(struct agent_bootstrap *bootstrap, const char *rest);
    } marks[] = { { "here", on_here },
                  { "run", on_run },
                  { "send", on_agent_bootstrap_send },
                  { "fail", on_fail } };
    size_t length = strlen(mark);
    if (length > 0 && mark[length - 1] == '\r')
        return agent_bootstrap_refuse(bootstrap, "/bin/sh is given a terminal there; leave out -t",
                                      "");
    char *rest = mark + strcspn(mark, " ");
    if (*rest)
        *rest++ = '\0';
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strcmp(marks[i].word, mark) == 0)
            return marks[i].take(bootstrap, rest);
    return agent_bootstrap_refuse(bootstrap, "/bin/sh answers what it was not told: ", mark);
}

static enum agent_bootstrap_action too_noisy(struct agent_bootstrap *bootstrap)
{
    snprintf(bootstrap->error, sizeof bootstrap->error,
             "more than %d KiB of other output before /bin/sh answers; it begins with '%s'",
             BOOTSTRAP_NOISE_MAX / 1024, bootstrap->first_noise);
    return BOOTSTRAP_FAILED;
}

static void take_noise(struct agent_bootstrap *bootstrap)
{
    bootstrap->noise += bootstrap->length + 1;
    if (*bootstrap->first_noise)
        return;
    snprintf(bootstrap->first_noise, sizeof bootstrap->first_noise, "%s", bootstrap->line);
    text_make_line(bootstrap->first_noise);
}

/* Handles a complete, terminated line. */
static enum agent_bootstrap_action take_line(struct agent_bootstrap *bootstrap)
{
    char prefix[PREFIX_MAX];
    size_t length = (size_t)snprintf(prefix, sizeof prefix, "hvd-%s ", bootstrap->nonce);
    if (strncmp(bootstrap->line, prefix, length) == 0) {
        bootstrap->noise -= bootstrap->noise > 0; /* the newline before a mark belongs to it */
        return take_mark(bootstrap, bootstrap->line + length);
    }
    take_noise(bootstrap);
    return BOOTSTRAP_WAIT;
}

/* The incomplete line may still become a mark. */
static bool is_noisy(const struct agent_bootstrap *bootstrap)
{
    size_t noise = bootstrap->noise + (bootstrap->length > PREFIX_MAX ? bootstrap->length : 0);
    return noise > BOOTSTRAP_NOISE_MAX + 1;
}

static void agent_bootstrap_append(struct agent_bootstrap *bootstrap, const char *data,
                                   size_t length)
{
    if (bootstrap->length + length + 1 > bootstrap->capacity) {
        bootstrap->capacity = 2 * (bootstrap->length + length + 1);
        bootstrap->line = xrealloc(bootstrap->line, bootstrap->capacity);
    }
    for (size_t i = 0; i < length; i++)
        bootstrap->line[bootstrap->length++] = data[i] ? data[i] : '?';
    bootstrap->line[bootstrap->length] = '\0';
}

enum agent_bootstrap_action agent_bootstrap_take(struct agent_bootstrap *bootstrap,
                                                 const char *data, size_t length)
{
    enum agent_bootstrap_action action = BOOTSTRAP_WAIT;
    while (length > 0 && action == BOOTSTRAP_WAIT) {
        const char *end = memchr(data, '\n', length);
        size_t piece = end ? (size_t)(end - data) : length;
        agent_bootstrap_append(bootstrap, data, piece);
        piece += end != NULL;
        data += piece;
        length -= piece;
        if (end) {
            action = take_line(bootstrap);
            bootstrap->length = 0;
        }
        if (action == BOOTSTRAP_WAIT && is_noisy(bootstrap))
            action = too_noisy(bootstrap);
    }
    if (length > 0 && (action == BOOTSTRAP_DONE || action == BOOTSTRAP_SEND))
        return agent_bootstrap_refuse(bootstrap, "/bin/sh goes on where hvdagent should wait", "");
    return action;
}

const char *agent_bootstrap_end(struct agent_bootstrap *bootstrap)
{
    if (bootstrap->length > 0)
        take_noise(bootstrap);
    bootstrap->length = 0;
    return bootstrap->first_noise;
}
