/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, or the end of the process; see xalloc.h. The process ends by _exit(): no handler of
 * exit() may ask for memory again. */
#include "launcher/base/xalloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void xalloc_failed(void)
{
    char message[64];
    int length =
        snprintf(message, sizeof message, "%.32s: out of memory\n", program_invocation_short_name);
    ssize_t ignored = write(STDERR_FILENO, message, (size_t)length);
    (void)ignored;
    _exit(EXIT_OUT_OF_MEMORY);
}

static void *or_end(void *memory)
{
    if (!memory)
        xalloc_failed();
    return memory;
}

void *xmalloc(size_t size)
{
    return or_end(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
    return or_end(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *old, size_t size)
{
    return or_end(realloc(old, size ? size : 1));
}

void *xreallocarray(void *old, size_t count, size_t size)
{
    return or_end(reallocarray(old, count ? count : 1, size ? size : 1));
}

char *xstrdup(const char *text)
{
    return text ? or_end(strdup(text)) : NULL;
}

char *xstrndup(const char *text, size_t length)
{
    return or_end(strndup(text, length));
}

char *xasprintf(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    return or_end(length < 0 ? NULL : text);
}
