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

/* Begins; the word is near what differs in less than a third of its bytes, roughly. To one of more
 * than 64 bytes nothing is near. */
struct suggestion suggestion_for(struct slice word);

void suggestion_try(struct suggestion *suggestion, const char *name);

#endif
