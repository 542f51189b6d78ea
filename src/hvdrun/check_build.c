/* SPDX-License-Identifier: Apache-2.0 */
/* See check_build.h. */
#include "src/hvdrun/check_build.h"

#include "launcher/base/text_buffer.h"
#include "launcher/process/cuda_info.h"
#include "src/hvdrun/install_path.h"
#include "src/options/build_table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_cuda_lines(struct text_buffer *table, const char *directory)
{
    char *lines = cuda_info_lines(directory, environ), *rest;
    for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        text_buffer_printf(table, "    %s\n", line);
    free(lines);
}

char *check_build(void)
{
    struct text_buffer table = { 0 };
    char *build = build_table(), *agent = agent_path_find();
    text_buffer_put_string(&table, build);
    text_buffer_put_string(&table, "\nCUDA on this machine:\n");
    if (agent) {
        *strrchr(agent, '/') = '\0';
        put_cuda_lines(&table, agent);
    } else {
        text_buffer_put_string(&table, "    not known: hvdagent is not found\n");
    }
    free(agent);
    free(build);
    return text_buffer_take(&table);
}
