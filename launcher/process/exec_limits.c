/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of execve(); see exec_limits.h. No header defines them: one text may have 32 pages
 * (MAX_ARG_STRLEN), all together a quarter of the stack's limit, at most 6 MiB and at least 128
 * KiB. */
#include "launcher/process/exec_limits.h"

#include "launcher/base/bad_input.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TEXT_PAGES = 32, TOTAL_MIN = 128 * 1024, TOTAL_MAX = 6 * 1024 * 1024 };

/* Bytes that a "#!" line may add (the interpreter, its argument, the script once more), and
 * differences between ranks. */
enum { SLACK = 1024 };

void exec_limits_read(struct exec_limits *limits)
{
    struct rlimit stack;
    limits->text = TEXT_PAGES * (size_t)sysconf(_SC_PAGESIZE);
    limits->total = TOTAL_MAX;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur / 4 < TOTAL_MAX)
        limits->total = (size_t)stack.rlim_cur / 4;
    if (limits->total < TOTAL_MIN)
        limits->total = TOTAL_MIN;
}

/* The sum so far, and the largest text. */
struct tally {
    size_t total, largest;
    const char *text;
    int argument; /* its number; -1: a variable */
};

static void count_texts(struct tally *tally, char *const *texts, bool arguments)
{
    for (int i = 0; texts[i]; i++) {
        size_t size = strlen(texts[i]) + 1;
        tally->total += size + sizeof(char *);
        if (size <= tally->largest)
            continue;
        tally->largest = size;
        tally->text = texts[i];
        tally->argument = arguments ? i : -1;
    }
}

/* "variable 'PATH'" or "argument 3"; argument 0 is the program. */
static void name_largest(char *out, size_t size, const struct tally *tally)
{
    struct shown name;
    if (tally->argument >= 0)
        snprintf(out, size, "argument %d", tally->argument);
    else
        snprintf(out, size, "variable '%s'",
                 show_token(&name, tally->text, strcspn(tally->text, "=")));
}

int exec_limits_check(const struct exec_limits *limits, const char *path, char *const *argv,
                      char *const *envp, struct err *err)
{
    struct tally tally = { .total = 2 * strlen(path) + SLACK };
    char largest[SHOWN_COLUMNS + 32];
    count_texts(&tally, argv, true);
    count_texts(&tally, envp, false);
    name_largest(largest, sizeof largest, &tally);
    if (tally.largest > limits->text)
        return fail(err, HVD_ERR_INVALID, "%s is %zu bytes long, a program here takes %zu", largest,
                    tally.largest - 1, limits->text - 1);
    if (tally.total > limits->total)
        return fail(err, HVD_ERR_INVALID,
                    "arguments and environment are %zu bytes long, a program here takes %zu "
                    "(ulimit -s); the longest is %s with %zu",
                    tally.total, limits->total, largest, tally.largest - 1);
    return HVD_OK;
}
