/* SPDX-License-Identifier: Apache-2.0 */
/* A model for tests of optimizers, in a rank: parameters of several types and sizes, and an update
 * that takes the gradients from them. */
#ifndef TESTS_SUPPORT_MODEL_H
#define TESTS_SUPPORT_MODEL_H

#include "lib/hvd_optimizer.h"

#include <stddef.h>

/* float32 [2, 3]; float32 [3]; float64, a scalar; float32 [20000], too large to travel with the
 * agreement; bfloat16 [5]; float32 [0, 4], without memory. */
enum { MODEL_W, MODEL_B, MODEL_SCALE, MODEL_LARGE, MODEL_HALF, MODEL_EMPTY, MODEL_PARAMETERS };

enum { MODEL_LARGE_COUNT = 20000 };

struct model {
    struct hvd_parameter parameters[MODEL_PARAMETERS];
    float w[2][6], b[2][3]; /* data, gradients */
    double scale[2];
    float large[2][MODEL_LARGE_COUNT];
    uint16_t half[2][5];
    int updates; /* so many calls */
    int result;  /* of the next */
};

/* All data is 100, all gradients are 0. */
void model_init(struct model *model);

/* An hvd_update_fn: data -= gradient. */
int model_update(void *model);

struct hvd_optimizer *model_optimizer(struct model *model,
                                      const struct hvd_optimizer_options *options);

/* Whether an optimizer can be made: with another parameter at a place, unless it is NULL. The
 * status of hvd_optimizer_create(). */
int model_try(struct model *model, const struct hvd_optimizer_options *options, int place,
              const struct hvd_parameter *parameter);

/* Likewise, for a table of cases: what is asked for, and what the text is, behind "optimizer: ". */
struct model_case {
    struct hvd_optimizer_options options;
    int place;
    const struct hvd_parameter *parameter;
    const char *text;
};

/* That the last error is `head` and then the text of the case. */
void model_require_text(const char *head, const struct model_case *expected);

/* Each case is rank 1's own mistake and the others' mismatch; or, in a world of one rank, its own.
 * In the end an optimizer can be made. */
void model_require_mistakes(struct model *model, const struct model_case *cases, int count);

/* All elements of a gradient; of all. Multiples of 1/8 from -16 to 16 are what bfloat16 has. */
void model_set(struct model *model, int parameter, double value);
void model_set_all(struct model *model, double value);

/* Sets a gradient and says that it is ready; all, the last first, as in backpropagation. */
void model_ready(struct model *model, struct hvd_optimizer *optimizer, int parameter, double value);
void model_ready_all(struct model *model, struct hvd_optimizer *optimizer, double value);

/* That all elements of a gradient, of all gradients, of all data have a value. */
void model_require(const struct model *model, int parameter, double value);
void model_require_all(const struct model *model, double value);
void model_require_data(const struct model *model, double value);

#endif
