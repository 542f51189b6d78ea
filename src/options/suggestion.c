/* SPDX-License-Identifier: Apache-2.0 */
/* The closest name, by edit distance; see suggestion.h. Never fails. */
#include "src/options/suggestion.h"

#include "lib/base/edit_distance.h"

enum { WORD_MAX = 64 };

struct suggestion suggestion_for(struct slice word)
{
    return (struct suggestion){ .word = word,
                                .distance =
                                    word.length <= WORD_MAX ? (int)word.length / 3 + 1 : 0 };
}

void suggestion_try(struct suggestion *suggestion, const char *name)
{
    int distance = suggestion->distance > 0
                       ? edit_distance(suggestion->word.at, suggestion->word.length, name)
                       : 0;
    if (distance >= suggestion->distance)
        return;
    suggestion->distance = distance;
    suggestion->name = name;
}
