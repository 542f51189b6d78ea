/* SPDX-License-Identifier: Apache-2.0 */
/* A rank and the rendezvous (lib/base/join_protocol.h): OPEN, CHALLENGE, HELLO, WELCOME or REFUSED,
 * then NEWS and questions, GOODBYE. What must hold is looked at where it is heard: the place is the
 * planned one, the second to say that it is a rank is refused. */
#include "lib/base/rank_end_text.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/worker.h"
#include "tests/simulator/world.h"

#include <stdio.h>
#include <string.h>

enum { JOIN_TIMEOUT_MS = 30000, LATE_ANSWER_US = 4000000 };

static void send_frame(struct sim_end *end, struct wire_writer *frame)
{
    sim_write(end, frame->data, frame->length);
    wire_writer_fini(frame);
}

static void send_sealed(struct sim_end *end, struct seal *seal, uint16_t type,
                        struct wire_writer *body)
{
    struct wire_writer frame = { 0 };
    seal_put(seal, &frame, type, body->data, body->length);
    wire_writer_fini(body);
    send_frame(end, &frame);
}

void sim_join_send_open(struct sim_end *end, unsigned char nonce[NONCE_SIZE])
{
    struct join_open open = { .version = JOIN_VERSION };
    struct wire_writer body = { 0 }, frame = { 0 };
    nonce_generate(nonce);
    memcpy(open.nonce, nonce, NONCE_SIZE);
    join_open_encode(&body, &open);
    frame_put(&frame, JOIN_OPEN, body.data, body.length);
    wire_writer_fini(&body);
    send_frame(end, &frame);
}

struct sim_recording sim_join_send_hello(struct sim_end *end, struct seal *seal,
                                         const struct sim_worker *worker)
{
    struct join_hello hello = { .rank = worker->rank,
                                .size = worker->size,
                                .pid = worker->process->pid,
                                .addresses.count = 1 };
    struct wire_writer body = { 0 }, frame = { 0 };
    snprintf(hello.host, sizeof hello.host, "h%d", worker->process->host);
    snprintf(hello.addresses.text[0], JOIN_ADDRESS_MAX, "192.0.2.%d:%d", worker->process->host + 1,
             10000 + worker->rank);
    join_hello_encode(&body, &hello);
    seal_put(seal, &frame, JOIN_HELLO, body.data, body.length);
    wire_writer_fini(&body);
    struct sim_recording said = { sim_new(frame.length), frame.length };
    memcpy(said.bytes, frame.data, frame.length);
    send_frame(end, &frame);
    return said;
}

static void say_failure(struct sim_worker *worker, enum join_type type, const struct rank_end *why)
{
    struct wire_writer body = { 0 };
    rank_end_encode(&body, why);
    send_sealed(worker->rendezvous, &worker->seal, type, &body);
}

void sim_join_broken(struct sim_worker *worker, const struct rank_end *why)
{
    if (why->status != HVD_ERR_PEER_LEFT)
        say_failure(worker, JOIN_BROKEN, why);
}

void sim_join_goodbye(struct sim_worker *worker, const struct rank_end *why)
{
    if (!worker->said_hello)
        return;
    say_failure(worker, JOIN_GOODBYE, why);
    sim_shut(worker->rendezvous);
}

/* ---- what the rendezvous says ---- */

static void on_challenge(struct sim_worker *worker, struct wire_reader *body)
{
    struct join_challenge challenge;
    if (join_challenge_decode(&challenge, body, NULL) < 0)
        sim_broken("rank %d gets a CHALLENGE that is none", worker->rank);
    seal_init(&worker->seal, SEAL_CLIENT, &world.key, worker->nonce, challenge.nonce);
    worker->hello = sim_join_send_hello(worker->rendezvous, &worker->seal, worker);
    worker->said_hello = true;
    worker->state = WORKER_WAITING;
    if (work.again)
        sim_again_begin(worker);
}

static void on_welcome(struct sim_worker *worker, struct wire_reader *body)
{
    struct join_welcome welcome;
    const struct rank_info *planned = &world.plan.ranks[worker->rank].rank_info;
    if (join_welcome_decode(&welcome, body, NULL) < 0 || worker->state != WORKER_WAITING)
        sim_broken("rank %d gets a WELCOME that is none", worker->rank);
    if (memcmp(&welcome.rank_info, planned, sizeof *planned) != 0)
        sim_broken("rank %d is given another place than was planned", worker->rank);
    worker->rank_info = welcome.rank_info;
    worker->state = WORKER_RUNNING;
    sim_log("rank %d is in the world", worker->rank);
    sim_links_begin(worker);
}

/* Once, and not for longer than the start timeout. */
static void on_waiting(struct sim_worker *worker, struct wire_reader *body)
{
    struct join_waiting waiting;
    if (join_waiting_decode(&waiting, body, NULL) < 0 || worker->state != WORKER_WAITING ||
        worker->told_to_wait || waiting.most_ms == 0 || !*waiting.text)
        sim_broken("rank %d gets a WAITING that is none", worker->rank);
    worker->told_to_wait = true;
}

static void on_refused(struct sim_worker *worker, struct wire_reader *body)
{
    struct join_refused refused;
    if (join_refused_decode(&refused, body, NULL) < 0 || worker->state != WORKER_WAITING)
        sim_broken("rank %d gets a REFUSED that is none", worker->rank);
    sim_worker_fail_by(worker, RANK_END_UNREACHABLE, refused.status, refused.text);
}

/* A loss breaks the world; who has left is missed only by those that still need it, and find no
 * better reason. */
static void on_news(struct sim_worker *worker, struct wire_reader *body)
{
    struct rank_end news;
    char text[500];
    if (join_news_decode(&news, body, NULL) < 0)
        sim_broken("rank %d gets NEWS that are none", worker->rank);
    rank_end_text(text, sizeof text, &news);
    sim_log("rank %d hears %d: %s", worker->rank, news.status, text);
    if (news.status != HVD_ERR_PEER_LEFT) {
        sim_worker_fail(worker, &news);
    } else if (!worker->departure) {
        worker->departure = sim_new(sizeof news);
        *worker->departure = news;
    }
}

static void answer(void *context)
{
    static struct join_report report;
    struct sim_worker *worker = context;
    struct wire_writer out = { 0 };
    if (worker->state >= WORKER_LEAVING || !worker->said_hello)
        return;
    snprintf(report.text, sizeof report.text, "rank %d is busy\n", worker->rank);
    join_report_encode(&out, &report);
    send_sealed(worker->rendezvous, &worker->seal, JOIN_REPORT, &out);
}

static void on_ask(struct sim_worker *worker, struct wire_reader *body)
{
    struct join_ask ask;
    if (join_ask_decode(&ask, body, NULL) < 0)
        sim_broken("rank %d gets an ASK that is none", worker->rank);
    if (work.again)
        sim_timer(worker->process, sim_dice(LATE_ANSWER_US), answer, worker);
    else
        answer(worker);
}

static void on_sealed(struct sim_worker *worker, const struct frame *frame)
{
    static void (*const handlers[])(struct sim_worker *, struct wire_reader *) = {
        [JOIN_WELCOME] = on_welcome, [JOIN_REFUSED] = on_refused, [JOIN_NEWS] = on_news,
        [JOIN_ASK] = on_ask,         [JOIN_WAITING] = on_waiting,
    };
    struct wire_reader body;
    bool known = frame->type < sizeof handlers / sizeof *handlers && handlers[frame->type];
    if (!known || seal_check(&worker->seal, frame, &body, NULL) < 0)
        sim_broken("rank %d gets a frame of type %u that is wrong", worker->rank, frame->type);
    else
        handlers[frame->type](worker, &body);
}

static void on_frame(struct sim_worker *worker, const struct frame *frame)
{
    struct wire_reader body;
    wire_reader_init(&body, frame->body, frame->length);
    if (worker->said_hello)
        on_sealed(worker, frame);
    else
        on_challenge(worker, &body);
}

static void dial(void *context);

/* Without an answer: it may be dialled again. */
static void on_hung_up(struct sim_worker *worker)
{
    enum join_stage stage = worker->state > WORKER_WAITING ? JOIN_ANSWERED
                            : worker->told_to_wait         ? JOIN_ASSIGNED
                            : worker->said_hello           ? JOIN_SAID_HELLO
                                                           : JOIN_CONNECTED;
    uint64_t pause_ms;
    sim_release(worker->process, worker->rendezvous);
    if (!join_retry_next(&worker->retry, stage, HVD_ERR_PEER_LOST, sim_now_ms(), sim_dice(1000),
                         &pause_ms)) {
        sim_worker_fail_by(worker, RANK_END_RENDEZVOUS_LOST, HVD_ERR_PEER_LOST,
                           "the launcher is gone");
        return;
    }
    sim_log("rank %d dials again", worker->rank);
    frame_reader_fini(&worker->reader);
    worker->said_hello = worker->told_to_wait = false;
    worker->state = WORKER_JOINING;
    sim_timer(worker->process, SIM_MS(pause_ms), dial, worker);
}

static void on_readable(void *context)
{
    struct sim_worker *worker = context;
    struct frame frame;
    int error, rc;
    size_t size;
    void *space = frame_reader_space(&worker->reader, &size);
    long count = sim_read(worker->rendezvous, space, size, &error);
    if (count > 0)
        frame_reader_commit(&worker->reader, (size_t)count);
    while ((rc = frame_reader_next(&worker->reader, &frame, NULL)) > 0)
        on_frame(worker, &frame);
    if (rc < 0)
        sim_broken("rank %d cannot read what the rendezvous says", worker->rank);
    if (count < 0)
        on_hung_up(worker);
    else if (sim_readable(worker->rendezvous))
        sim_tell(&worker->rendezvous->reader);
}

static void dial(void *context)
{
    struct sim_worker *worker = context;
    frame_reader_init(&worker->reader, JOIN_RENDEZVOUS_MAX);
    worker->rendezvous = sim_dial(worker->process, worker->port);
    if (!worker->rendezvous) {
        sim_worker_fail_by(worker, RANK_END_RENDEZVOUS_LOST, HVD_ERR_PEER_LOST,
                           "connection refused");
        return;
    }
    worker->rendezvous->reader = (struct sim_user){ worker->process, on_readable, worker, false };
    sim_join_send_open(worker->rendezvous, worker->nonce);
}

void sim_join_begin(struct sim_worker *worker)
{
    join_retry_init(&worker->retry, sim_now_ms() + JOIN_TIMEOUT_MS, false);
    dial(worker);
}
