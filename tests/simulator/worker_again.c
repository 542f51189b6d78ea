/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank says again, on a connection of its own: that it is the rank, now or when it has long
 * left, which is refused; or, word by word, what it said at first, as somebody may have recorded
 * it, which is no proof any more, and ends the connection. While the rank dials again, its second
 * self says nothing: the rendezvous could not know which of the two was the first. */
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/worker.h"
#include "tests/simulator/world.h"

enum { TIMES_MAX = 3, LATE_US = 400000 };

struct double_ {
    struct sim_worker *worker;
    int attempts; /* of the rank that had failed when this one dialled; -1: it was to dial again */
    struct sim_end *end;
    struct frame_reader reader;
    struct seal seal;
    unsigned char nonce[NONCE_SIZE];
    bool replayed, said_hello;
};

static void on_doubles_frame(struct double_ *again, const struct frame *frame)
{
    struct wire_reader body;
    struct join_challenge challenge;
    if (again->said_hello) {
        if (frame->type != JOIN_REFUSED || again->replayed)
            sim_broken("a second rank %d is answered with type %u", again->worker->rank,
                       frame->type);
        return;
    }
    if (again->attempts != again->worker->retry.attempts)
        return;
    wire_reader_init(&body, frame->body, frame->length);
    join_challenge_decode(&challenge, &body, NULL);
    seal_init(&again->seal, SEAL_CLIENT, &world.key, again->nonce, challenge.nonce);
    if (again->replayed)
        sim_write(again->end, again->worker->hello.bytes, again->worker->hello.length);
    else
        sim_join_send_hello(again->end, &again->seal, again->worker);
    again->said_hello = true;
}

static void on_double_readable(void *context)
{
    struct double_ *again = context;
    struct frame frame;
    int error;
    size_t size;
    void *space = frame_reader_space(&again->reader, &size);
    long count = sim_read(again->end, space, size, &error);
    if (count > 0)
        frame_reader_commit(&again->reader, (size_t)count);
    while (frame_reader_next(&again->reader, &frame, NULL) > 0)
        on_doubles_frame(again, &frame);
    if (count >= 0)
        return;
    frame_reader_fini(&again->reader);
    sim_release(again->worker->process, again->end);
}

void sim_join_again(struct sim_worker *worker, bool replayed)
{
    struct double_ *again = sim_new(sizeof *again);
    again->worker = worker;
    again->attempts = worker->said_hello ? worker->retry.attempts : -1;
    again->replayed = replayed;
    again->end = sim_dial(worker->process, worker->port);
    if (!again->end)
        return;
    frame_reader_init(&again->reader, JOIN_RENDEZVOUS_MAX);
    again->end->reader = (struct sim_user){ worker->process, on_double_readable, again, false };
    sim_join_send_open(again->end, again->nonce);
}

static void say_again(void *context)
{
    sim_join_again(context, sim_once_in(2));
}

void sim_again_begin(struct sim_worker *worker)
{
    for (int times = (int)sim_dice(TIMES_MAX); times > 0; times--)
        sim_timer(worker->process, sim_dice(LATE_US), say_again, worker);
}
