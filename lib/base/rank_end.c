/* SPDX-License-Identifier: Apache-2.0 */
/* The record of an end on the wire; see rank_end.h. */
#include "lib/base/rank_end.h"

#include "lib/base/rank_info.h"
#include "lib/base/text.h"

#include <signal.h>
#include <sys/wait.h>

enum { CORE_DUMPED = 1, OOM = 2, BEFORE_INIT = 4, ALL_FLAGS = 7 };
enum { SHELL_SIGNAL = 128 };

void rank_end_set_late(struct rank_end *end, const struct late_ranks *late)
{
    end->late = *late;
    end->because_of = late->rank[0];
}

struct rank_end_how rank_end_how_of(int wait_status)
{
    if (WIFSTOPPED(wait_status))
        return (struct rank_end_how){ .kind = RANK_END_STOPPED, .code = WSTOPSIG(wait_status) };
    if (WIFSIGNALED(wait_status))
        return (struct rank_end_how){ .kind = RANK_END_KILLED,
                                      .code = WTERMSIG(wait_status),
                                      .core_dumped = WCOREDUMP(wait_status) };
    return (struct rank_end_how){ .kind = RANK_END_EXITED, .code = WEXITSTATUS(wait_status) };
}

int rank_end_exit_status(const struct rank_end_how *how)
{
    switch (how->kind) {
    case RANK_END_EXITED:
        return how->code;
    case RANK_END_KILLED:
    case RANK_END_STOPPED:
        return SHELL_SIGNAL + how->code;
    default:
        return -1;
    }
}

void rank_end_encode(struct wire_writer *writer, const struct rank_end *end)
{
    wire_put_u8(writer, (uint8_t)end->how.kind);
    wire_put_u8(writer, (uint8_t)((end->how.core_dumped ? CORE_DUMPED : 0) |
                                  (end->how.oom ? OOM : 0) | (end->before_init ? BEFORE_INIT : 0)));
    wire_put_u8(writer, (uint8_t)end->collective);
    wire_put_i32(writer, end->how.code);
    wire_put_i32(writer, end->status);
    wire_put_i32(writer, end->rank);
    wire_put_i32(writer, end->because_of);
    wire_put_u64(writer, end->at_us);
    wire_put_string(writer, end->host);
    wire_put_string(writer, end->tensor);
    wire_put_string(writer, end->words);
    if (end->how.kind == RANK_END_TIMEOUT)
        late_ranks_encode(writer, &end->late);
}

static bool has_possible_code(const struct rank_end_how *how)
{
    switch (how->kind) {
    case RANK_END_EXITED:
        return how->code >= 0 && how->code <= 255;
    case RANK_END_KILLED:
    case RANK_END_STOPPED:
        return how->code > 0 && how->code < NSIG;
    default:
        return how->code == 0;
    }
}

static bool is_rank_or_none(int rank)
{
    return rank >= RANK_NONE && rank < WORLD_SIZE_MAX;
}

static bool rank_end_is_possible(const struct rank_end *end, int flags)
{
    bool killed = end->how.kind == RANK_END_KILLED;
    return end->how.kind < RANK_END_KINDS && (flags & ~ALL_FLAGS) == 0 &&
           (killed || (flags & (CORE_DUMPED | OOM)) == 0) && has_possible_code(&end->how) &&
           end->status <= HVD_OK && end->status >= HVD_ERR_FORKED && is_rank_or_none(end->rank) &&
           is_rank_or_none(end->because_of) && (int)end->collective < COLLECTIVE_KINDS;
}

void rank_end_decode(struct rank_end *end, struct wire_reader *reader)
{
    *end = rank_end_none();
    end->how.kind = wire_get_u8(reader);
    int flags = wire_get_u8(reader);
    end->how.core_dumped = flags & CORE_DUMPED;
    end->how.oom = flags & OOM;
    end->before_init = flags & BEFORE_INIT;
    end->collective = wire_get_u8(reader);
    end->how.code = wire_get_i32(reader);
    end->status = wire_get_i32(reader);
    end->rank = wire_get_i32(reader);
    end->because_of = wire_get_i32(reader);
    end->at_us = wire_get_u64(reader);
    wire_get_string(reader, end->host, sizeof end->host);
    wire_get_string(reader, end->tensor, sizeof end->tensor);
    wire_get_string(reader, end->words, sizeof end->words);
    if (end->how.kind == RANK_END_TIMEOUT)
        late_ranks_decode(&end->late, 0, WORLD_SIZE_MAX, reader);
    if (reader->failed || !rank_end_is_possible(end, flags)) {
        *end = rank_end_none();
        reader->failed = true;
        return;
    }
    text_make_line(end->host);
    text_make_line(end->tensor);
    text_make_ascii(end->words);
}
