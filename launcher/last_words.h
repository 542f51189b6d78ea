/* SPDX-License-Identifier: Apache-2.0 */
/* The last line with something in it that went by in a stream, fit to be quoted in a message: at
 * most LAST_WORDS_MAX bytes of UTF-8, without control characters and terminal sequences. Of a
 * longer one the beginning, with "..." behind it. Pure. */
#ifndef LAUNCHER_LAST_WORDS_H
#define LAUNCHER_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum { LAST_WORDS_MAX = 200 };

/* All zero to begin with. */
struct last_words {
    char current[LAST_WORDS_MAX + 1],
        last[LAST_WORDS_MAX + 1]; /* the line that goes by; the one before */
    size_t length;                /* of `current` */
    bool in_escape;               /* inside a terminal sequence */
    bool cut;                     /* there was more of `current` */
};

void last_words_feed(struct last_words *words, const char *data, size_t length);

/* Borrowed; "" if there was no such line. */
const char *last_words_text(struct last_words *words);

#endif
