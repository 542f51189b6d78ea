/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping the first problem. A text that is too long is cut, and a file name in it may have
 * newlines or worse, which become question marks; nothing here fails. */
#include "examples/support/problem.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

int problem_set(struct problem *problem, int exit_status, const char *format, ...)
{
    if (problem->exit_status != 0)
        return -1;
    problem->exit_status = exit_status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
    for (char *at = problem->text; *at != '\0'; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
    return -1;
}

int problem_nomem(struct problem *problem)
{
    return problem_set(problem, EXIT_STATUS_DATA, "out of memory");
}

int problem_print(const char *program, const struct problem *problem)
{
    fprintf(stderr, "%s: %s\n", program, problem->text);
    return problem->exit_status;
}
