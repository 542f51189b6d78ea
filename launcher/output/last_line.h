/* SPDX-License-Identifier: Apache-2.0 */
/* The last line of a stream that is not empty, in UTF-8 without control characters and terminal
 * sequences: fit to be quoted in a message, at most LAST_WORDS_MAX bytes, or as whole as it is
 * kept, LAST_WORDS_WHOLE. A longer line is cut, with "..." behind its beginning. Pure. */
#ifndef LAUNCHER_OUTPUT_LAST_WORDS_H
#define LAUNCHER_OUTPUT_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum { LAST_WORDS_MAX = 200, LAST_WORDS_WHOLE = 1024 };

/* All zero at the beginning. */
struct last_words {
    char current[LAST_WORDS_WHOLE + 1]; /* the line that is being read */
    char last[LAST_WORDS_WHOLE + 1];    /* the line before */
    char quoted[LAST_WORDS_MAX + 1];    /* the result of last_words_text() */
    size_t length;                      /* of `current` */
    bool in_escape;                     /* inside a terminal sequence */
    bool cut;                           /* the end of `current` was dropped */
};

void last_words_feed(struct last_words *words, const char *data, size_t length);

/* Borrowed; "" if there was no such line. last_words_text() is fit to be quoted, last_words_whole()
 * as whole as it is kept. */
const char *last_words_text(struct last_words *words);
const char *last_words_whole(struct last_words *words);

#endif
