/* SPDX-License-Identifier: Apache-2.0 */
/* A byte stream that is cut into frames, and what an agent's frames say.
 *
 *   u8 which limit for a body, u8 size of the pieces that the stream comes in, the stream
 *
 * Whatever comes: the frames are the same however the stream is cut into pieces; none is longer
 * than the limit; no more memory is held than for one frame and one read; a body that decodes,
 * encodes to something that decodes to the same. */
#include "launcher/protocol/agent_protocol.h"
#include "lib/base/frame.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum { READ_MEMORY_MAX = 128 * 1024 };

#define AGAIN(message)                                                                             \
    static bool message##_again(struct wire_reader *reader, struct wire_writer *writer)            \
    {                                                                                              \
        struct agent_##message decoded = { 0 };                                                    \
        if (agent_##message##_decode(&decoded, reader, NULL) != HVD_OK)                            \
            return false;                                                                          \
        agent_##message##_encode(writer, &decoded);                                                \
        return true;                                                                               \
    }

AGAIN(job)
AGAIN(ready)
AGAIN(failed)
AGAIN(exited)
AGAIN(heartbeat)
AGAIN(note)
AGAIN(stop)
AGAIN(relay_client)
AGAIN(rank_number)

static bool stopped_again(struct wire_reader *reader, struct wire_writer *writer)
{
    struct rank_end decoded;
    if (agent_stopped_decode(&decoded, reader, NULL) != HVD_OK)
        return false;
    agent_stopped_encode(writer, &decoded);
    return true;
}

static fuzz_again_fn *const bodies[AGENT_FRAME_TYPES] = {
    [AGENT_JOB] = job_again,
    [AGENT_READY] = ready_again,
    [AGENT_FAILED] = failed_again,
    [AGENT_STARTED] = rank_number_again,
    [AGENT_OUTPUT_END] = rank_number_again,
    [AGENT_CREDIT] = rank_number_again,
    [AGENT_STOP] = stop_again,
    [AGENT_EXITED] = exited_again,
    [AGENT_HEARTBEAT] = heartbeat_again,
    [AGENT_STOPPED] = stopped_again,
    [AGENT_NOTE] = note_again,
    [AGENT_RELAY_OPEN] = relay_client_again,
};

/* What has come out of a stream. */
struct tally {
    int frames, status;
    uint64_t digest;
};

static void mix(struct tally *tally, const void *data, size_t length)
{
    for (size_t i = 0; i < length; i++)
        tally->digest = (tally->digest ^ ((const uint8_t *)data)[i]) * 1099511628211U;
}

static void on_frame(struct tally *tally, const struct frame *frame)
{
    tally->frames++;
    mix(tally, &frame->type, sizeof frame->type);
    mix(tally, &frame->length, sizeof frame->length);
    mix(tally, frame->body, frame->length);
    PROMISE(agent_frame_name(frame->type) != NULL);
    if (frame->type < AGENT_FRAME_TYPES && bodies[frame->type])
        fuzz_round_trip(bodies[frame->type], frame->body, frame->length);
}

static void on_bytes(struct tally *tally, struct frame_reader *reader)
{
    struct frame frame;
    while ((tally->status = frame_reader_next(reader, &frame, NULL)) > 0) {
        PROMISE(frame.length <= reader->body_max);
        on_frame(tally, &frame);
    }
}

static struct tally cut(struct fuzz_input stream, size_t body_max, size_t piece)
{
    struct frame_reader reader;
    struct tally tally = { 0 };
    frame_reader_init(&reader, body_max);
    while (stream.left > 0 && tally.status == 0) {
        size_t length;
        void *space = frame_reader_space(&reader, &length);
        PROMISE(space && length > 0);
        PROMISE(reader.capacity <= FRAME_HEADER_SIZE + body_max + READ_MEMORY_MAX);
        length = length < piece ? length : piece;
        length = length < stream.left ? length : stream.left;
        memcpy(space, stream.at, length);
        frame_reader_commit(&reader, length);
        stream.at += length;
        stream.left -= length;
        on_bytes(&tally, &reader);
    }
    frame_reader_fini(&reader);
    return tally;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t limits[] = { 0, 64, 4096, FRAME_BODY_MAX };
    struct fuzz_input input = fuzz_begin(data, size);
    size_t body_max = limits[fuzz_u8(&input) % 4];
    size_t piece = 1 + fuzz_u8(&input) % 64U;
    struct tally pieces = cut(input, body_max, piece);
    struct tally whole = cut(input, body_max, SIZE_MAX);
    PROMISE(pieces.frames == whole.frames);
    PROMISE(pieces.digest == whole.digest);
    PROMISE(pieces.status == whole.status);
    return 0;
}
