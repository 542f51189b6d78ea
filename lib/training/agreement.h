/* SPDX-License-Identifier: Apache-2.0 */
/* Lets the ranks of a process set agree before they go on: whether one of them has made a mistake,
 * and whether they have the same arguments. These are collectives; all ranks of the set call them,
 * in the same order. When the world is broken, or there is no world, they fail with that error; but
 * a rank with a mistake (HVD_ERR_INVALID) gets its own error.
 *
 * `what` names the call, e.g. "optimizer", in the names of tensors: "hvd.optimizer.mistake",
 * which no tensor of a program's own may have; NULL: they are nameless. At any time, at most one
 * call under a name is in flight. Texts do not contain `what`: the caller puts its own prefix in
 * front. */
#ifndef LIB_TRAINING_AGREEMENT_H
#define LIB_TRAINING_AGREEMENT_H

#include "lib/base/status.h"

/* `own` is this rank's own result: HVD_OK, or a mistake. Returns HVD_OK if all ranks have HVD_OK.
 * Otherwise a rank with a mistake gets its own mistake back, and every other rank HVD_ERR_MISMATCH
 * with the text of the lowest rank that has one: "rank 2: parameter 'w': ...". */
int agreement_complete(const char *what, int process_set, const struct err *own, struct err *err);

/* Every rank passes lines of text, each ended by a newline, in the same order; the first word of a
 * line is the name of its subject. If any rank's lines differ from those of the set's first rank,
 * every rank gets HVD_ERR_MISMATCH and a text about the first different line of the lowest rank
 * that differs. Both have the name, or have the same lines in another order:
 * "rank 3 has 'conv1.weight float32 [3, 3]', rank 0 has 'conv1.weight float32 [5, 5]'"; only the
 * first has it: "rank 3 lacks 'bias float32 [3]', which rank 0 has"; only the other has it:
 * "rank 3 has 'bias float32 [3]', rank 0 does not". */
int agreement_compare(const char *what, int process_set, const char *lines, struct err *err);

/* Both in one message when all is well: first as agreement_complete(), then as agreement_compare().
 * Ignores `lines` on a rank with a mistake. */
int agreement_conclude(const char *what, int process_set, const struct err *own, const char *lines,
                       struct err *err);

#endif
