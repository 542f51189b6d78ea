/* SPDX-License-Identifier: Apache-2.0 */
/* Workers by host; see host_groups.h. Sorted twice: by name, which shows where each host begins,
 * and then by those beginnings. */
#include "rendezvous/base/host_groups.h"

#include "lib/hvd.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct worker {
    const char *name;
    int index;
    int first; /* the lowest index of its host */
};

static int host_groups_by_name(const void *a, const void *b)
{
    const struct worker *one = a, *other = b;
    int order = one->name == other->name ? 0 : strcmp(one->name, other->name);
    return order ? order : one->index - other->index;
}

static int by_first(const void *a, const void *b)
{
    const struct worker *one = a, *other = b;
    return one->first != other->first ? one->first - other->first : one->index - other->index;
}

static void sort(struct worker *workers, const char *const *names, int size)
{
    for (int i = 0; i < size; i++)
        workers[i] = (struct worker){ .name = names[i], .index = i };
    qsort(workers, (size_t)size, sizeof *workers, host_groups_by_name);
    for (int i = 0; i < size; i++) {
        bool same = i > 0 && strcmp(workers[i].name, workers[i - 1].name) == 0;
        workers[i].first = same ? workers[i - 1].first : workers[i].index;
    }
    qsort(workers, (size_t)size, sizeof *workers, by_first);
}

int host_groups_init(struct host_groups *groups, const char *const *names, int size)
{
    struct worker *workers = calloc((size_t)size + 1, sizeof *workers);
    *groups = (struct host_groups){ .order = calloc((size_t)size + 1, sizeof(int)),
                                    .starts = calloc((size_t)size + 1, sizeof(int)) };
    if (!workers || !groups->order || !groups->starts) {
        free(workers);
        host_groups_fini(groups);
        return HVD_ERR_NOMEM;
    }
    sort(workers, names, size);
    for (int i = 0; i < size; i++) {
        groups->order[i] = workers[i].index;
        if (i == 0 || workers[i].first != workers[i - 1].first)
            groups->starts[groups->count++] = i;
    }
    groups->starts[groups->count] = size;
    free(workers);
    return HVD_OK;
}

void host_groups_fini(struct host_groups *groups)
{
    free(groups->order);
    free(groups->starts);
    *groups = (struct host_groups){ 0 };
}
