/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of operations over a link; see channel.h. */
#include "lib/engine/channel.h"

#include "lib/base/checksum.h"
#include "lib/base/min.h"
#include "lib/base/wire.h"

#include <assert.h>
#include <endian.h>
#include <poll.h>
#include <string.h>

enum { SUM_BITS = 32 - CHANNEL_LENGTH_BITS };

_Static_assert(CHANNEL_FRAME_MAX < 1 << CHANNEL_LENGTH_BITS, "the rest of the word is the sum's");

static uint32_t header_sum(uint32_t number, uint32_t length)
{
    return checksum_word((uint64_t)length << 32 | number, SUM_BITS);
}

void channel_header_encode(unsigned char header[CHANNEL_HEADER], uint32_t number, uint32_t length)
{
    uint32_t words[] = { htole32(number),
                         htole32(header_sum(number, length) << CHANNEL_LENGTH_BITS | length) };
    memcpy(header, words, sizeof words);
}

/* NULL when the operation is done, or has not been started here. */
static struct operation *channel_find(const struct operation_window *window, uint32_t number)
{
    bool inside = number - window->first < window->end - window->first;
    return inside ? window->at[number % WINDOW_SIZE] : NULL;
}

/* Numbers wrap around: a number less than half the range behind has been started. */
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

/* ---- debts ---- */

static struct channel_debt *debt_at(struct channel *channel, unsigned index)
{
    return &channel->debts[(channel->first_debt + index) % CHANNEL_DEBTS];
}

/* How much of an operation's outgoing data the link has already. */
static size_t owed(const struct channel *channel, uint32_t number)
{
    size_t nbytes = 0;
    for (unsigned i = 0; i < channel->debt_count; i++) {
        const struct channel_debt *debt =
            &channel->debts[(channel->first_debt + i) % CHANNEL_DEBTS];
        nbytes += debt->number == number ? debt->nbytes : 0;
    }
    return nbytes;
}

/* Adds a debt. There is room: when there is none, nothing is given to the link. */
static void owe(struct channel *channel, uint32_t number, size_t nbytes, bool offered)
{
    if (channel->debt_count > 0) {
        struct channel_debt *last = debt_at(channel, channel->debt_count - 1);
        if (last->number == number && last->offered == offered) {
            last->nbytes += nbytes;
            return;
        }
    }
    *debt_at(channel, channel->debt_count++) = (struct channel_debt){ number, nbytes, offered };
}

static bool may_owe(const struct channel *channel)
{
    return channel->debt_count < CHANNEL_DEBTS;
}

/* So many bytes of the first debt are done. */
static void pay(struct channel *channel, const struct operation_window *window, size_t nbytes)
{
    struct channel_debt *debt = debt_at(channel, 0);
    struct operation *operation = channel_find(window, debt->number);
    debt->nbytes -= nbytes;
    if (debt->nbytes == 0) {
        channel->first_debt = (channel->first_debt + 1) % CHANNEL_DEBTS;
        channel->debt_count--;
    }
    assert(operation); /* an operation is not done before all is sent */
    operation->type->sent(operation, channel->peer, nbytes);
}

/* Tells the operations which bytes the peer has fetched. 1 if there were any. */
static int complete_debts(struct channel *channel, const struct operation_window *window)
{
    if (channel->debt_count == 0)
        return 0;
    uint64_t taken = link_taken(channel->link);
    int moved = 0;
    while (channel->debt_count > 0) {
        const struct channel_debt *debt = debt_at(channel, 0);
        size_t nbytes = debt->nbytes;
        if (debt->offered) {
            nbytes = size_min(nbytes, (size_t)(taken - channel->completed));
            channel->completed += nbytes;
        }
        if (nbytes == 0)
            break;
        pay(channel, window, nbytes);
        moved = 1;
    }
    return moved;
}

/* ---- sending ---- */

/* The data that an operation has to send and the link does not have yet; `*nbytes` 0 for none. */
static const unsigned char *output_of(const struct channel *channel, struct operation *operation,
                                      uint32_t number, size_t *nbytes)
{
    *nbytes = 0;
    if (operation->spoiled)
        return NULL; /* a rank that waits for it must not get data made from it */
    return operation->type->output(operation, channel->peer, owed(channel, number), nbytes);
}

/* Data of the lowest operation that has any to send; NULL if none has. */
static const unsigned char *find_output(const struct channel *channel,
                                        const struct operation_window *window, uint32_t *number,
                                        size_t *nbytes)
{
    *nbytes = 0;
    for (uint32_t n = window->first; n != window->end; n++) {
        struct operation *operation = window->at[n % WINDOW_SIZE];
        if (!operation)
            continue;
        const unsigned char *data = output_of(channel, operation, n, nbytes);
        *number = n;
        if (*nbytes > 0)
            return data;
    }
    return NULL;
}

static void begin_frame(struct channel *channel, uint32_t number, size_t nbytes)
{
    channel->out_number = number;
    channel->out_left = size_min(nbytes, CHANNEL_FRAME_MAX);
    channel->out_header_sent = 0;
    channel_header_encode(channel->out_header, number, (uint32_t)channel->out_left);
}

/* Drops a frame of which nothing was sent: another operation may come first next time. */
static void forget_frame(struct channel *channel)
{
    channel->out_header_sent = CHANNEL_HEADER;
    channel->out_left = 0;
}

/* Copies the rest of the header, and data behind it. Returns as link_try_send() does, for the data
 * alone; `*sent` is how many bytes of both were sent. */
static ssize_t channel_copy(struct channel *channel, const void *data, size_t nbytes, ssize_t *sent,
                            struct err *err)
{
    size_t missing = CHANNEL_HEADER - channel->out_header_sent;
    struct iovec parts[] = {
        { channel->out_header + channel->out_header_sent, missing },
        { (void *)data, nbytes },
    };
    int first = missing == 0, end = nbytes > 0 ? 2 : 1;
    *sent = link_try_send(channel->link, parts + first, end - first, err);
    if (*sent <= 0)
        return *sent;
    size_t of_header = size_min((size_t)*sent, missing);
    channel->out_header_sent += of_header;
    return *sent - (ssize_t)of_header;
}

/* Sends data of the frame whose header is on its way: 1 if anything moved, 0, or a status. */
static int channel_hand_over(struct channel *channel, struct operation *operation, const void *data,
                             size_t nbytes, struct err *err)
{
    bool large = nbytes >= CHANNEL_OFFER_LEAST && channel->link->type->offer;
    ssize_t sent = 0, offered = 0, copied = 0;
    if (large && channel->out_header_sent < CHANNEL_HEADER)
        copied = channel_copy(channel, NULL, 0, &sent, err);
    channel->link->reduced = operation->reduced;
    channel->link->exchanged = operation->exchanged;
    channel->link->message = operation->message;
    if (copied >= 0 && channel->out_header_sent == CHANNEL_HEADER && large)
        offered = link_offer(channel->link, data, nbytes, err);
    if (copied < 0 || offered < 0)
        return (int)(copied < 0 ? copied : offered);
    if (offered > 0) {
        channel->out_left -= (size_t)offered;
        owe(channel, channel->out_number, (size_t)offered, true);
        return 1;
    }
    bool had_header = sent > 0;
    copied = channel_copy(channel, data, nbytes, &sent, err);
    if (copied < 0)
        return (int)copied;
    channel->out_left -= (size_t)copied;
    if (copied > 0 && channel->debt_count > 0)
        owe(channel, channel->out_number, (size_t)copied, false);
    else if (copied > 0)
        operation->type->sent(operation, channel->peer, (size_t)copied);
    return had_header || sent > 0;
}

static int send_some(struct channel *channel, const struct operation_window *window,
                     struct err *err)
{
    size_t nbytes = 0;
    const unsigned char *data;
    bool fresh = channel_is_flushed(channel);
    if (!may_owe(channel))
        return 0;
    if (fresh) {
        uint32_t number;
        if (!(data = find_output(channel, window, &number, &nbytes)))
            return 0;
        begin_frame(channel, number, nbytes);
    }
    struct operation *operation = channel_find(window, channel->out_number);
    assert(operation);
    if (!fresh)
        data = output_of(channel, operation, channel->out_number, &nbytes);
    int rc = channel_hand_over(channel, operation, data, size_min(nbytes, channel->out_left), err);
    if (rc == 0 && fresh)
        forget_frame(channel);
    return rc;
}

/* ---- receiving ---- */

/* The header of the next frame is complete. */
static int take_header(struct channel *channel, struct err *err)
{
    struct wire_reader reader;
    wire_reader_init(&reader, channel->in_header, CHANNEL_HEADER);
    channel->in_header_received = 0;
    channel->in_number = wire_get_u32(&reader);
    uint32_t word = wire_get_u32(&reader), length = word & ((1u << CHANNEL_LENGTH_BITS) - 1);
    if (word >> CHANNEL_LENGTH_BITS != header_sum(channel->in_number, length))
        return fail(err, HVD_ERR_PROTOCOL, "the header of a frame has been changed on the way");
    channel->in_left = length;
    if (channel->in_left > 0 && channel->in_left <= CHANNEL_FRAME_MAX)
        return HVD_OK;
    return fail(err, HVD_ERR_PROTOCOL, "operation %u: a frame of %zu bytes", channel->in_number,
                channel->in_left);
}

/* True if data has come for an operation that is done on this rank. */
static bool is_too_much(const struct channel *channel, const struct operation_window *window)
{
    const struct operation *operation = channel_find(window, channel->in_number);
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
    struct operation *operation = channel_find(window, channel->in_number);
    *nbytes = 0;
    return operation ? operation->type->space(operation, channel->peer, nbytes) : NULL;
}

/* Lets the operation use received bytes in place. Returns how many, 0 if they must be copied, or a
 * negative status. */
static ssize_t use_in_place(struct channel *channel, struct operation *operation, struct err *err)
{
    size_t nbytes;
    const void *data = operation->type->take ? link_peek(channel->link, &nbytes) : NULL;
    if (!data)
        return 0;
    ssize_t used = operation->type->take(operation, channel->peer, data,
                                         size_min(nbytes, channel->in_left), err);
    if (used <= 0)
        return used;
    channel->in_left -= (size_t)used;
    int rc = link_consume(channel->link, (size_t)used, err);
    operation->spoiled |= rc < 0;
    return rc < 0 ? rc : used;
}

/* Receives the rest of a frame, as far as there is room, and the next header. */
static int receive_some(struct channel *channel, const struct operation_window *window,
                        struct err *err)
{
    size_t room = 0, left = channel->in_left, got = channel->in_header_received;
    void *space = left > 0 ? find_space(channel, window, &room) : NULL;
    if (left > 0 && room == 0)
        return wait_with_frame(channel, window, err);
    ssize_t used =
        left > 0 ? use_in_place(channel, channel_find(window, channel->in_number), err) : 0;
    if (used != 0)
        return used < 0 ? (int)used : 1;
    room = size_min(room, left);
    struct iovec parts[] = { { space, room }, { channel->in_header + got, CHANNEL_HEADER - got } };
    int first = left > 0 ? 0 : 1, end = room == left ? 2 : 1;
    ssize_t nbytes = link_try_receive_parts(channel->link, parts + first, end - first, err);
    if (nbytes <= 0)
        return (int)nbytes;
    size_t of_data = size_min((size_t)nbytes, room);
    channel->in_left -= of_data;
    channel->in_header_received += (size_t)nbytes - of_data;
    struct operation *operation = channel_find(window, channel->in_number);
    int rc = HVD_OK;
    if (of_data > 0)
        rc = operation->type->received(operation, channel->peer, of_data, err);
    if (rc == HVD_OK && channel->in_header_received == CHANNEL_HEADER)
        rc = take_header(channel, err);
    return rc < 0 ? rc : 1;
}

/* Receives once more after a header that came alone, because its data has probably come, too. */
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

/* A channel that holds a frame back does not receive, and would not notice that the peer has gone
 * without taking its offers. Returns 0, or that status. */
static int ask_debtor(const struct channel *channel, struct err *err)
{
    if (channel->debt_count == 0 || channel->in_left == 0)
        return 0;
    return (int)link_try_send(channel->link, NULL, 0, err);
}

int channel_move(struct channel *channel, struct operation_window *window, struct err *err)
{
    int moved = complete_debts(channel, window);
    int sent = send_some(channel, window, err);
    int received = sent < 0 ? sent : receive_frame(channel, window, err);
    if (received < 0) {
        complete_debts(channel, window); /* bytes that the peer took before it went have arrived */
        return received;
    }
    moved |= sent | received;
    return moved ? moved : ask_debtor(channel, err);
}

static bool is_waiting(const struct channel *channel, const struct operation_window *window)
{
    size_t room;
    if (channel->in_left == 0)
        return false;
    find_space(channel, window, &room);
    return room == 0 && !is_too_much(channel, window);
}

bool channel_has_output(const struct channel *channel, const struct operation_window *window)
{
    uint32_t number;
    size_t nbytes;
    return may_owe(channel) &&
           (!channel_is_flushed(channel) || find_output(channel, window, &number, &nbytes));
}

short channel_events(const struct channel *channel, const struct operation_window *window)
{
    bool sends = channel->debt_count > 0 || channel_has_output(channel, window);
    return (short)((is_waiting(channel, window) ? 0 : POLLIN) | (sends ? POLLOUT : 0));
}
