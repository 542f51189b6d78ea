/* SPDX-License-Identifier: Apache-2.0 */
/* Output of ranks, and a look at what a launcher made of it; bench/output.sh uses both.
 *
 *     bench/lines COUNT                 so many numbered lines of 80 bytes to stdout, as some rank
 *     bench/lines --check RANKS COUNT   reads what came through a launcher, with any prefix, and
 *                                       prints: whole lines, lines in all, ranks out of order
 *
 * A line is whole when it is exactly what a rank has written, behind a prefix that has none of
 * it. */
#include "bench/support/sample.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 80, RANKS_MAX = 1024 };

static const char pattern[] = "<<rank %04d line %08ld";

static void make_line(char line[LINE_SIZE + 1], int rank, long number)
{
    int used = snprintf(line, LINE_SIZE + 1, pattern, rank, number);
    memset(line + used, 'x', (size_t)(LINE_SIZE - 2 - used));
    memcpy(line + LINE_SIZE - 2, ">\n", 3);
}

/* As Horovod, Open MPI and MPICH tell it. */
static int own_rank(void)
{
    static const char *const names[] = { "HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i]));
    return 0;
}

static int print_lines(long count)
{
    char line[LINE_SIZE + 1];
    int rank = own_rank();
    for (long number = 0; number < count; number++) {
        make_line(line, rank, number);
        if (fputs(line, stdout) < 0)
            err(1, "stdout");
    }
    return fflush(stdout) ? 1 : 0;
}

/* Is what stands at the end of `text` a whole line? Then whose and which. */
static int is_whole(const char *text, int *rank, long *number)
{
    char expected[LINE_SIZE + 1];
    const char *begin = strstr(text, "<<rank ");
    if (!begin || sscanf(begin, pattern, rank, number) != 2 || *rank < 0 || *rank >= RANKS_MAX)
        return 0;
    make_line(expected, *rank, *number);
    return strcmp(begin, expected) == 0;
}

static int check_lines(int ranks, long count)
{
    long next[RANKS_MAX] = { 0 }, whole = 0, all = 0;
    int disordered = 0, rank;
    char *text = NULL;
    size_t size = 0;
    for (long number; getline(&text, &size, stdin) > 0; all++) {
        if (!is_whole(text, &rank, &number) || rank >= ranks)
            continue;
        whole++;
        disordered += number < next[rank];
        next[rank] = number + 1;
    }
    free(text);
    printf("%ld\t%ld\t%d\n", whole, all, disordered);
    return whole == ranks * count && disordered == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--check") == 0)
        return check_lines((int)number_argument("RANKS", argv[2], 1, RANKS_MAX),
                           number_argument("COUNT", argv[3], 0, 99999999));
    if (argc != 2)
        errx(2, "usage: lines COUNT, or lines --check RANKS COUNT");
    return print_lines(number_argument("COUNT", argv[1], 0, 99999999));
}
