/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the shared libraries of a program are found by its own dynamic loader: by rpath,
 * LD_LIBRARY_PATH, ldconfig's cache, and in turn the libraries that these need. */
#ifndef LAUNCHER_PROCESS_PROGRAM_LIBRARIES_H
#define LAUNCHER_PROCESS_PROGRAM_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes of a library's name in a message. */
enum { LIBRARY_NAME_SIZE = 68 };

struct program_libraries {
    char missing[LIBRARY_NAME_SIZE]; /* the first one that is not found; "" if none is known of */
    int count;                       /* how many are not found */
};

/* Asks the loader of the program in `path` about it, with the environment `envp` that the program will
 * have. The program itself does not run. Blocks for at most `timeout_ms`; the child may be left for the
 * caller's waitpid(-1). Nothing is missing, as far as anybody knows, of a script, a program without a
 * loader, with one that is not glibc's, or with more rights than its caller, and when the loader does
 * not answer. */
void program_libraries_look(struct program_libraries *libraries, const char *path,
                            char *const *envp, uint32_t timeout_ms);

/* "'./train' needs libhvd.so.0, which is not found here: ...", with what mends it, if something is
 * missing: true. */
bool program_libraries_tell(const struct program_libraries *libraries, const char *program,
                            char *text, size_t size);

#endif
