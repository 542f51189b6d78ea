/* SPDX-License-Identifier: Apache-2.0 */
/* The mapping of ranks to nodes; see pmi_mapping.h. */
#include "lib/pmi/pmi_mapping.h"

#include "lib/base/rank_info.h"

#include <string.h>

enum { MAPPING_BLOCKS_MAX = 256 };

struct mapping_block {
    int first, nodes, ranks;
};

/* A number from `low` to WORLD_SIZE_MAX. */
static bool mapping_number(const char **at, int low, int *number)
{
    const char *begin = *at;
    *number = 0;
    for (; **at >= '0' && **at <= '9' && *number <= WORLD_SIZE_MAX; (*at)++)
        *number = 10 * *number + (**at - '0');
    return *at > begin && *number >= low && *number <= WORLD_SIZE_MAX;
}

static bool mapping_text(const char **at, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(*at, text, length) != 0)
        return false;
    *at += length;
    return true;
}

/* The number of blocks; 0 for a text that is no mapping. */
static int mapping_read(struct mapping_block blocks[MAPPING_BLOCKS_MAX], const char *text)
{
    int count = 0;
    bool good = mapping_text(&text, "(vector");
    while (good && mapping_text(&text, ",(") && count < MAPPING_BLOCKS_MAX) {
        struct mapping_block *block = &blocks[count++];
        good = mapping_number(&text, 0, &block->first) && mapping_text(&text, ",") &&
               mapping_number(&text, 1, &block->nodes) && mapping_text(&text, ",") &&
               mapping_number(&text, 1, &block->ranks) && mapping_text(&text, ")");
    }
    return good && strcmp(text, ")") == 0 ? count : 0;
}

/* A walk along the ranks. */
struct mapping_walk {
    const struct mapping_block *blocks;
    int count, block, node, rank; /* the position: a block, a node in it, a rank on that */
};

/* The node of the next rank. */
static int mapping_next(struct mapping_walk *walk)
{
    const struct mapping_block *block = &walk->blocks[walk->block];
    int node = block->first + walk->node;
    if (++walk->rank == block->ranks) {
        walk->rank = 0;
        walk->node++;
    }
    if (walk->node == block->nodes) {
        walk->node = 0;
        walk->block = (walk->block + 1) % walk->count;
    }
    return node;
}

bool pmi_mapping_place(const char *text, int rank, int size, int *local_rank, int *local_size)
{
    struct mapping_block blocks[MAPPING_BLOCKS_MAX];
    struct mapping_walk walk = { .blocks = blocks, .count = mapping_read(blocks, text) };
    if (walk.count == 0)
        return false;
    int own = 0, before = 0, all = 0;
    for (int i = 0; i <= rank; i++)
        own = mapping_next(&walk);
    walk = (struct mapping_walk){ .blocks = blocks, .count = walk.count };
    for (int i = 0; i < size; i++) {
        bool here = mapping_next(&walk) == own;
        before += here && i < rank;
        all += here;
    }
    *local_rank = before;
    *local_size = all;
    return true;
}
