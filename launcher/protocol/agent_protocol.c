/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of the agent's frames; see agent_protocol.h. */
#include "launcher/protocol/agent_protocol.h"

#include <signal.h>
#include <string.h>

const char *agent_frame_name(int type)
{
    static const char *const names[AGENT_FRAME_TYPES] = {
        [AGENT_JOB] = "JOB",
        [AGENT_ARGUMENTS] = "ARGUMENTS",
        [AGENT_ENVIRONMENT] = "ENVIRONMENT",
        [AGENT_RANK] = "RANK",
        [AGENT_PREPARE] = "PREPARE",
        [AGENT_READY] = "READY",
        [AGENT_FAILED] = "FAILED",
        [AGENT_START] = "START",
        [AGENT_STARTED] = "STARTED",
        [AGENT_OUTPUT] = "OUTPUT",
        [AGENT_OUTPUT_END] = "OUTPUT_END",
        [AGENT_CREDIT] = "CREDIT",
        [AGENT_STDIN] = "STDIN",
        [AGENT_STDIN_CREDIT] = "STDIN_CREDIT",
        [AGENT_SIGNAL] = "SIGNAL",
        [AGENT_STOP] = "STOP",
        [AGENT_EXITED] = "EXITED",
        [AGENT_RELAY_OPEN] = "RELAY_OPEN",
        [AGENT_RELAY_DATA] = "RELAY_DATA",
        [AGENT_RELAY_END] = "RELAY_END",
        [AGENT_HEARTBEAT] = "HEARTBEAT",
        [AGENT_DONE] = "DONE",
        [AGENT_BOUND] = "BOUND",
        [AGENT_STOPPED] = "STOPPED",
        [AGENT_NOTE] = "NOTE",
        [AGENT_SWEEP] = "SWEEP",
        [AGENT_STOP_RANK] = "STOP_RANK",
        [AGENT_EXCHANGE] = "EXCHANGE",
        [AGENT_EXCHANGED] = "EXCHANGED",
        [AGENT_TUNNEL_OPEN] = "TUNNEL_OPEN",
        [AGENT_TUNNEL_DATA] = "TUNNEL_DATA",
        [AGENT_TUNNEL_CREDIT] = "TUNNEL_CREDIT",
        [AGENT_TUNNEL_ERRORS] = "TUNNEL_ERRORS",
        [AGENT_TUNNEL_CLOSE] = "TUNNEL_CLOSE",
        [AGENT_TUNNEL_END] = "TUNNEL_END",
        [AGENT_STACKS] = "STACKS",
        [AGENT_STACK] = "STACK",
        [AGENT_STACKS_DONE] = "STACKS_DONE",
        [AGENT_DRAIN] = "DRAIN",
        [AGENT_HOST] = "HOST",
        [AGENT_TUNNEL_DESCRIBE] = "TUNNEL_DESCRIBE",
        [AGENT_TUNNEL_SCRIPT] = "TUNNEL_SCRIPT",
        [AGENT_MULTICAST] = "MULTICAST",
    };
    return type > 0 && type < AGENT_FRAME_TYPES ? names[type] : "unknown";
}

int agent_frame_finished(const struct wire_reader *reader, int type, struct err *err)
{
    if (wire_reader_finished(reader))
        return HVD_OK;
    return fail(err, HVD_ERR_PROTOCOL, "malformed %s frame", agent_frame_name(type));
}

void agent_job_encode(struct wire_writer *writer, const struct agent_job *message)
{
    wire_put_u16(writer, message->version);
    wire_put_string(writer, message->cwd);
    wire_put_u8(writer, message->own_environment);
    wire_put_u8(writer, message->one_machine);
    wire_put_u8(writer, message->elastic);
    wire_put_u32(writer, message->heartbeat_timeout_ms);
    wire_put_u32(writer, message->answer_ms);
    wire_put_u8(writer, message->check_libraries);
    wire_put_u8(writer, message->check_cuda);
    wire_put_string(writer, message->python_path);
    rank_attributes_encode(writer, &message->attributes);
    wire_put_string(writer, message->id);
}

int agent_job_decode(struct agent_job *message, struct wire_reader *reader, struct err *err)
{
    message->version = wire_get_u16(reader);
    if (!reader->failed && message->version != AGENT_VERSION)
        return fail(err, HVD_ERR_PROTOCOL,
                    "hvdagent speaks version %d of the agent protocol, hvdrun needs version %u",
                    AGENT_VERSION, message->version);
    wire_get_string(reader, message->cwd, sizeof message->cwd);
    message->own_environment = wire_get_u8(reader) != 0;
    message->one_machine = wire_get_u8(reader) != 0;
    message->elastic = wire_get_u8(reader) != 0;
    message->heartbeat_timeout_ms = wire_get_u32(reader);
    message->answer_ms = wire_get_u32(reader);
    message->check_libraries = wire_get_u8(reader) != 0;
    message->check_cuda = wire_get_u8(reader) != 0;
    wire_get_string(reader, message->python_path, sizeof message->python_path);
    int rc = rank_attributes_decode(&message->attributes, reader, err);
    wire_get_string(reader, message->id, sizeof message->id);
    return rc < 0 ? rc : agent_frame_finished(reader, AGENT_JOB, err);
}

void agent_host_encode(struct wire_writer *writer, const struct agent_host *message)
{
    wire_put_string(writer, message->name);
    wire_put_i32(writer, message->index);
    wire_put_i32(writer, message->nhosts);
    wire_put_string(writer, message->interfaces);
}

int agent_host_decode(struct agent_host *message, struct wire_reader *reader, struct err *err)
{
    wire_get_string(reader, message->name, sizeof message->name);
    message->index = wire_get_i32(reader);
    message->nhosts = wire_get_i32(reader);
    wire_get_string(reader, message->interfaces, sizeof message->interfaces);
    return agent_frame_finished(reader, AGENT_HOST, err);
}

/* The numbers of a rank_info, in the order of their frame. */
enum { PLACE_NUMBERS = 6 };

void agent_worker_encode(struct wire_writer *writer, const struct agent_worker *message)
{
    const struct rank_info *place = &message->place;
    const int numbers[PLACE_NUMBERS] = { place->rank,       place->size,       place->local_rank,
                                         place->local_size, place->cross_rank, place->cross_size };
    wire_put_i32(writer, message->worker);
    for (int i = 0; i < PLACE_NUMBERS; i++)
        wire_put_i32(writer, numbers[i]);
    wire_put_bytes(writer, message->key.bytes, sizeof message->key.bytes);
}

int agent_worker_decode(struct agent_worker *message, struct wire_reader *reader, struct err *err)
{
    struct rank_info *place = &message->place;
    int *const numbers[PLACE_NUMBERS] = { &place->rank,       &place->size,
                                          &place->local_rank, &place->local_size,
                                          &place->cross_rank, &place->cross_size };
    message->worker = wire_get_i32(reader);
    for (int i = 0; i < PLACE_NUMBERS; i++)
        *numbers[i] = wire_get_i32(reader);
    const void *key = wire_get_bytes(reader, sizeof message->key.bytes);
    if (key)
        memcpy(message->key.bytes, key, sizeof message->key.bytes);
    return agent_frame_finished(reader, AGENT_RANK, err);
}

void agent_ready_encode(struct wire_writer *writer, const struct agent_ready *message)
{
    wire_put_u64(writer, message->clock_ms);
    wire_put_u32(writer, message->ncpus);
    wire_put_string(writer, message->machine);
    wire_put_u16(writer, message->relay_port);
    wire_put_string(writer, message->caller);
    wire_put_string(writer, message->address);
    wire_put_u16(writer, message->torch_port);
    wire_put_string(writer, message->cuda);
}

int agent_ready_decode(struct agent_ready *message, struct wire_reader *reader, struct err *err)
{
    message->clock_ms = wire_get_u64(reader);
    message->ncpus = wire_get_u32(reader);
    wire_get_string(reader, message->machine, sizeof message->machine);
    message->relay_port = wire_get_u16(reader);
    wire_get_string(reader, message->caller, sizeof message->caller);
    wire_get_string(reader, message->address, sizeof message->address);
    message->torch_port = wire_get_u16(reader);
    wire_get_string(reader, message->cuda, sizeof message->cuda);
    return agent_frame_finished(reader, AGENT_READY, err);
}

/* Behind the type, strings have their lengths. */
_Static_assert(sizeof(uint16_t) + sizeof(struct agent_start) + 2 * sizeof(uint32_t) <=
                   AGENT_MULTICAST_MAX,
               "a MULTICAST can carry every START");

void agent_start_encode(struct wire_writer *writer, const struct agent_start *message)
{
    wire_put_string(writer, message->own_address);
    wire_put_string(writer, message->master_address);
    wire_put_u16(writer, message->master_port);
}

int agent_start_decode(struct agent_start *message, struct wire_reader *reader, struct err *err)
{
    *message = (struct agent_start){ 0 };
    if (reader->left == 0)
        return HVD_OK;
    wire_get_string(reader, message->own_address, sizeof message->own_address);
    wire_get_string(reader, message->master_address, sizeof message->master_address);
    message->master_port = wire_get_u16(reader);
    return agent_frame_finished(reader, AGENT_START, err);
}

void agent_failed_encode(struct wire_writer *writer, const struct agent_failed *message)
{
    wire_put_i32(writer, message->rank);
    wire_put_u8(writer, message->step);
    wire_put_i32(writer, message->exit_status);
    wire_put_string(writer, message->text);
}

int agent_failed_decode(struct agent_failed *message, struct wire_reader *reader, struct err *err)
{
    message->rank = wire_get_i32(reader);
    message->step = wire_get_u8(reader);
    message->exit_status = wire_get_i32(reader);
    wire_get_string(reader, message->text, sizeof message->text);
    if (!reader->failed && message->step >= HOST_STEPS)
        return fail(err, HVD_ERR_PROTOCOL, "FAILED at step %u, which does not exist",
                    message->step);
    if (!reader->failed && (message->exit_status < 1 || message->exit_status > 255))
        return fail(err, HVD_ERR_PROTOCOL, "FAILED with exit status %d", message->exit_status);
    return agent_frame_finished(reader, AGENT_FAILED, err);
}

void agent_bound_encode(struct wire_writer *writer, const struct agent_bound *message)
{
    wire_put_i32(writer, message->rank);
    wire_put_string(writer, message->text);
}

int agent_bound_decode(struct agent_bound *message, struct wire_reader *reader, struct err *err)
{
    message->rank = wire_get_i32(reader);
    wire_get_string(reader, message->text, sizeof message->text);
    return agent_frame_finished(reader, AGENT_BOUND, err);
}

void agent_exited_encode(struct wire_writer *writer, const struct agent_exited *message)
{
    rank_end_encode(writer, &message->end);
    wire_put_u64(writer, message->after_ms);
    wire_put_u8(writer, message->told);
}

int agent_exited_decode(struct agent_exited *message, struct wire_reader *reader, struct err *err)
{
    rank_end_decode(&message->end, reader);
    message->after_ms = wire_get_u64(reader);
    message->told = wire_get_u8(reader) != 0;
    enum rank_end_kind kind = message->end.how.kind;
    if (!reader->failed && kind != RANK_END_EXITED && kind != RANK_END_KILLED)
        return fail(err, HVD_ERR_PROTOCOL, "EXITED of rank %d, which has not ended",
                    message->end.rank);
    return agent_frame_finished(reader, AGENT_EXITED, err);
}

void agent_stopped_encode(struct wire_writer *writer, const struct rank_end *message)
{
    rank_end_encode(writer, message);
}

int agent_stopped_decode(struct rank_end *message, struct wire_reader *reader, struct err *err)
{
    rank_end_decode(message, reader);
    enum rank_end_kind kind = message->how.kind;
    if (!reader->failed && kind != RANK_END_STOPPED && kind != RANK_END_NONE)
        return fail(err, HVD_ERR_PROTOCOL, "STOPPED of rank %d, which has ended", message->rank);
    return agent_frame_finished(reader, AGENT_STOPPED, err);
}

void agent_heartbeat_encode(struct wire_writer *writer, const struct agent_heartbeat *message)
{
    wire_put_u64(writer, message->stamp);
    wire_put_u64(writer, message->clock_us);
}

int agent_heartbeat_decode(struct agent_heartbeat *message, struct wire_reader *reader,
                           struct err *err)
{
    message->stamp = wire_get_u64(reader);
    message->clock_us = wire_get_u64(reader);
    return agent_frame_finished(reader, AGENT_HEARTBEAT, err);
}

void agent_note_encode(struct wire_writer *writer, const struct agent_note *message)
{
    wire_put_string(writer, message->text);
}

int agent_note_decode(struct agent_note *message, struct wire_reader *reader, struct err *err)
{
    wire_get_string(reader, message->text, sizeof message->text);
    return agent_frame_finished(reader, AGENT_NOTE, err);
}

void agent_stack_encode(struct wire_writer *writer, const struct agent_stack *message)
{
    wire_put_i32(writer, message->rank);
    wire_put_string(writer, message->where);
}

int agent_stack_decode(struct agent_stack *message, struct wire_reader *reader, struct err *err)
{
    message->rank = wire_get_i32(reader);
    wire_get_string(reader, message->where, sizeof message->where);
    return agent_frame_finished(reader, AGENT_STACK, err);
}

void agent_stop_encode(struct wire_writer *writer, const struct agent_stop *message)
{
    wire_put_i32(writer, message->signum);
    wire_put_u32(writer, message->grace_ms);
}

int agent_stop_decode(struct agent_stop *message, struct wire_reader *reader, struct err *err)
{
    message->signum = wire_get_i32(reader);
    message->grace_ms = wire_get_u32(reader);
    return agent_frame_finished(reader, AGENT_STOP, err);
}

void agent_stop_rank_encode(struct wire_writer *writer, const struct agent_stop_rank *message)
{
    wire_put_i32(writer, message->rank);
    agent_stop_encode(writer, &message->stop);
}

int agent_stop_rank_decode(struct agent_stop_rank *message, struct wire_reader *reader,
                           struct err *err)
{
    message->rank = wire_get_i32(reader);
    message->stop.signum = wire_get_i32(reader);
    message->stop.grace_ms = wire_get_u32(reader);
    if (reader->failed)
        return fail(err, HVD_ERR_PROTOCOL, "malformed STOP_RANK frame");
    if (message->stop.signum <= 0 || message->stop.signum >= NSIG)
        return fail(err, HVD_ERR_PROTOCOL, "STOP_RANK with signal %d", message->stop.signum);
    return HVD_OK;
}

void agent_relay_client_encode(struct wire_writer *writer, const struct agent_relay_client *message)
{
    wire_put_u32(writer, message->id);
    wire_put_u8(writer, message->own);
}

/* Strict: a client that counts as the job's own user may use the rendezvous without a key. */
int agent_relay_client_decode(struct agent_relay_client *message, struct wire_reader *reader,
                              struct err *err)
{
    message->id = wire_get_u32(reader);
    uint8_t own = wire_get_u8(reader);
    message->own = own == 1;
    if (own > 1)
        return fail(err, HVD_ERR_PROTOCOL, "RELAY_OPEN with %u for yes or no", own);
    return agent_frame_finished(reader, AGENT_RELAY_OPEN, err);
}

void agent_rank_number_encode(struct wire_writer *writer, const struct agent_rank_number *message)
{
    wire_put_i32(writer, message->rank);
    wire_put_u8(writer, message->stream);
    wire_put_u32(writer, message->number);
}

int agent_rank_number_decode(struct agent_rank_number *message, struct wire_reader *reader,
                             struct err *err)
{
    message->rank = wire_get_i32(reader);
    message->stream = wire_get_u8(reader);
    message->number = wire_get_u32(reader);
    if (!reader->failed && message->stream >= OUTPUT_STREAMS)
        return fail(err, HVD_ERR_PROTOCOL, "stream %u does not exist", message->stream);
    return wire_reader_finished(reader)
               ? HVD_OK
               : fail(err, HVD_ERR_PROTOCOL, "malformed frame about rank %d", message->rank);
}
