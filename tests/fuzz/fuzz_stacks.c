/* SPDX-License-Identifier: Apache-2.0 */
/* Where ranks stand, from what a debugger and Python print (launcher/process/stack_text.c) to the
 * lines that people read (launcher/job/stack_groups.c).
 *
 *   u8: ranks, of 1 to 8; then for each rank until the input ends: what its debugger has printed and
 *   what its Python has, and what its agent says instead (agent_stack, u8 rank)
 *
 * Whatever they print: no more threads and frames than may be kept, each of them with a name; where
 * a thread stands fits into its text, and is terminated; a report decodes to what was encoded; each
 * line that is told is printable, and is of ranks that exist; no rank that was heard is missing. */
#include "launcher/job/stack_groups.h"
#include "launcher/process/stack_text.h"
#include "launcher/protocol/agent_protocol.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 8, WHERE_SIZE = 1400 };

static size_t told;

static void on_line(void *context, const char *line)
{
    (void)context;
    fuzz_check_text(line);
    PROMISE(strncmp(line, "rank", 4) == 0);
    told++;
}

static void check_stacks(const struct stacks *stacks, bool native)
{
    char where[WHERE_SIZE];
    PROMISE(stacks->count <= STACK_THREADS_MAX);
    for (size_t i = 0; i < stacks->count; i++) {
        const struct stack_thread *thread = &stacks->threads[i];
        PROMISE(thread->frames.count <= STACK_FRAMES_MAX && thread->tid >= 0);
        for (size_t k = 0; k < thread->frames.count; k++)
            PROMISE(*thread->frames.items[k]);
        memset(where, 'x', sizeof where);
        stack_where(native ? thread : NULL, native ? NULL : thread, where, sizeof where);
        PROMISE(memchr(where, '\0', sizeof where));
    }
}

/* As an agent does, and hvdrun behind it. */
static void report(struct stack_groups *groups, int rank, const char *where)
{
    struct agent_stack stack = { .rank = rank }, again;
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    snprintf(stack.where, sizeof stack.where, "%s", where);
    agent_stack_encode(&writer, &stack);
    wire_reader_init(&reader, writer.data, writer.length);
    PROMISE(agent_stack_decode(&again, &reader, NULL) == HVD_OK);
    PROMISE(again.rank == rank && strcmp(again.where, stack.where) == 0);
    wire_writer_fini(&writer);
    stack_groups_add(groups, again.rank, again.where);
}

static void read_rank(struct fuzz_input *input, struct stack_groups *groups, int rank)
{
    struct stacks native = { .count = 0 }, python = { .count = 0 };
    char where[WHERE_SIZE];
    size_t nnative, npython;
    char *printed = (char *)fuzz_bytes(input, &nnative),
         *also = (char *)fuzz_bytes(input, &npython);
    if (nnative > 0)
        stacks_read_native(&native, printed, nnative);
    if (npython > 0)
        stacks_read_python(&python, also, npython);
    check_stacks(&native, true);
    check_stacks(&python, false);
    const struct stack_thread *last = python.count ? &python.threads[python.count - 1] : NULL;
    stack_where(native.count ? &native.threads[0] : NULL, last, where, sizeof where);
    if (*where)
        report(groups, rank, where);
    stacks_fini(&native);
    stacks_fini(&python);
    free(printed);
    free(also);
}

/* The body of a report, of an agent that may say anything. */
static void hear(struct fuzz_input *input, struct stack_groups *groups)
{
    struct agent_stack stack;
    struct wire_reader reader;
    size_t length;
    uint8_t *body = fuzz_bytes(input, &length);
    wire_reader_init(&reader, body, length);
    if (agent_stack_decode(&stack, &reader, NULL) == HVD_OK && stack.rank >= 0 &&
        stack.rank < groups->nranks)
        stack_groups_add(groups, stack.rank, stack.where);
    free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    struct stack_groups groups;
    size_t nheard = 0;
    int nranks = 1 + fuzz_u8(&input) % RANKS_MAX;
    stack_groups_init(&groups, nranks);
    for (int rank = 0; input.left > 0; rank = (rank + 1) % nranks) {
        read_rank(&input, &groups, rank);
        hear(&input, &groups);
    }
    for (int rank = 0; rank < nranks; rank++)
        nheard += groups.heard[rank];
    PROMISE(groups.count <= STACK_GROUPS_MAX);
    told = 0;
    stack_groups_tell(&groups, on_line, NULL);
    PROMISE((told > 0) == (nheard > 0));
    stack_groups_fini(&groups);
    return 0;
}
