/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands of the worker; see collectives.h. */
#include "tests/support/collectives.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int my_rank = -1, world_size;

void require(bool condition, const char *format, ...)
{
    if (condition)
        return;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "collectives: rank %d of %d: %s (last error: %s)\n", my_rank, world_size, text,
            hvd_last_error());
    _exit(1);
}

void *room(size_t nbytes)
{
    void *memory = calloc(nbytes + 1, 1);
    require(memory, "out of memory for %zu bytes", nbytes);
    return memory;
}

void join_world(void)
{
    require(hvd_init() == HVD_OK, "hvd_init");
    my_rank = hvd_rank();
    world_size = hvd_size();
}

void finish(int64_t handle, struct hvd_result *result, const char *what)
{
    int rc = result ? hvd_wait_result(handle, result) : hvd_wait(handle);
    require(rc == HVD_OK, "%s: %s", what, hvd_strstatus(rc));
}

void check_world_works(const char *after)
{
    int32_t sum = my_rank + 1;
    int rc = hvd_allreduce("works", &sum, &sum, 1, HVD_INT32, HVD_SUM);
    require(rc == HVD_OK, "an allreduce after %s: %s", after, hvd_strstatus(rc));
    require(sum == world_size * (world_size + 1) / 2, "an allreduce after %s gave %d", after, sum);
}

const char *type_name(enum hvd_dtype dtype)
{
    static const char *const names[] = {
        [HVD_UINT8] = "uint8",     [HVD_INT8] = "int8",         [HVD_UINT16] = "uint16",
        [HVD_INT16] = "int16",     [HVD_INT32] = "int32",       [HVD_INT64] = "int64",
        [HVD_FLOAT16] = "float16", [HVD_FLOAT32] = "float32",   [HVD_FLOAT64] = "float64",
        [HVD_BOOL] = "bool",       [HVD_BFLOAT16] = "bfloat16",
    };
    return names[dtype];
}

bool is_floating(enum hvd_dtype dtype)
{
    return dtype == HVD_FLOAT16 || dtype == HVD_BFLOAT16 || dtype == HVD_FLOAT32 ||
           dtype == HVD_FLOAT64;
}

static const struct {
    const char *name;
    void (*test)(int argc, char **argv);
} tests[] = {
    { "matrix", test_matrix }, { "scales", test_scales }, { "shapes", test_shapes },
    { "order", test_order },   { "sets", test_sets },     { "errors", test_errors },
    { "join", test_join },     { "huge", test_huge },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < LENGTH(tests); i++) {
        if (strcmp(argv[1], tests[i].name) != 0)
            continue;
        tests[i].test(argc - 2, argv + 2);
        require(hvd_shutdown() == HVD_OK, "hvd_shutdown");
        printf("ok %s\n", argv[1]);
        return 0;
    }
    fprintf(stderr, "usage: collectives matrix [TYPE...]|scales|shapes|order "
                    "SEED|sets|errors|join|huge BITS\n");
    return 2;
}
