/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle over one job; see trial.h:
 *   it ends in time, and nothing of it lives on;
 *   nothing crashes;
 *   status 0, and every line of output that there is without the fault, beside lines of hvdrun's;
 *   or another status, and one line of hvdrun's that says why. */
#include "tests/shim/trial.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What the programs say for themselves, as far as a job may succeed with it. */
static bool is_ours(const char *line)
{
    return strncmp(line, "hvdrun: ", 8) == 0 || strncmp(line, "hvdagent: ", 10) == 0;
}

/* The lines of `text`, sorted. Allocates. */
static char *sorted(const char *text)
{
    size_t count = 0, room = strlen(text) + 2;
    char *copy = strdup(text), *rest = copy, *result = calloc(1, room);
    char **lines = calloc(room, sizeof *lines);
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line && !is_ours(line))
            lines[count++] = line;
    qsort(lines, count, sizeof *lines, compare);
    char *end = result;
    for (size_t i = 0; i < count; i++)
        end = stpcpy(stpcpy(end, lines[i]), "\n");
    free(lines);
    free(copy);
    return result;
}

struct golden golden_of(const struct trial *trial)
{
    return (struct golden){ sorted(trial->out), sorted(trial->err) };
}

void golden_fini(struct golden *golden)
{
    free(golden->out);
    free(golden->err);
}

/* Lines with which a program says that it gives up. */
static bool is_last_word(const char *line)
{
    static const char *const beginnings[] = { "hvdrun: FAILED",
                                              "hvdrun: error: ", "hvdrun: out of memory" };
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(line, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

static int count_last_line(const char *text, char *last, size_t size)
{
    int count = 0;
    char *copy = strdup(text), *rest = copy;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (!is_last_word(line))
            continue;
        if (++count == 1) {
            strncpy(last, line, size - 1);
            last[size - 1] = 0;
        }
    }
    free(copy);
    return count;
}

const char *trial_last_line(const struct trial *trial, char *line, size_t size)
{
    *line = 0;
    count_last_line(trial->err, line, size);
    return line;
}

static bool tells_of_a_crash(const char *text)
{
    static const char *const signs[] = { "SIGSEGV",   "SIGABRT",        "SIGBUS",
                                         "SIGILL",    "SIGFPE",         "Sanitizer",
                                         "Assertion", "runtime error:", "corrupted" };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(text, signs[i]))
            return true;
    return false;
}

static const char *complain_of_success(const struct trial *trial, const struct golden *golden)
{
    struct golden got = golden_of(trial);
    bool out = strcmp(got.out, golden->out) == 0, err = strcmp(got.err, golden->err) == 0;
    golden_fini(&got);
    if (!out)
        return "status 0, and stdout is not complete";
    return err ? NULL : "status 0, and stderr is not complete";
}

const char *trial_complaint(struct trial *trial, const struct golden *golden)
{
    char line[8];
    if (trial->hung)
        return "hangs";
    if (tells_of_a_crash(trial->err) || WIFSIGNALED(trial->wait_status))
        return "crashes";
    if (trial->left)
        return "leaves processes";
    if (WEXITSTATUS(trial->wait_status) == 0)
        return complain_of_success(trial, golden);
    switch (count_last_line(trial->err, line, sizeof line)) {
    case 0:
        return trial->speechless ? NULL : "fails and does not say why";
    case 1:
        return NULL;
    default:
        return "says more than once why it fails";
    }
}
