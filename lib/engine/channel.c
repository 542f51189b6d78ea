/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of operations over a link; see channel.h. */
#include "lib/engine/channel.h"

#include "lib/base/wire.h"

#include <assert.h>
#include <endian.h>
#include <poll.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* NULL when it is done, or has not been started here. */
static struct operation *find(const struct operation_window *window, uint32_t number)
{
    bool inside = number - window->first < window->end - window->first;
    return inside ? window->at[number % WINDOW_SIZE] : NULL;
}

/* Numbers wrap around: what is less than half of them behind has been. */
static bool has_started(const struct operation_window *window, uint32_t number)
{
    return (int32_t)(number - window->end) < 0;
}

void channel_init(struct channel *channel, struct link *link, int peer)
{
    *channel = (struct channel){ .link = link, .peer = peer, .out_header_sent = CHANNEL_HEADER };
}

bool channel_is_flushed(const struct channel *channel)
{
    return channel->out_header_sent == CHANNEL_HEADER && channel->out_left == 0;
}

/* Something of the lowest operation that has anything to send; NULL if none has. */
static const void *find_output(const struct channel *channel, const struct operation_window *window,
                               uint32_t *number, size_t *nbytes)
{
    for (uint32_t n = window->first; n != window->end; n++) {
        struct operation *operation = window->at[n % WINDOW_SIZE];
        *nbytes = 0;
        const void *data =
            operation ? operation->type->output(operation, channel->peer, nbytes) : NULL;
        *number = n;
        if (*nbytes > 0)
            return data;
    }
    return NULL;
}

static void begin_frame(struct channel *channel, uint32_t number, size_t nbytes)
{
    channel->out_number = number;
    channel->out_left = least(nbytes, CHANNEL_FRAME_MAX);
    channel->out_header_sent = 0;
    uint32_t header[] = { htole32(number), htole32((uint32_t)channel->out_left) };
    memcpy(channel->out_header, header, sizeof header);
}

/* The frame that nothing was sent of: another may be better next time. */
static void forget_frame(struct channel *channel)
{
    channel->out_header_sent = CHANNEL_HEADER;
    channel->out_left = 0;
}

/* What is missing of the header, then data. Returns as link_try_send() does. */
static ssize_t send_parts(struct channel *channel, const void *data, size_t nbytes, struct err *err)
{
    size_t sent = channel->out_header_sent;
    struct iovec parts[] = {
        { channel->out_header + sent, CHANNEL_HEADER - sent },
        { (void *)data, least(nbytes, channel->out_left) },
    };
    int skipped = sent == CHANNEL_HEADER;
    return link_try_send(channel->link, parts + skipped, 2 - skipped, err);
}

static int send_some(struct channel *channel, const struct operation_window *window,
                     struct err *err)
{
    size_t nbytes = 0;
    const void *data;
    bool fresh = channel_is_flushed(channel);
    if (fresh) {
        uint32_t number;
        if (!(data = find_output(channel, window, &number, &nbytes)))
            return 0;
        begin_frame(channel, number, nbytes);
    }
    struct operation *operation = find(window, channel->out_number);
    assert(operation);
    if (!fresh)
        data = operation->type->output(operation, channel->peer, &nbytes);
    ssize_t sent = send_parts(channel, data, nbytes, err);
    if (sent == 0 && fresh)
        forget_frame(channel);
    if (sent <= 0)
        return (int)sent;
    size_t of_header = least((size_t)sent, CHANNEL_HEADER - channel->out_header_sent);
    size_t of_data = (size_t)sent - of_header;
    channel->out_header_sent += of_header;
    channel->out_left -= of_data;
    if (of_data > 0)
        operation->type->sent(operation, channel->peer, of_data);
    return 1;
}

/* The header of the next frame is complete. */
static int take_header(struct channel *channel, struct err *err)
{
    struct wire_reader reader;
    wire_reader_init(&reader, channel->in_header, CHANNEL_HEADER);
    channel->in_header_received = 0;
    channel->in_number = wire_get_u32(&reader);
    channel->in_left = wire_get_u32(&reader);
    if (channel->in_left > 0 && channel->in_left <= CHANNEL_FRAME_MAX)
        return HVD_OK;
    return fail(err, HVD_ERR_PROTOCOL, "operation %u: a frame of %zu bytes", channel->in_number,
                channel->in_left);
}

/* Does data wait for an operation that is done, on this rank? */
static bool is_too_much(const struct channel *channel, const struct operation_window *window)
{
    const struct operation *operation = find(window, channel->in_number);
    return operation ? operation->type->done(operation) : has_started(window, channel->in_number);
}

/* There is no room for the data of the frame. */
static int wait_with_frame(const struct channel *channel, const struct operation_window *window,
                           struct err *err)
{
    if (is_too_much(channel, window))
        return fail(err, HVD_ERR_PROTOCOL, "operation %u is done, and %zu more bytes came",
                    channel->in_number, channel->in_left);
    return 0;
}

static void *find_space(const struct channel *channel, const struct operation_window *window,
                        size_t *nbytes)
{
    struct operation *operation = find(window, channel->in_number);
    *nbytes = 0;
    return operation ? operation->type->space(operation, channel->peer, nbytes) : NULL;
}

/* The rest of a frame, as far as there is room for it, and the header of the next one. */
static int receive_some(struct channel *channel, const struct operation_window *window,
                        struct err *err)
{
    size_t room = 0, left = channel->in_left, got = channel->in_header_received;
    void *space = left > 0 ? find_space(channel, window, &room) : NULL;
    if (left > 0 && room == 0)
        return wait_with_frame(channel, window, err);
    room = least(room, left);
    struct iovec parts[] = { { space, room }, { channel->in_header + got, CHANNEL_HEADER - got } };
    int first = left > 0 ? 0 : 1, end = room == left ? 2 : 1;
    ssize_t nbytes = link_try_receive_parts(channel->link, parts + first, end - first, err);
    if (nbytes <= 0)
        return (int)nbytes;
    size_t of_data = least((size_t)nbytes, room);
    channel->in_left -= of_data;
    channel->in_header_received += (size_t)nbytes - of_data;
    struct operation *operation = find(window, channel->in_number);
    int rc = HVD_OK;
    if (of_data > 0)
        rc = operation->type->received(operation, channel->peer, of_data, err);
    if (rc == HVD_OK && channel->in_header_received == CHANNEL_HEADER)
        rc = take_header(channel, err);
    return rc < 0 ? rc : 1;
}

/* What follows a header that came alone is likely to be there too. */
static int receive_frame(struct channel *channel, const struct operation_window *window,
                         struct err *err)
{
    bool had_header = channel->in_left > 0;
    int rc = receive_some(channel, window, err);
    if (rc <= 0 || had_header || channel->in_left == 0)
        return rc;
    rc = receive_some(channel, window, err);
    return rc < 0 ? rc : 1;
}

int channel_move(struct channel *channel, struct operation_window *window, struct err *err)
{
    int sent = send_some(channel, window, err);
    if (sent < 0)
        return sent;
    int received = receive_frame(channel, window, err);
    return received < 0 ? received : sent | received;
}

static bool is_waiting(const struct channel *channel, const struct operation_window *window)
{
    size_t room;
    if (channel->in_left == 0)
        return false;
    find_space(channel, window, &room);
    return room == 0 && !is_too_much(channel, window);
}

short channel_events(const struct channel *channel, const struct operation_window *window)
{
    uint32_t number;
    size_t nbytes;
    bool sends = !channel_is_flushed(channel) || find_output(channel, window, &number, &nbytes);
    return (short)((is_waiting(channel, window) ? 0 : POLLIN) | (sends ? POLLOUT : 0));
}
