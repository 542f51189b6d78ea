/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a program's loader for its libraries; see program_libraries.h:
 *   find the loader in the program's headers -> run it to list what it would load -> read the list.
 * With LD_TRACE_LOADED_OBJECTS in the environment glibc's loader lists the libraries, as ldd(1)
 * does, and does not start the program. Other loaders might start it, so they are not asked. */
#include "launcher/process/program_libraries.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"
#include "launcher/process/program_image.h"
#include "launcher/process/program_output.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The names of glibc's loaders on all machines: ld-linux-x86-64.so.2, ld64.so.2, ld.so.1. */
static bool is_glibcs(const char *loader)
{
    const char *slash = strrchr(loader, '/'), *name = slash ? slash + 1 : loader;
    return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld64.so.", 8) == 0 ||
           strncmp(name, "ld.so.", 6) == 0;
}

/* Such a program ignores LD_LIBRARY_PATH, but its loader, run by us, would not. */
static bool has_more_rights(int fd)
{
    struct stat status;
    return fstat(fd, &status) < 0 || (status.st_mode & (S_ISUID | S_ISGID)) ||
           fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

/* True if there is a loader that can be asked. */
static bool find_loader(const char *path, char *loader, size_t size)
{
    int fd = *path == '-' ? -1 : open(path, O_RDONLY | O_CLOEXEC); /* the loader would take "-x" for
                                                                    * an option */
    bool found = fd >= 0 && !has_more_rights(fd) && program_image_loader(fd, loader, size) &&
                 is_glibcs(loader);
    if (fd >= 0)
        close(fd);
    return found;
}

/* The environment with LD_TRACE_LOADED_OBJECTS, and without variables that make the loader print
 * more. The caller frees the array; its texts are borrowed. */
static char **listing_environment(char *const *envp)
{
    static char listing[] = "LD_TRACE_LOADED_OBJECTS=1";
    size_t count = 0, kept = 0;
    while (envp[count])
        count++;
    char **own = xcalloc(count + 2, sizeof *own);
    for (size_t i = 0; i < count; i++)
        if (strncmp(envp[i], "LD_TRACE_", 9) != 0 && strncmp(envp[i], "LD_DEBUG", 8) != 0 &&
            strncmp(envp[i], "LD_WARN=", 8) != 0 && strncmp(envp[i], "LD_VERBOSE=", 11) != 0)
            own[kept++] = envp[i];
    own[kept] = listing;
    return own;
}

/* The loader's output about the program, or nothing. */
static void list_libraries(const char *loader, const char *path, char *const *envp,
                           uint32_t timeout_ms, struct text_buffer *list)
{
    char *argv[] = { xstrdup(loader), xstrdup(path), NULL };
    char **own = listing_environment(envp);
    if (!program_output_read(loader, argv, own, timeout_ms, list, NULL))
        list->length = 0;
    free(own);
    free(argv[0]);
    free(argv[1]);
}

/* The line without its end, "\tlibhvd.so.0 => not found". */
static void program_libraries_read_line(struct program_libraries *libraries, const char *line,
                                        size_t length)
{
    static const char lost[] = " => not found";
    const size_t tail = sizeof lost - 1;
    size_t blanks = strspn(line, " \t");
    if (length < blanks + tail || memcmp(line + length - tail, lost, tail) != 0)
        return;
    struct shown shown;
    const char *name = show_token(&shown, line + blanks, length - tail - blanks);
    if (libraries->count++ == 0)
        snprintf(libraries->missing, sizeof libraries->missing, "%.*s", LIBRARY_NAME_SIZE - 1,
                 name);
}

void program_libraries_look(struct program_libraries *libraries, const char *path,
                            char *const *envp, uint32_t timeout_ms)
{
    struct text_buffer list = { 0 };
    char loader[PATH_MAX];
    *libraries = (struct program_libraries){ 0 };
    if (!find_loader(path, loader, sizeof loader))
        return;
    list_libraries(loader, path, envp, timeout_ms, &list);
    text_buffer_put_string(&list, "\n");
    char *text = text_buffer_take(&list);
    for (char *at = text; *at; at += strcspn(at, "\n") + 1)
        program_libraries_read_line(libraries, at, strcspn(at, "\n"));
    free(text);
}

bool program_libraries_tell(const struct program_libraries *libraries, const char *program,
                            char *text, size_t size)
{
    char more[32] = "";
    struct shown shown;
    if (libraries->count > 1)
        snprintf(more, sizeof more, " and %d more", libraries->count - 1);
    snprintf(text, size,
             "'%s' needs %s%s, not found here: link it with -Wl,-rpath,DIR, give -x "
             "LD_LIBRARY_PATH=DIR, or run ldconfig",
             show_token(&shown, program, strlen(program)), libraries->missing, more);
    return libraries->count > 0;
}
