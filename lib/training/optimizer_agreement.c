/* SPDX-License-Identifier: Apache-2.0 */
/* The properties that all ranks of an optimizer must share; see optimizer_impl.h: the parameters in
 * their order, with types, shapes and kind of memory, the groups, and the options. The text of a
 * difference is the first line that differs.
 *
 * Fails as agreement.h says, and when memory is short on any rank. */
#include "lib/training/optimizer_impl.h"

#include "lib/reduce/reduce.h"
#include "lib/training/agreement.h"
#include "lib/training/parameters.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void put(struct wire_writer *lines, const char *format,
                                                      ...)
{
    char text[64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    wire_put_bytes(lines, text, strlen(text));
}

static void put_settings(struct wire_writer *lines, const struct optimizer_settings *settings)
{
    static const char *const compressions[] = { "none", "fp16", "bf16" };
    put(lines, "op %s\n", op_name((int)settings->op));
    put(lines, "compression %s\n", compressions[settings->compression]);
    put(lines, "backward_passes %d\n", settings->passes);
    put(lines, "average_passes %d\n", settings->average_passes);
    put(lines, "predivide_factor %.17g\n", settings->predivide_factor);
}

/* Replaces the line's newline and appends more. */
static void put_parameter(struct wire_writer *lines, const struct hvd_parameter *parameter)
{
    parameter_put_line(lines, parameter);
    if (lines->failed || parameter->device == 0)
        return;
    lines->length--;
    put(lines, " in device memory\n");
}

static void put_group(struct wire_writer *lines, const struct hvd_optimizer *optimizer,
                      const struct group *group)
{
    put(lines, "group");
    for (int i = 0; i < optimizer->count; i++)
        if (optimizer->gradients[i].group == group)
            put(lines, " %d", i);
    put(lines, "\n");
}

static void put_lines(struct wire_writer *lines, const struct hvd_optimizer *optimizer)
{
    put_settings(lines, &optimizer->settings);
    for (int i = 0; i < optimizer->count; i++)
        put_parameter(lines, &optimizer->gradients[i].parameter);
    for (int i = 0; i < optimizer->ngroups; i++)
        if (optimizer->groups[i].count > 1)
            put_group(lines, optimizer, &optimizer->groups[i]);
    wire_put_u8(lines, '\0');
}

int optimizer_agree(const struct hvd_optimizer *optimizer, int process_set, const struct err *own,
                    struct err *err)
{
    struct err mistake = *own;
    struct wire_writer lines = { 0 };
    if (own->code == HVD_OK)
        put_lines(&lines, optimizer);
    if (lines.failed)
        fail(&mistake, HVD_ERR_NOMEM, "out of memory");
    int rc = agreement_conclude("optimizer", process_set, &mistake, (const char *)lines.data, err);
    wire_writer_fini(&lines);
    return rc;
}
