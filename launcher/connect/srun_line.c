/* SPDX-License-Identifier: Apache-2.0 */
/* What Slurm says on stderr; see srun_line.h. */
#include "launcher/connect/srun_line.h"

#include "launcher/hosts/slurm_list.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "srun: error: ";

/* Removes "3: " from the front. */
static void take_label(struct srun_line *line)
{
    size_t digits = strspn(line->text, "0123456789");
    if (digits == 0 || digits > 8 || strncmp(line->text + digits, ": ", 2) != 0)
        return;
    line->task = (int)strtol(line->text, NULL, 10);
    line->text += digits + 2;
    line->kind = SRUN_TASK_WROTE;
}

/* "slurmstepd: error: *** CAUSE ***", from slurmstepd on some node. */
static bool take_cancelled(struct srun_line *line)
{
    static const char before[] = "error: *** ", after[] = " ***";
    const char *at = strncmp(line->text, "slurmstepd", 10) == 0 ? strstr(line->text, before) : NULL;
    if (!at)
        return false;
    const char *end = strstr(at + sizeof before - 1, after);
    if (!end) /* the line was cut */
        end = at + strlen(at);
    line->kind = SRUN_CANCELLED;
    line->text = at + sizeof before - 1;
    line->length = (int)(end - line->text);
    return true;
}

/* Reads the hosts in text[0, length). */
static bool take_nodes(struct srun_line *line, const char *text, size_t length)
{
    char names[1024];
    struct err err;
    if (length == 0 || length >= sizeof names || memchr(text, ' ', length))
        return false;
    memcpy(names, text, length);
    names[length] = '\0';
    if (slurm_list_add_hosts(&line->hosts, names, "srun", &err) == HVD_OK)
        return true;
    host_list_fini(&line->hosts);
    line->hosts = (struct host_list){ 0 };
    return false;
}

/* "srun: Job step aborted: Waiting up to 32 seconds ..." */
static bool take_aborted(struct srun_line *line)
{
    static const char before[] = "srun: ", what[] = "Job step aborted";
    size_t length = sizeof before - 1;
    if (line->task >= 0 || strncmp(line->text, before, length) != 0 ||
        strncmp(line->text + length, what, sizeof what - 1) != 0)
        return false;
    line->kind = SRUN_ABORTED;
    line->text += length;
    line->length = (int)sizeof what - 1;
    return true;
}

static void take_srun(struct srun_line *line)
{
    static const char failure[] = "Node failure on ";
    const char *rest = line->text + sizeof prefix - 1, *colon = strstr(rest, ": task");
    if (strncmp(rest, failure, sizeof failure - 1) == 0) {
        const char *nodes = rest + sizeof failure - 1;
        if (take_nodes(line, nodes, strlen(nodes)))
            line->kind = SRUN_NODE_FAILED;
    } else if (colon && take_nodes(line, rest, (size_t)(colon - rest))) {
        line->kind = SRUN_TASKS_ENDED;
    }
    if (line->kind != SRUN_SAYS) {
        line->text = rest;
        line->length = (int)strlen(rest);
    }
}

void srun_line_read(struct srun_line *line, const char *text)
{
    *line = (struct srun_line){ .kind = SRUN_SAYS, .task = -1, .text = text };
    take_label(line);
    line->length = (int)strlen(line->text);
    if (!take_cancelled(line) && !take_aborted(line) && line->task < 0 &&
        strncmp(text, prefix, sizeof prefix - 1) == 0)
        take_srun(line);
}

void srun_line_fini(struct srun_line *line)
{
    host_list_fini(&line->hosts);
}
