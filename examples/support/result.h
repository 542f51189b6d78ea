/* SPDX-License-Identifier: Apache-2.0 */
/* The last line of an example, for scripts: "result name=value name=value ...", on rank 0 alone.
 *
 *     struct result result;
 *     result_begin(&result);
 *     result_integer(&result, "ranks", hvd_size());
 *     result_real(&result, "accuracy", "%.4f", accuracy);
 *     result_print(&result);
 *
 * Names that several programs use, in this order: ranks; mode, model, operation, epochs, steps
 * (what was done); error (the largest over the ranks), loss, accuracy, images_per_s, efficiency;
 * wrong (results that are not what they must be); identical=yes when all ranks hold the same
 * parameters to the bit, else no; bytes_sent (by all ranks together). */
#ifndef EXAMPLES_SUPPORT_RESULT_H
#define EXAMPLES_SUPPORT_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct result {
    char line[1024]; /* what does not fit any more is left out */
    size_t length;
};

void result_begin(struct result *result);
void result_text(struct result *result, const char *name, const char *value);
void result_integer(struct result *result, const char *name, int64_t value);
void result_real(struct result *result, const char *name, const char *format, double value)
    __attribute__((format(printf, 3, 0)));
void result_yes_no(struct result *result, const char *name, bool value);

/* On standard output if this is rank 0. */
void result_print(const struct result *result);

#endif
