/* SPDX-License-Identifier: Apache-2.0 */
/* The result line; see result.h. Nothing here fails. */
#include "examples/support/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "examples/support/program.h"

void result_begin(struct result *result)
{
    strcpy(result->line, "result");
    result->length = strlen(result->line);
}

void result_text(struct result *result, const char *name, const char *value)
{
    size_t room = sizeof result->line - result->length;
    int written = snprintf(result->line + result->length, room, " %s=%s", name, value);
    if (written > 0 && (size_t)written < room)
        result->length += (size_t)written;
    else
        result->line[result->length] = '\0';
}

void result_integer(struct result *result, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    result_text(result, name, text);
}

void result_real(struct result *result, const char *name, const char *format, double value)
{
    char text[64];
    snprintf(text, sizeof text, format, value);
    result_text(result, name, text);
}

void result_yes_no(struct result *result, const char *name, bool value)
{
    result_text(result, name, value ? "yes" : "no");
}

void result_print(const struct result *result)
{
    if (program_prints())
        printf("%s\n", result->line);
}
