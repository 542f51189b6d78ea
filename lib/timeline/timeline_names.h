/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a timeline, each with a number of its own, from 1 on in order of first use.
 *
 * A known name is found without allocating. There are at most TIMELINE_NAMES_MAX names: when the
 * table is full, names without open spans are removed; a removed name that comes again gets a new
 * number. Fails by returning NULL: out of memory, or too many names with open spans. */
#ifndef LIB_TIMELINE_TIMELINE_NAMES_H
#define LIB_TIMELINE_TIMELINE_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum { TIMELINE_NAMES_MAX = 1 << 16 };

struct timeline_name {
    char *text; /* NULL: a free place */
    uint32_t hash;
    uint32_t number;
    uint32_t depth; /* open spans */
};

struct timeline_names {
    struct timeline_name *at; /* open addressing, at most half full */
    size_t capacity, count;   /* capacity: 0 or a power of two */
    uint32_t last;            /* number given out */
};

/* The name, borrowed until the next call; NULL if it is not known. */
struct timeline_name *timeline_names_find(const struct timeline_names *names, const char *text);

/* Adds a name that is not known yet. */
struct timeline_name *timeline_names_add(struct timeline_names *names, const char *text);

void timeline_names_fini(struct timeline_names *names);

#endif
