/* SPDX-License-Identifier: Apache-2.0 */
/* Elastic training without memory for the lines that ranks compare. Linked with
 * -Wl,--wrap=realloc. */
#include "lib/hvd_elastic.h"

#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <stdbool.h>

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static _Thread_local bool fails; /* the next realloc() of this thread */

void *__wrap_realloc(void *memory, size_t size)
{
    if (!fails)
        return __real_realloc(memory, size);
    fails = false;
    return NULL;
}

static int sync_without_memory(int rank)
{
    struct hvd_elastic_state *state;
    int64_t step = 0;
    const struct hvd_scalar value = { "step", &step, HVD_INT64 };
    init_world();
    REQUIRE_STATUS(hvd_elastic_create(NULL, &state), HVD_OK);
    REQUIRE_STATUS(hvd_elastic_add_values(state, &value, 1), HVD_OK);
    fails = rank == 1;
    REQUIRE_STATUS(hvd_elastic_sync(state), rank == 1 ? HVD_ERR_NOMEM : HVD_ERR_MISMATCH);
    REQUIRE(!fails);
    require_text(rank == 1 ? "out of memory" : "rank 1: out of memory");
    hvd_elastic_destroy(state);
    return leave_world();
}

START_TEST(a_rank_without_memory_for_its_lists_fails_and_the_others_are_told)
{
    ranks_run(&(struct mini_options){ .size = 2 }, sync_without_memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic_memory");
    TCase *tcase = tcase_create("elastic_memory");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, a_rank_without_memory_for_its_lists_fails_and_the_others_are_told);
    return unit_run(suite);
}
