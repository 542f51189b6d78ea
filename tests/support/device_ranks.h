/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks (ranks.h) that have a simulated accelerator each, and collectives that are done twice: in
 * host memory and in its memory, with the same result. */
#ifndef TESTS_SUPPORT_DEVICE_RANKS_H
#define TESTS_SUPPORT_DEVICE_RANKS_H

#include "examples/support/accelerator.h"
#include "lib/hvd.h"
#include "lib/negotiation/description.h"

#include <semaphore.h>
#include <stdbool.h>

/* This rank's, while there is one. */
extern struct accelerator *npu;
extern const struct hvd_device *npu_table;
extern int device;

/* Creates and registers it; `options` NULL: 64 MiB, as fast as it goes. The end: nothing is left of
 * it in the library, and nothing of the library's in it. */
void device_start(const struct accelerator_options *options);
void device_stop(void);

/* Memory of it, with a copy of what is at `host` unless that is NULL. */
void *device_put(const void *host, size_t nbytes);
void device_get(void *host, const void *memory, size_t nbytes);

/* Where trials get device memory; NULL: that of the accelerator. */
struct device_memory {
    void *(*alloc)(size_t nbytes);
    void (*free)(void *memory);
    void (*write)(void *memory, const void *host, size_t nbytes);
    void (*read)(void *host, const void *memory, size_t nbytes);
};
extern const struct device_memory *device_memory;

/* A tensor of integers that are all `value`, made by a kernel when it is let (`gate`). */
struct maker {
    sem_t gate;
    void *memory, *event;
    int64_t count, handle;
    int32_t value;
    char name[20];
    struct hvd_tensor tensor;
};

/* The device makes them in the order in which they are put there; the event stands for each. */
void maker_put_on_queue(struct maker *maker);

/* A collective of a tensor [rows, columns], whose contents depend on the rank. */
struct trial {
    enum collective_kind kind;
    enum hvd_dtype dtype;
    enum hvd_op op;
    int64_t rows, columns; /* allgather, alltoall: a few more rows on each rank than on the last */
    bool in_place;
    double prescale, postscale;
    int process_set;
    int root;
};

/* The bytes of the output, of malloc(). */
void *trial_run(const struct trial *trial, bool on_device, size_t *nbytes);

/* Requires that both are the same. */
void trial_check(const struct trial *trial);

#endif
