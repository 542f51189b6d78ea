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
    char missing[LIBRARY_NAME_SIZE]; /* the first missing library; "" if none is known */
    int count;                       /* number of missing libraries */
};

/* Asks the loader of the program in `path` for missing libraries, with the environment `envp` that
 * the program will have. The program itself does not run. Blocks for at most `timeout_ms`; the
 * child may be left for the caller's waitpid(-1). Reports nothing missing for a script, a program
 * without a loader, with another loader than glibc's, or with more rights than its caller, and when
 * the loader does not answer. */
void program_libraries_look(struct program_libraries *libraries, const char *path,
                            char *const *envp, uint32_t timeout_ms);

/* If a library is missing, returns true and writes "'./train' needs libhvd.so.0, which is not found
 * here: ...", with a remedy. */
bool program_libraries_tell(const struct program_libraries *libraries, const char *program,
                            char *text, size_t size);

#endif
