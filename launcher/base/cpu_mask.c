/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of processors; see cpu_mask.h. Where the kernel does not report the processors of this
 * process, the set is processor 0. */
#include "launcher/base/cpu_mask.h"

#include "launcher/base/xalloc.h"

#include <sched.h>
#include <stdlib.h>

enum {
    WORD_BITS = 8 * (int)sizeof(unsigned long),
    WORDS_MIN = 1024 / WORD_BITS,
    WORDS_MAX = 1 << 14
};

/* A set that is too small for this machine is refused with EINVAL. */
void cpu_mask_own(struct cpu_mask *mask)
{
    for (size_t nwords = WORDS_MIN; nwords <= WORDS_MAX; nwords *= 2) {
        *mask = (struct cpu_mask){ xcalloc(nwords, sizeof *mask->words), nwords };
        if (sched_getaffinity(0, nwords * sizeof *mask->words, (cpu_set_t *)mask->words) == 0)
            return;
        cpu_mask_fini(mask);
    }
    *mask = (struct cpu_mask){ xcalloc(1, sizeof *mask->words), 1 };
    mask->words[0] = 1;
}

int cpu_mask_count(const struct cpu_mask *mask)
{
    int count = 0;
    for (size_t i = 0; i < mask->nwords; i++)
        count += __builtin_popcountl(mask->words[i]);
    return count;
}

int cpu_mask_count_own(void)
{
    struct cpu_mask own;
    cpu_mask_own(&own);
    int count = cpu_mask_count(&own);
    cpu_mask_fini(&own);
    return count;
}

static bool has(const struct cpu_mask *mask, int cpu)
{
    return mask->words[cpu / WORD_BITS] >> cpu % WORD_BITS & 1;
}

bool cpu_mask_next(const struct cpu_mask *mask, int *first, int *end)
{
    int limit = (int)mask->nwords * WORD_BITS;
    while (*first < limit && !has(mask, *first))
        ++*first;
    for (*end = *first; *end < limit && has(mask, *end);)
        ++*end;
    return *first < limit;
}

void cpu_mask_fini(struct cpu_mask *mask)
{
    free(mask->words);
    *mask = (struct cpu_mask){ 0 };
}
