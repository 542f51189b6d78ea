/* SPDX-License-Identifier: Apache-2.0 */
/* Names of parameters, scalars and metrics; see names.h. The text reports the first bad name of the
 * list, otherwise the first name that occurs twice. */
#include "lib/training/names.h"

#include "lib/base/text.h"
#include "lib/hvd_optimizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *name_label(char label[NAME_LABEL], const char *kind, const char *name)
{
    char quoted[QUOTED_SIZE];
    snprintf(label, NAME_LABEL, "%s '%s'", kind,
             quote_token(quoted, sizeof quoted, name, strlen(name)));
    return label;
}

int name_check(const char *name, struct err *err)
{
    if (!name || *name == '\0')
        return fail(err, HVD_ERR_INVALID, "the name is %s", name ? "empty" : "NULL");
    size_t length = strnlen(name, HVD_PARAMETER_NAME_MAX + 1);
    if (length > HVD_PARAMETER_NAME_MAX)
        return fail(err, HVD_ERR_INVALID, "the name is longer than %d bytes",
                    HVD_PARAMETER_NAME_MAX);
    for (size_t at = 0, step; at < length; at += step) {
        step = text_utf8_length(name + at, length - at);
        if (step == 0)
            return fail(err, HVD_ERR_INVALID, "the name is not UTF-8 (byte %zu is 0x%02x)", at,
                        (unsigned char)name[at]);
    }
    return HVD_OK;
}

static int names_compare(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    return strcmp(a->name, b->name);
}

int names_sort(const char *kind, struct named *names, int count, struct err *err)
{
    char label[NAME_LABEL];
    for (int i = 0; i < count; i++)
        if (name_check(names[i].name, err) < 0)
            return fail_context(err, "%s %d", kind, names[i].place);
    if (count > 0)
        qsort(names, (size_t)count, sizeof *names, names_compare);
    for (int i = 1; i < count; i++)
        if (strcmp(names[i - 1].name, names[i].name) == 0)
            return fail(err, HVD_ERR_INVALID, "%s is given twice",
                        name_label(label, kind, names[i].name));
    return HVD_OK;
}

void name_put(struct wire_writer *text, const char *name)
{
    for (; *name; name++)
        if (*name == '\n')
            wire_put_bytes(text, "\\n", 2);
        else if (*name == '\\')
            wire_put_bytes(text, "\\\\", 2);
        else
            wire_put_u8(text, (uint8_t)*name);
}
