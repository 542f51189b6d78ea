/* SPDX-License-Identifier: Apache-2.0 */
/* Part of a text that is not terminated, for parsers. Borrowed from the owner of the text. */
#ifndef LAUNCHER_BASE_SLICE_H
#define LAUNCHER_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>

struct slice {
    const char *at;
    size_t length;
};

static inline struct slice slice_between(const char *start, const char *end)
{
    return (struct slice){ start, (size_t)(end - start) };
}

static inline const char *slice_end(struct slice slice)
{
    return slice.at + slice.length;
}

static inline bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* Returns the slice without the spaces and tabs around it. */
static inline struct slice slice_trim(struct slice slice)
{
    while (slice.length > 0 && is_blank(slice_end(slice)[-1]))
        slice.length--;
    while (slice.length > 0 && is_blank(*slice.at))
        slice = slice_between(slice.at + 1, slice_end(slice));
    return slice;
}

#endif
