/* SPDX-License-Identifier: Apache-2.0 */
/* Whose state wins when the ranks of a new world meet; without I/O.
 *
 * Each rank holds at most one commit, with a stamp: the epoch of the world in which it was made,
 * and its number there. The commit number 0 of a world is what all ranks hold after they have
 * synchronised. Ranks with equal stamps hold equal states.
 *
 * Commits of one world may differ by one between its ranks when that world breaks: a rank that was
 * slower has not made the last commit yet. The newest commit wins, because some rank may have told
 * a user of it. A later epoch is newer whatever its number, because it went on from the newest
 * commit that was left: a rank that was cut off has a commit that the others have gone past in
 * another way. Of several ranks with the newest commit the lowest sends it, which is the oldest
 * worker. */
#ifndef LIB_TRAINING_ELASTIC_STAMP_H
#define LIB_TRAINING_ELASTIC_STAMP_H

#include <stdbool.h>
#include <stdint.h>

enum { ELASTIC_EPOCH_NONE = -1 };

struct elastic_stamp {
    int64_t epoch; /* ELASTIC_EPOCH_NONE: holds no commit */
    int64_t commit;
};

/* Negative, 0 or positive, as `a` is older than `b`, equal, or newer. */
int elastic_stamp_compare(const struct elastic_stamp *a, const struct elastic_stamp *b);

/* The lowest rank that holds the newest commit; -1 if no rank holds any. stamps[r] is rank r's. */
int elastic_stamp_root(const struct elastic_stamp *stamps, int size);

/* True if some rank holds another commit than rank `root`, or none. */
bool elastic_stamp_differs(const struct elastic_stamp *stamps, int size, int root);

#endif
