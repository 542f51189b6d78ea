/* SPDX-License-Identifier: Apache-2.0 */
/* The closest name, by edit distance; see suggestion.h. Never fails. */
#include "src/options/suggestion.h"

#include <string.h>

enum { WORD_MAX = 64, NAME_SEEN = 63 };

static int min_of(int a, int b)
{
    return a < b ? a : b;
}

/* The number of bytes to insert, remove or change to turn `a` into `b`; `b` is short. */
static int edit_distance(struct slice a, const char *b)
{
    int row[NAME_SEEN + 1];
    int length = min_of((int)strlen(b), NAME_SEEN);
    for (int j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; i < a.length; i++) {
        int diagonal = row[0]++;
        for (int j = 1; j <= length; j++) {
            int changed = diagonal + (a.at[i] != b[j - 1]);
            diagonal = row[j];
            row[j] = min_of(changed, 1 + min_of(row[j], row[j - 1]));
        }
    }
    return row[length];
}

struct suggestion suggestion_for(struct slice word)
{
    return (struct suggestion){ .word = word,
                                .distance =
                                    word.length <= WORD_MAX ? (int)word.length / 3 + 1 : 0 };
}

void suggestion_try(struct suggestion *suggestion, const char *name)
{
    int distance = suggestion->distance > 0 ? edit_distance(suggestion->word, name) : 0;
    if (distance >= suggestion->distance)
        return;
    suggestion->distance = distance;
    suggestion->name = name;
}
