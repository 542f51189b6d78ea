/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean ...?": the known name that is closest to an unknown word. */
#ifndef SRC_OPTIONS_SUGGESTION_H
#define SRC_OPTIONS_SUGGESTION_H

#include "launcher/base/slice.h"

struct suggestion {
    struct slice word; /* borrowed */
    const char *name;  /* the best so far, borrowed; NULL if none is near */
    int distance;
};

/* Begins. A name is near the word if they differ in less than a third of the bytes, roughly. No
 * name is near a word of more than 64 bytes. */
struct suggestion suggestion_for(struct slice word);

void suggestion_try(struct suggestion *suggestion, const char *name);

#endif
