/* SPDX-License-Identifier: Apache-2.0 */
/* Names to numbers; see timeline_names.h. */
#include "lib/timeline/timeline_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a. */
static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

/* The place of the name, or the free place where it belongs. There always is one. */
static struct timeline_name *timeline_names_place(struct timeline_name *at, size_t capacity,
                                                  const char *text, uint32_t hash)
{
    size_t i = hash & (capacity - 1);
    while (at[i].text && (at[i].hash != hash || strcmp(at[i].text, text) != 0))
        i = (i + 1) & (capacity - 1);
    return &at[i];
}

struct timeline_name *timeline_names_find(const struct timeline_names *names, const char *text)
{
    if (names->capacity == 0)
        return NULL;
    struct timeline_name *name =
        timeline_names_place(names->at, names->capacity, text, hash_of(text));
    return name->text ? name : NULL;
}

/* Moves the names into a new table, all names or only those with open spans. */
static bool rebuild(struct timeline_names *names, size_t capacity, bool forget)
{
    struct timeline_name *at = calloc(capacity, sizeof *at);
    if (!at)
        return false;
    for (size_t i = 0; i < names->capacity; i++) {
        struct timeline_name *name = &names->at[i];
        if (!name->text)
            continue;
        if (forget && name->depth == 0) {
            free(name->text);
            names->count--;
        } else
            *timeline_names_place(at, capacity, name->text, name->hash) = *name;
    }
    free(names->at);
    names->at = at;
    names->capacity = capacity;
    return true;
}

static bool timeline_names_make_room(struct timeline_names *names)
{
    if (names->count == TIMELINE_NAMES_MAX)
        return rebuild(names, names->capacity, true) && names->count < TIMELINE_NAMES_MAX;
    if (2 * (names->count + 1) > names->capacity)
        return rebuild(names, names->capacity ? 2 * names->capacity : 64, false);
    return true;
}

struct timeline_name *timeline_names_add(struct timeline_names *names, const char *text)
{
    if (!timeline_names_make_room(names))
        return NULL;
    char *copy = strdup(text);
    if (!copy)
        return NULL;
    uint32_t hash = hash_of(text);
    struct timeline_name *name = timeline_names_place(names->at, names->capacity, text, hash);
    *name = (struct timeline_name){ .text = copy, .hash = hash, .number = ++names->last };
    names->count++;
    return name;
}

void timeline_names_fini(struct timeline_names *names)
{
    for (size_t i = 0; i < names->capacity; i++)
        free(names->at[i].text);
    free(names->at);
    *names = (struct timeline_names){ 0 };
}
