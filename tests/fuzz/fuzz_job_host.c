/* SPDX-License-Identifier: Apache-2.0 */
/* What agents say to hvdrun, from the bootstrap by /bin/sh on (launcher/connect/agent_bootstrap.c)
 * to the last frame (launcher/job/job_host_frames.c), with what hvdrun does meanwhile.
 *
 *   steps: u8 what, then
 *     0 to 9 a frame that is well formed, of the step's own kind, with numbers from the input
 *     10 a frame: u8 type, bytes      11 START      12 STOP      13 CREDIT: u8 rank, u8 stream
 *     14 bytes of a login shell (a bootstrap of its own; all that follow are of the same)
 *     15 a STOPPED frame, as 0 to 9
 *
 * Whatever they say: a frame is taken or breaks the link with a protocol error, in one line that
 * can be read; no event comes that could not be: of a rank of another host, of one that does not
 * run, more output than was asked for, anything behind the end of a stream, DONE while a rank runs.
 * The rendezvous hears only of connections that it has, and of the end of each, once.
 * A bootstrap ends in one of its ways, and keeps no more than it may. */
#include "launcher/connect/agent_bootstrap.h"
#include "launcher/job/job_host_impl.h"
#include "tests/fuzz/fuzz.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Ranks 0, 2 and 3 are on the host in question, 1 on another one; of connections of the rendezvous
 * so many are wanted at once. */
enum { RANKS = 4, HERE = 0, LOCAL = 3, CONNECTIONS_MAX = 3 };

static const int ranks_here[LOCAL] = { 0, 2, 3 }, ranks_there[] = { 1 };

static struct host_slots slots[] = { { .name = (char *)"a", .slots = LOCAL },
                                     { .name = (char *)"b", .slots = 1 } };
static struct rank_host hosts[] = { { &slots[0], ranks_here, LOCAL },
                                    { &slots[1], ranks_there, 1 } };
static struct rank_slot places[RANKS] = {
    { { 0, 4, 0, 3, 0, 2 }, 0 },
    { { 1, 4, 0, 1, 1, 2 }, 1 },
    { { 2, 4, 1, 3, 0, 1 }, 0 },
    { { 3, 4, 2, 3, 0, 1 }, 0 },
};
static const struct rank_plan plan = {
    .ranks = places, .size = RANKS, .hosts = hosts, .host_count = 2
};

/* What has been heard of. */
static struct {
    bool ready, done, started[RANKS], ended[RANKS], output_ended[RANKS][OUTPUT_STREAMS];
    size_t owed[RANKS][OUTPUT_STREAMS]; /* output that may still come */
    size_t stdin_credit;
    int connections; /* that the rendezvous has */
    bool host_failed;
} heard;

static struct job_host host;
static struct host_rank host_ranks[LOCAL];
static struct agent_bootstrap bootstrap;
static enum agent_bootstrap_action bootstrapped;

/* ---- events ---- */

static bool is_here(int rank)
{
    return rank >= 0 && rank < RANKS && places[rank].host == HERE;
}

static void on_step(void *context, int index, enum host_step step)
{
    PROMISE(context == &heard && index == HERE && (int)step >= 0);
}

static void on_ready(void *context, int index)
{
    PROMISE(context == &heard && index == HERE && !heard.ready);
    fuzz_check_text(host.facts.machine);
    heard.ready = true;
}

static void on_failed(void *context, int index, const struct agent_failed *failed)
{
    PROMISE(context == &heard && index == HERE && !heard.done);
    fuzz_check_text(failed->text);
    heard.host_failed |= failed->rank == -1;
    if (failed->rank == -1)
        return;
    PROMISE(is_here(failed->rank) && !heard.started[failed->rank] && !heard.ended[failed->rank]);
    heard.ended[failed->rank] = true;
}

static void on_alive(void *context, int index)
{
    PROMISE(context == &heard && index == HERE);
}

static void on_bound(void *context, int rank, const char *text)
{
    PROMISE(context == &heard && is_here(rank) && !heard.started[rank] && !heard.ended[rank]);
    fuzz_check_text(text);
}

static void on_started(void *context, int rank, pid_t pid)
{
    (void)pid;
    PROMISE(context == &heard && is_here(rank) && !heard.started[rank] && !heard.ended[rank]);
    heard.started[rank] = true;
}

static void on_output(void *context, int rank, enum output_stream stream, uint64_t read_us,
                      const char *data, size_t length)
{
    static unsigned char sum; /* so that every byte is read */
    PROMISE(context == &heard && is_here(rank) && stream < OUTPUT_STREAMS && !heard.done);
    PROMISE((heard.started[rank] || heard.ended[rank]) && read_us <= CLOCK_MAX);
    PROMISE(!heard.output_ended[rank][stream] && length <= heard.owed[rank][stream]);
    heard.owed[rank][stream] -= length;
    for (size_t i = 0; i < length; i++)
        sum = (unsigned char)(sum + (unsigned char)data[i]);
}

static void on_output_end(void *context, int rank, enum output_stream stream)
{
    PROMISE(context == &heard && is_here(rank) && stream < OUTPUT_STREAMS && !heard.done);
    PROMISE(!heard.output_ended[rank][stream]);
    heard.output_ended[rank][stream] = true;
}

static void on_stdin_credit(void *context, uint32_t nbytes)
{
    heard.stdin_credit += nbytes;
    PROMISE(context == &heard && heard.stdin_credit <= STDIN_WINDOW);
}

static void on_stopped(void *context, int rank, const struct rank_end_how *how)
{
    PROMISE(context == &heard && is_here(rank) && !heard.done);
    PROMISE(heard.started[rank] && !heard.ended[rank]);
    PROMISE(how->kind == RANK_END_STOPPED && how->code > 0 && how->code < NSIG);
}

static void on_exited(void *context, const struct agent_exited *exited)
{
    int rank = exited->end.rank;
    PROMISE(context == &heard && is_here(rank) && !heard.done);
    PROMISE(heard.started[rank] && !heard.ended[rank]);
    PROMISE(exited->end.how.kind == RANK_END_EXITED || exited->end.how.kind == RANK_END_KILLED);
    heard.ended[rank] = true;
}

/* ---- the rendezvous: ends a connection on which an odd byte comes, wants only so many ---- */

struct rendezvous_connection {
    struct rendezvous_stream *stream;
};

static struct rendezvous_connection *accept_one(struct rendezvous *rendezvous,
                                                struct rendezvous_stream *stream,
                                                enum rendezvous_origin origin)
{
    PROMISE(rendezvous == (struct rendezvous *)&heard && heard.ready && stream->send);
    PROMISE(origin == RENDEZVOUS_ELSEWHERE || origin == RENDEZVOUS_OWN_UID);
    if (heard.connections == CONNECTIONS_MAX)
        return NULL;
    struct rendezvous_connection *connection = malloc(sizeof *connection);
    PROMISE(connection);
    connection->stream = stream;
    heard.connections++;
    return connection;
}

static void hang_up(struct rendezvous_connection *connection)
{
    heard.connections--;
    free(connection);
}

static void receive(struct rendezvous_connection *connection, const void *data, size_t length)
{
    PROMISE(heard.ready && heard.connections > 0 && (data || length == 0));
    if (length == 0)
        return;
    connection->stream->send(connection->stream, data, length);
    if ((*(const unsigned char *)data & 1) == 0)
        return;
    connection->stream->close(connection->stream);
    hang_up(connection);
}

static const struct rendezvous_server server = { (struct rendezvous *)&heard, accept_one, receive,
                                                 hang_up };

/* ---- the end of the host ---- */

static void on_done(void *context, int index, int left)
{
    PROMISE(context == &heard && index == HERE && !heard.done && left >= 0);
    for (int i = 0; i < LOCAL; i++) {
        int rank = ranks_here[i];
        PROMISE(!heard.started[rank] || heard.ended[rank] || left > 0);
        PROMISE(heard.started[rank] || heard.ended[rank] || host.stopping);
    }
    heard.done = true;
}

static const struct job_host_events events = {
    .on_step = on_step,
    .on_ready = on_ready,
    .on_failed = on_failed,
    .on_alive = on_alive,
    .on_bound = on_bound,
    .on_started = on_started,
    .on_output = on_output,
    .on_output_end = on_output_end,
    .on_stdin_credit = on_stdin_credit,
    .on_stopped = on_stopped,
    .on_exited = on_exited,
    .on_done = on_done,
};

/* ---- frames ---- */

/* False: the link is broken. */
static bool hear(uint16_t type, const struct wire_writer *body)
{
    struct err err = { .code = HVD_OK };
    void *copy = malloc(body->length > 0 ? body->length : 1); /* so that a read beyond it is seen */
    PROMISE(copy);
    if (body->length > 0)
        memcpy(copy, body->data, body->length);
    struct frame frame = { .type = type, .length = (uint32_t)body->length, .body = copy };
    int rc = job_host_on_frame(&host, &frame, &err);
    PROMISE(rc == HVD_OK || rc == HVD_ERR_PROTOCOL);
    if (rc < 0)
        fuzz_check_text(err.text);
    free(copy);
    return rc == HVD_OK;
}

static int some_rank(struct fuzz_input *input)
{
    static const int ranks[] = { 0, 2, 3, 1, -1, 4, 0x7fffffff, -0x7fffffff - 1 };
    return ranks[fuzz_u8(input) % 8];
}

static uint16_t put_ready(struct wire_writer *body, struct fuzz_input *input)
{
    struct agent_ready ready = { .clock_ms = (uint64_t)fuzz_i32(input) << 31, .ncpus = 4 };
    fuzz_text(input, ready.machine, sizeof ready.machine);
    agent_ready_encode(body, &ready);
    return AGENT_READY;
}

static uint16_t put_failed(struct wire_writer *body, struct fuzz_input *input)
{
    struct agent_failed failed = { some_rank(input), fuzz_u8(input) % 20, fuzz_u8(input), "" };
    fuzz_text(input, failed.text, 64);
    agent_failed_encode(body, &failed);
    return AGENT_FAILED;
}

static uint16_t put_started(struct wire_writer *body, struct fuzz_input *input)
{
    struct agent_rank_number started = { .rank = some_rank(input), .number = fuzz_u16(input) };
    agent_rank_number_encode(body, &started);
    return AGENT_STARTED;
}

static uint16_t put_output(struct wire_writer *body, struct fuzz_input *input)
{
    static const char many[STREAM_WINDOW];
    uint8_t how = fuzz_u8(input);
    size_t repeat = how == 255 ? sizeof many : 1;
    wire_put_i32(body, some_rank(input));
    wire_put_u8(body, fuzz_u8(input) % 3);
    wire_put_u64(body, how == 254 ? UINT64_MAX : CLOCK_MAX);
    wire_put_bytes(body, many, fuzz_u8(input) * repeat / 255);
    return AGENT_OUTPUT;
}

static uint16_t put_output_end(struct wire_writer *body, struct fuzz_input *input)
{
    struct agent_rank_number end = { .rank = some_rank(input), .stream = fuzz_u8(input) % 3 };
    agent_rank_number_encode(body, &end);
    return AGENT_OUTPUT_END;
}

static uint16_t put_stdin_credit(struct wire_writer *body, struct fuzz_input *input)
{
    wire_put_u32(body, (uint32_t)fuzz_i32(input));
    return AGENT_STDIN_CREDIT;
}

/* Of any kind, so that one that is no stop comes as well. */
static uint16_t put_stopped(struct wire_writer *body, struct fuzz_input *input)
{
    struct rank_end stopped = rank_end_none();
    stopped.rank = some_rank(input);
    stopped.how.kind = fuzz_u8(input) % (RANK_END_KINDS + 1);
    stopped.how.code = fuzz_u8(input) % (NSIG + 1);
    agent_stopped_encode(body, &stopped);
    return AGENT_STOPPED;
}

static uint16_t put_exited(struct wire_writer *body, struct fuzz_input *input)
{
    struct agent_exited exited = { .end = rank_end_none() };
    exited.end.rank = some_rank(input);
    exited.end.how = rank_end_how_of(fuzz_u16(input));
    exited.after_ms = fuzz_u16(input);
    agent_exited_encode(body, &exited);
    return AGENT_EXITED;
}

static uint16_t put_relay(struct wire_writer *body, struct fuzz_input *input)
{
    struct agent_relay_client client = { fuzz_u16(input) % 1024, fuzz_u8(input) & 1 };
    uint8_t which = fuzz_u8(input) % 3;
    if (which == 0)
        agent_relay_client_encode(body, &client);
    else
        wire_put_u32(body, client.id);
    if (which == 1)
        wire_put_u8(body, (uint8_t)client.id);
    return which == 0 ? AGENT_RELAY_OPEN : which == 1 ? AGENT_RELAY_DATA : AGENT_RELAY_END;
}

static uint16_t put_heartbeat(struct wire_writer *body, struct fuzz_input *input)
{
    wire_put_u64(body, (uint64_t)(int64_t)fuzz_i32(input));
    wire_put_u64(body, (uint64_t)(int64_t)fuzz_i32(input));
    return AGENT_HEARTBEAT;
}

static uint16_t put_done(struct wire_writer *body, struct fuzz_input *input)
{
    wire_put_i32(body, fuzz_u8(input) == 255 ? fuzz_i32(input) : 0);
    return AGENT_DONE;
}

typedef uint16_t put_fn(struct wire_writer *body, struct fuzz_input *input);

static put_fn *const frames[] = {
    put_ready,        put_failed, put_started, put_output,    put_output_end,
    put_stdin_credit, put_exited, put_relay,   put_heartbeat, put_done,
};
enum { FRAMES = sizeof frames / sizeof *frames };

static bool send_frame(put_fn *put, struct fuzz_input *input)
{
    struct wire_writer body = { 0 };
    uint16_t type = put(&body, input);
    bool good = hear(type, &body);
    wire_writer_fini(&body);
    return good;
}

static bool send_bytes(struct fuzz_input *input)
{
    struct wire_writer body = { 0 };
    size_t length;
    uint16_t type = fuzz_u8(input);
    uint8_t *bytes = fuzz_bytes(input, &length);
    wire_put_bytes(&body, bytes, length);
    bool good = hear(type, &body);
    wire_writer_fini(&body);
    free(bytes);
    return good;
}

/* ---- what hvdrun does ---- */

static void give_credit(struct fuzz_input *input)
{
    int rank = ranks_here[fuzz_u8(input) % LOCAL], stream = fuzz_u8(input) % OUTPUT_STREAMS;
    size_t given = STREAM_WINDOW - heard.owed[rank][stream];
    job_host_credit(&host, rank, (enum output_stream)stream, (uint32_t)given);
    heard.owed[rank][stream] += given;
}

static void feed_bootstrap(struct fuzz_input *input)
{
    size_t length;
    uint8_t *bytes = fuzz_bytes(input, &length);
    if (bootstrapped == BOOTSTRAP_WAIT || (bootstrapped == BOOTSTRAP_SEND && length > 0)) {
        bootstrapped = agent_bootstrap_take(&bootstrap, (const char *)bytes, length);
        fuzz_check_text(bootstrap.error);
        fuzz_check_text(bootstrap.first_noise);
        PROMISE((bootstrapped == BOOTSTRAP_FAILED) == (*bootstrap.error != '\0'));
        PROMISE(bootstrap.capacity <= 4 * (BOOTSTRAP_NOISE_MAX + 64));
    }
    free(bytes);
}

static void begin(void)
{
    static struct job_options options = { .plan = &plan, .attributes.report_bindings = true };
    static uv_loop_t loop; /* its clock stands still */
    memset(&heard, 0, sizeof heard);
    memset(host_ranks, 0, sizeof host_ranks);
    host = (struct job_host){ .plan = &plan,
                              .where = hosts[HERE],
                              .phase = HOST_DESCRIBING,
                              .ranks = host_ranks,
                              .options = &options,
                              .rendezvous = &server,
                              .loop = &loop,
                              .events = &events,
                              .context = &heard };
    host.link.ended = true; /* what is sent goes nowhere */
    for (int i = 0; i < LOCAL; i++)
        for (int stream = 0; stream < OUTPUT_STREAMS; stream++)
            heard.owed[ranks_here[i]][stream] = host_ranks[i].window[stream] = STREAM_WINDOW;
    agent_bootstrap_init(&bootstrap, "0123456789abcdef", "Linux x86_64");
    bootstrapped = BOOTSTRAP_WAIT;
}

/* False: the link is broken, and nothing comes any more. */
static bool step(struct fuzz_input *input)
{
    uint8_t what = fuzz_u8(input) % (FRAMES + 6);
    if (what < FRAMES)
        return send_frame(frames[what], input);
    switch (what - FRAMES) {
    case 0:
        return send_bytes(input);
    case 1:
        if (host.phase == HOST_READY)
            job_host_start(&host, &(struct agent_start){ .master_port = 1 }, CAST_TO_HOST);
        return true;
    case 2:
        job_host_stop(&host, 15, 5000, CAST_TO_HOST);
        return true;
    case 3:
        give_credit(input);
        return true;
    case 4:
        feed_bootstrap(input);
        return true;
    default:
        return send_frame(put_stopped, input);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    begin();
    while (input.left > 0 && step(&input))
        PROMISE((host.phase == HOST_DONE) == heard.done);
    job_host_hang_up_relay(&host);
    PROMISE(heard.connections == 0);
    fuzz_check_text(agent_bootstrap_end(&bootstrap));
    agent_bootstrap_fini(&bootstrap);
    wire_writer_fini(&host.link.next);
    wire_writer_fini(&host.link.flying);
    return 0;
}
