/* SPDX-License-Identifier: Apache-2.0 */
/* See cuda_info.h. */
#include "launcher/process/cuda_info.h"

#include "launcher/base/wait_status.h"
#include "launcher/base/xalloc.h"
#include "launcher/process/program_output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char cuda_info_program[] = "hvd-cuda-info";

/* What the program prints, and behind it why that may not be all. */
static void cuda_info_run(const char *path, char *const *argv, char *const *envp,
                          struct text_buffer *lines)
{
    char how[80];
    int wait_status = 0;
    bool ended = program_output_read(path, argv, envp, CUDA_INFO_MS, lines, &wait_status);
    if (ended && wait_status == 0 && lines->length > 0)
        return;
    wait_status_text(how, sizeof how, wait_status);
    if (ended)
        text_buffer_printf(lines, "not all known: %s did not end well: %s\n", cuda_info_program,
                           how);
    else
        text_buffer_printf(lines, "not all known: %s did not end well within %d s\n",
                           cuda_info_program, CUDA_INFO_MS / 1000);
}

char *cuda_info_lines(const char *directory, char *const *envp)
{
    struct text_buffer lines = { 0 };
    char *path = xasprintf("%s/%s", directory, cuda_info_program);
    char *const argv[] = { path, NULL };
    if (*directory == '\0' || access(path, X_OK) != 0)
        text_buffer_printf(&lines, "not known: %s is not installed here\n", cuda_info_program);
    else
        cuda_info_run(path, argv, envp, &lines);
    free(path);
    return text_buffer_take(&lines);
}

char *cuda_info_line(const char *directory, char *const *envp)
{
    struct text_buffer line = { 0 };
    char *lines = cuda_info_lines(directory, envp), *rest;
    for (char *each = strtok_r(lines, "\n", &rest); each; each = strtok_r(NULL, "\n", &rest))
        text_buffer_printf(&line, "%s%s", line.length > 0 ? "; " : "", each);
    free(lines);
    return text_buffer_take(&line);
}
