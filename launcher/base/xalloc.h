/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for the programs. None of these returns NULL: without memory a launcher can neither go on
 * nor explain itself, so they write "PROGRAM: out of memory" to stderr and end the process with
 * status 71. Not for the library, which is a guest. free() releases the memory. */
#ifndef LAUNCHER_BASE_XALLOC_H
#define LAUNCHER_BASE_XALLOC_H

#include <stddef.h>

enum { EXIT_OUT_OF_MEMORY = 71 };

/* Ends the program, as all functions here do when there is no memory. */
_Noreturn void xalloc_failed(void);

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t size);

/* As xrealloc() for `count` elements; a product that overflows counts as out of memory. */
void *xreallocarray(void *old, size_t count, size_t size);

/* xstrdup(NULL) is NULL. */
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t length);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
