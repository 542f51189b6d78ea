/* SPDX-License-Identifier: Apache-2.0 */
/* Gives programs the rows of tables of bad input, some rows at a time, and prints as TAP whether
 * each row was refused as it must be; then how many were, and how long that took.
 *
 *   refusals [GROUP --]... GROUP
 *   GROUP: TABLE BEGINNING TEMPLATE PROGRAM [ARGUMENT]...
 *
 * BEGINNING is that of the program's errors. TEMPLATE is a folder with files for each row, or "-".
 * Arguments stand in front of those of a row. Ends with status 99 if a table cannot be read. */
#include "tests/bad/attempt.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GROUPS_MAX = 16 };

struct plan {
    struct group groups[GROUPS_MAX];
    size_t group_count;
    struct attempt *attempts;
    int count, started, ended;
};

static char folder[] = "/tmp/refusals.XXXXXX";

static void stop(const char *what, const char *word)
{
    fprintf(stderr, "refusals: %s: %s\n", what, word);
    exit(99);
}

/* One group; the words behind it. */
static char **add_group(struct plan *plan, char **words)
{
    if (!words[0] || !words[1] || !words[2] || !words[3])
        stop("not a group", words[0] ? words[0] : "nothing");
    if (plan->group_count == GROUPS_MAX)
        stop("too many groups", words[0]);
    struct group *group = &plan->groups[plan->group_count++];
    table_read(&group->table, words[0]);
    group->beginning = words[1];
    group->template = strcmp(words[2], "-") == 0 ? NULL : words[2];
    group->command = words + 3;
    for (words += 3; *words && strcmp(*words, "--") != 0;)
        words++;
    if (!*words)
        return words;
    *words = NULL;
    return words + 1;
}

static void make_attempts(struct plan *plan)
{
    size_t count = 0;
    for (size_t g = 0; g < plan->group_count; g++)
        count += plan->groups[g].table.count;
    plan->attempts = calloc(count, sizeof *plan->attempts);
    if (!plan->attempts)
        stop("no row", "of no table");
    for (size_t g = 0; g < plan->group_count; g++)
        for (size_t r = 0; r < plan->groups[g].table.count; r++) {
            struct attempt *attempt = &plan->attempts[plan->count];
            attempt->group = &plan->groups[g];
            attempt->row = &plan->groups[g].table.rows[r];
            attempt->number = plan->count++;
        }
}

static void reap(struct plan *plan)
{
    int wait_status;
    for (pid_t pid; (pid = waitpid(-1, &wait_status, WNOHANG)) > 0;)
        for (int i = 0; i < plan->started; i++)
            if (plan->attempts[i].pid == pid) {
                attempt_end(&plan->attempts[i], wait_status);
                plan->ended++;
            }
}

static void kill_late(const struct plan *plan)
{
    for (int i = 0; i < plan->started; i++)
        if (plan->attempts[i].pid > 0 && attempt_is_late(&plan->attempts[i]))
            kill(-plan->attempts[i].pid, SIGKILL);
}

static void run(struct plan *plan, int at_once)
{
    const struct timespec second = { .tv_sec = 1 };
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, NULL);
    while (plan->ended < plan->count) {
        while (plan->started < plan->count && plan->started - plan->ended < at_once)
            attempt_start(&plan->attempts[plan->started++]);
        sigtimedwait(&ended, NULL, &second);
        reap(plan);
        kill_late(plan);
    }
}

static void print_attempt(int number, const struct attempt *attempt)
{
    const struct row *row = attempt->row;
    printf("%sok %d - %s: %s\n", *attempt->complaint ? "not " : "", number, row->id, row->text);
    if (!*attempt->complaint)
        return;
    printf("# %s %s %s\n", row->variables, attempt->group->command[0], row->arguments);
    printf("# %s\n", attempt->complaint);
}

static int by_time(const void *a, const void *b)
{
    double left = (*(const struct attempt *const *)a)->took_ms;
    double right = (*(const struct attempt *const *)b)->took_ms;
    return (left > right) - (left < right);
}

static void print_times(const struct plan *plan)
{
    const struct attempt **sorted =
        plan->count > 0 ? calloc((size_t)plan->count, sizeof *sorted) : NULL;
    if (!sorted)
        return;
    for (int i = 0; i < plan->count; i++)
        sorted[i] = &plan->attempts[i];
    qsort(sorted, (size_t)plan->count, sizeof *sorted, by_time);
    printf("# took ms: half %.0f, 95 of 100 %.0f, longest", sorted[plan->count / 2]->took_ms,
           sorted[plan->count * 95 / 100]->took_ms);
    for (int i = plan->count - 1; i >= 0 && i >= plan->count - 5; i--)
        printf(" %.0f (%s)", sorted[i]->took_ms, sorted[i]->row->id);
    printf("\n");
    free(sorted);
}

/* The count is a sentence of its own, so that it appears where tests are listed. */
static void print_results(const struct plan *plan)
{
    int bad = 0, refused = 0, odd = 0, taken = 0;
    for (int i = 0; i < plan->count; i++) {
        const struct attempt *attempt = &plan->attempts[i];
        *(attempt->row->status ? &bad : &odd) += 1;
        *(attempt->row->status ? &refused : &taken) += !*attempt->complaint;
        print_attempt(i + 1, attempt);
    }
    print_times(plan);
    printf("%sok %d - %d bad inputs, %d refused as they must be; %d odd ones, %d taken\n",
           bad == refused && odd == taken ? "" : "not ", plan->count + 1, bad, refused, odd, taken);
    printf("1..%d\n", plan->count + 1);
}

int main(int argc, char **argv)
{
    struct plan plan = { 0 };
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    (void)argc;
    for (char **words = argv + 1; *words;)
        words = add_group(&plan, words);
    make_attempts(&plan);
    if (!mkdtemp(folder) || chdir(folder) != 0)
        stop("no folder", folder);
    run(&plan, 2 * (processors > 1 ? (int)processors : 1));
    print_results(&plan);
    if (chdir("/") == 0)
        rmdir(folder);
    for (size_t g = 0; g < plan.group_count; g++)
        table_free(&plan.groups[g].table);
    free(plan.attempts);
    return EXIT_SUCCESS;
}
