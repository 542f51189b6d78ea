/* SPDX-License-Identifier: Apache-2.0 */
/* A line of srun's (launcher/connect/srun_line.c), which Slurm or a task has written.
 *
 *   the line, cut at a NUL
 *
 * Whatever it says: it is of one kind; its text lies within the line; what names hosts has some,
 * each with a name that can be asked for, and no other line has any; a label is that of a task. */
#include "launcher/connect/srun_line.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_hosts(const struct srun_line *line)
{
    bool names_hosts = line->kind == SRUN_TASKS_ENDED || line->kind == SRUN_NODE_FAILED;
    PROMISE(names_hosts ? line->hosts.count > 0 : line->hosts.count == 0);
    PROMISE(line->hosts.count <= HOST_COUNT_MAX);
    for (int i = 0; i < line->hosts.count; i++)
        PROMISE(*line->hosts.hosts[i].name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    struct srun_line line;
    char *text = fuzz_rest_text(&input);
    srun_line_read(&line, text);
    PROMISE(line.kind >= SRUN_SAYS && line.kind <= SRUN_TASK_WROTE);
    PROMISE(line.text >= text && line.length >= 0);
    PROMISE(line.text + line.length <= text + strlen(text));
    PROMISE(line.task >= -1 && (line.kind != SRUN_TASK_WROTE || line.task >= 0));
    check_hosts(&line);
    srun_line_fini(&line);
    free(text);
    return 0;
}
