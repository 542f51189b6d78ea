/* SPDX-License-Identifier: Apache-2.0 */
/* Agreement among the ranks, by reductions over one or two integers.
 *
 * When a collective fails there is no agreement to be had: each rank that notices prints its own
 * line and ends with status 1. */
#include "examples/support/agreement.h"

#include <stdint.h>
#include <stdio.h>

#include "examples/support/hash.h"
#include "hvd.h"

int problem_from_hvd(struct problem *problem, const char *what)
{
    problem->world_broke = true;
    int rank = hvd_rank();
    const char *reason = hvd_last_error();
    return problem_set(problem, EXIT_STATUS_DATA, "rank %d: %s: %s", rank, what, reason);
}

int problem_from_hvd_status(struct problem *problem, int status, const char *what)
{
    if (problem->exit_status == 0)
        problem->hvd_status = status;
    return problem_from_hvd(problem, what);
}

int agree_to_go_on(const char *program, const struct problem *problem)
{
    if (problem->world_broke)
        return problem_print(program, problem);
    struct problem broken = { 0 };
    int rank = hvd_rank();
    int64_t mine = problem->exit_status == 0 ? INT64_MAX : rank * 256 + problem->exit_status;
    int64_t first = INT64_MAX;
    if (hvd_allreduce("problem", &mine, &first, 1, HVD_INT64, HVD_MIN) != HVD_OK) {
        problem_from_hvd(&broken, "agreeing to go on");
        return problem_print(program, problem->exit_status == 0 ? &broken : problem);
    }
    if (first == INT64_MAX)
        return 0;
    if (first / 256 == rank)
        problem_print(program, problem);
    hvd_barrier(); /* if it fails, this rank ends all the same */
    return (int)(first % 256);
}

int agree_on_bytes(const void *data, size_t size, struct problem *problem)
{
    uint64_t mine = hash_bytes(data, size), low = 0, high = 0;
    int rc = hvd_allreduce("hash.low", &mine, &low, 1, HVD_INT64, HVD_MIN);
    if (rc == HVD_OK)
        rc = hvd_allreduce("hash.high", &mine, &high, 1, HVD_INT64, HVD_MAX);
    if (rc != HVD_OK)
        return problem_from_hvd_status(problem, rc, "comparing the ranks' parameters");
    return low == high;
}
