/* SPDX-License-Identifier: Apache-2.0 */
/* Stops of the tour: a row for each, with what Horovod calls it, what libhvd calls it, and the
 * function that makes the call, says what came back and checks it. */
#ifndef EXAMPLES_API_TOUR_H
#define EXAMPLES_API_TOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hvd.h"
#include "hvd_training.h"

struct accelerator;
struct problem;

/* What one stop leaves behind for the next. */
struct tour {
    int rank, size;
    long seed;
    struct problem *problem; /* borrowed; there is one when another rank is lost */
    int64_t handle;          /* of what is in flight */
    struct hvd_result result;
    float *input, *output;       /* owned; room for TOUR_ROOM elements, and as many for each rank */
    int64_t *splits;             /* owned; one for each rank */
    float *shared;               /* memory that ranks of a host share */
    int process_set;             /* of the ranks with even numbers */
    char folder[200], file[220]; /* a private folder, and a file in it */
    float weight[2], gradient[2];
    struct hvd_optimizer *optimizer;
    struct hvd_sampler *sampler;
    struct accelerator *accelerator;
    int device;
    void *on_device; /* its memory */

    const char *call; /* of the stop */
    char said[120];   /* what it returned */
    bool is_wrong;
};

enum { TOUR_ROOM = 16 };

struct tour_row {
    const char *horovod, *libhvd;
    void (*visit)(struct tour *tour, int arg);
    int arg;
};

struct tour_part {
    const char *title;
    const struct tour_row *rows;
    size_t row_count;
};

extern const struct tour_part tour_world, tour_reductions, tour_moves, tour_sets, tour_optimizer,
    tour_training, tour_elastic, tour_device, tour_end;

/* Says more about what came back; commas come by themselves. */
void tour_say(struct tour *tour, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What came back is not what it must be. */
void tour_expect(struct tour *tour, bool right);

/* Says a status, which must not be a failure. Returns whether it is none. The tour is over when it
 * says that another rank is lost. */
bool tour_status(struct tour *tour, int status);

/* Says a number, which must be the expected one. */
void tour_number(struct tour *tour, double number, double expected);

/* Says up to TOUR_ROOM elements, each of which must be `first`, `first + step` and so on. */
void tour_elements(struct tour *tour, const float *elements, int count, double first, double step);

/* The tour's input: `first`, `first + step` and so on. */
float *tour_numbers(struct tour *tour, int count, double first, double step);

/* `rows` elements in one dimension; all of it is borrowed. */
struct hvd_tensor tour_tensor(const char *name, const float *input, float *output,
                              const int64_t *rows);

#endif
