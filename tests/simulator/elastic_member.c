/* SPDX-License-Identifier: Apache-2.0 */
/* A worker of an elastic job, as a script: joins, takes the state of rank 0, makes steps with the
 * other members and commits each of them, comes again when the world is broken or outdated, and
 * exits with status 0 after the last step, or when it was removed. Collectives are simulated only
 * as far as all members must come to each. */
#include "lib/base/env_names.h"
#include "lib/base/rank_end_text.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/elastic_job.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/system.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A link is missed for so long before the rank gives up waiting for news. */
enum { DOUBT_US = 300000 };

/* HOROVOD_STALL_SHUTDOWN_TIME_SECONDS, which is longer than any step; somebody ends a process that
 * hangs for longer. */
enum { STALL_US = 1000 * SIM_SHUTDOWN_MS, HANG_US = 40000000 };

/* An event of a member, which counts only while the member is in the same state. */
struct turn {
    struct sim_member *member;
    unsigned long number;
    void (*fn)(struct sim_member *member);
};

static void on_turn(void *context)
{
    const struct turn *turn = context;
    if (turn->member->turn == turn->number)
        turn->fn(turn->member);
}

static void member_later(struct sim_member *member, uint64_t delay_us,
                         void (*fn)(struct sim_member *member))
{
    struct turn *turn = sim_new(sizeof *turn);
    *turn = (struct turn){ member, member->turn, fn };
    sim_timer(member->process, delay_us, on_turn, turn);
}

static void member_move(struct sim_member *member, enum sim_member_state state)
{
    member->state = state;
    member->turn++;
}

bool sim_member_lives(const struct sim_member *member)
{
    return member && member->process->alive;
}

/* ---- what it says ---- */

static void member_send(struct sim_member *member, uint16_t type, struct wire_writer *body)
{
    struct wire_writer frame = { 0 };
    seal_put(&member->seal, &frame, type, body->data, body->length);
    wire_writer_fini(body);
    sim_write(member->rendezvous, frame.data, frame.length);
    wire_writer_fini(&frame);
}

static void member_say_end(struct sim_member *member, enum join_type type,
                           const struct rank_end *end)
{
    struct wire_writer body = { 0 };
    if (!member->said_hello || !member->rendezvous)
        return;
    rank_end_encode(&body, end);
    member_send(member, (uint16_t)type, &body);
}

static void member_hang_up(struct sim_member *member)
{
    if (!member->rendezvous)
        return;
    sim_shut(member->rendezvous);
    member->rendezvous->reader = (struct sim_user){ 0 };
    sim_release(member->process, member->rendezvous);
    frame_reader_fini(&member->reader);
    member->rendezvous = NULL;
    member->said_hello = false;
}

static void member_goodbye(struct sim_member *member, const struct rank_end *why)
{
    member_say_end(member, JOIN_GOODBYE, why);
    member_hang_up(member);
}

/* ---- its end ---- */

static void member_end(struct sim_member *member)
{
    sim_exit(member->process, member->exit_status);
}

void sim_member_exit(struct sim_member *member, int status)
{
    const struct rank_end well = rank_end_none();
    if (member->state == MEMBER_LEAVES)
        return;
    member_goodbye(member, &well);
    member_move(member, MEMBER_LEAVES);
    member->exit_status = status;
    member_later(member, sim_between(10, SIM_MS(40)), member_end);
}

/* ---- worlds ---- */

static void member_dial(struct sim_member *member);

static void member_come_again(struct sim_member *member, const struct rank_end *why)
{
    member_goodbye(member, why);
    member->updated = false;
    member_move(member, MEMBER_JOINS);
    member_later(member, sim_between(100, SIM_MS(sim_once_in(5) ? 3000 : 100)), member_dial);
}

static void member_stops_doubting(struct sim_member *member)
{
    struct rank_end why = rank_end_none();
    why.status = HVD_ERR_PEER_LOST;
    why.how.kind = RANK_END_UNREACHABLE;
    member_come_again(member, &why);
}

/* The links to a rank have ended. */
static void member_misses(struct sim_member *member)
{
    const struct sim_epoch *epoch = &elastic.epochs[member->epoch];
    struct rank_end why = rank_end_none();
    for (int rank = 0; rank < epoch->size && why.rank < 0; rank++)
        if (epoch->members[rank] && !epoch->members[rank]->process->alive)
            why.rank = rank;
    why.status = HVD_ERR_PEER_LOST;
    why.how.kind = RANK_END_UNREACHABLE;
    why.because_of = why.rank;
    member_say_end(member, JOIN_BROKEN, &why);
    member_move(member, MEMBER_DOUBTS);
    member_later(member, DOUBT_US, member_stops_doubting);
}

static void member_on_death(struct sim_process *process)
{
    struct sim_member *dead = process->script;
    elastic.losses += dead->exit_status != 0;
    frame_reader_fini(&dead->reader);
    dead->rendezvous = NULL;
    if (dead->state != MEMBER_RUNS && dead->state != MEMBER_DOUBTS)
        return;
    struct sim_epoch *epoch = &elastic.epochs[dead->epoch];
    for (int rank = 0; rank < epoch->size; rank++) {
        struct sim_member *other = epoch->members[rank];
        if (sim_member_lives(other) && other->state == MEMBER_RUNS && other->epoch == dead->epoch &&
            sim_once_in(2))
            member_later(other, sim_between(50, SIM_MS(30)), member_misses);
    }
}

/* ---- steps ---- */

static void member_arrives(struct sim_member *member);

static void member_has_stepped(struct sim_member *member)
{
    const struct rank_end well = rank_end_none();
    const struct sim_epoch *epoch = &elastic.epochs[member->epoch];
    member->committed = epoch->start + epoch->step - 1;
    if (member->committed >= elastic.steps)
        sim_member_exit(member, 0);
    else if (epoch->leaves)
        member_come_again(member, &well);
    else
        member_later(member, sim_between(100, SIM_MS(sim_once_in(30) ? 2000 : 60)), member_arrives);
}

/* The last member completes the step for all. The first step takes the state of rank 0. */
static void member_arrives(struct sim_member *member)
{
    struct sim_epoch *epoch = &elastic.epochs[member->epoch];
    epoch->leaves |= member->updated;
    if (++epoch->arrived < epoch->size)
        return;
    epoch->arrived = 0;
    if (epoch->step++ == 0)
        epoch->start = epoch->members[0]->committed;
    for (int rank = 0; rank < epoch->size; rank++) {
        struct sim_member *other = epoch->members[rank];
        other->has_state = true;
        if (sim_member_lives(other) && other->state == MEMBER_RUNS &&
            &elastic.epochs[other->epoch] == epoch)
            member_later(other, sim_between(10, 2000), member_has_stepped);
    }
}

/* ---- ranks that hang ---- */

static bool member_waits_in(const struct sim_member *member, const struct sim_epoch *epoch)
{
    return sim_member_lives(member) && member->state == MEMBER_RUNS &&
           &elastic.epochs[member->epoch] == epoch;
}

static bool member_hangs_in(const struct sim_member *member, const struct sim_epoch *epoch)
{
    return sim_member_lives(member) && member->state == MEMBER_HANGS &&
           &elastic.epochs[member->epoch] == epoch;
}

static void member_breaks_off(struct sim_member *member)
{
    struct rank_end why = rank_end_none();
    why.status = HVD_ERR_PEER_LOST;
    why.how.kind = RANK_END_TIMEOUT;
    rank_end_set_late(&why, &elastic.epochs[member->epoch].late);
    snprintf(why.words, sizeof why.words, "barrier 'step' has waited 4 s");
    member_say_end(member, JOIN_BROKEN, &why);
    member_come_again(member, &why);
}

/* The root names the ranks that hang, or the first of them, and each other rank says so. */
static void on_stall_time(void *context)
{
    struct sim_epoch *epoch = context;
    epoch->late.count = 0;
    for (int rank = 0; rank < epoch->size; rank++)
        if (epoch->members[rank] && member_hangs_in(epoch->members[rank], epoch))
            late_ranks_add(&epoch->late, rank);
    if (epoch->late.count > 1 && sim_once_in(3))
        epoch->late.count = 1;
    for (int rank = 0; epoch->late.count > 0 && rank < epoch->size; rank++)
        if (epoch->members[rank] && member_waits_in(epoch->members[rank], epoch))
            member_later(epoch->members[rank], sim_between(50, SIM_MS(30)), member_breaks_off);
}

static void end_hanging(void *context)
{
    struct sim_member *member = context;
    if (sim_member_lives(member) && member->state == MEMBER_HANGS)
        sim_kill(member->process, SIGKILL);
}

void sim_member_hang(struct sim_member *member)
{
    if (member->state != MEMBER_RUNS)
        return;
    sim_log("worker %d hangs", member->number);
    member_move(member, MEMBER_HANGS);
    sim_after(NULL, STALL_US, on_stall_time, &elastic.epochs[member->epoch]);
    sim_after(NULL, HANG_US, end_hanging, member);
}

/* ---- what the rendezvous says ---- */

static void on_challenge(struct sim_member *member, struct wire_reader *body)
{
    struct join_challenge challenge;
    struct join_hello hello = { .rank = -1,
                                .worker = member->number,
                                .epoch = (uint32_t)(member->epoch + 1),
                                .pid = member->process->pid,
                                .addresses.count = 1 };
    struct wire_writer out = { 0 };
    if (join_challenge_decode(&challenge, body, NULL) < 0)
        sim_broken("worker %d gets a CHALLENGE that is none", member->number);
    seal_init(&member->seal, SEAL_CLIENT, &world.key, member->nonce, challenge.nonce);
    snprintf(hello.host, sizeof hello.host, "h%d", member->process->host);
    snprintf(hello.addresses.text[0], JOIN_ADDRESS_MAX, "192.0.2.%d:%d", member->process->host + 1,
             10000 + member->number);
    join_hello_encode(&out, &hello);
    member_send(member, JOIN_HELLO, &out);
    member->said_hello = true;
    member_move(member, MEMBER_WAITS);
}

static void on_member_welcome(struct sim_member *member, struct wire_reader *body)
{
    static struct join_welcome welcome;
    if (join_welcome_decode(&welcome, body, NULL) < 0 || member->state != MEMBER_WAITS) {
        sim_broken("worker %d gets a WELCOME that is none", member->number);
        return;
    }
    sim_log("worker %d is rank %d of %d in epoch %u", member->number, welcome.rank_info.rank,
            welcome.rank_info.size, welcome.epoch);
    sim_elastic_on_welcome(member, &welcome);
    member_move(member, MEMBER_RUNS);
    member_later(member, sim_between(100, SIM_MS(50)), member_arrives);
}

static void on_member_refused(struct sim_member *member, struct wire_reader *body)
{
    struct join_refused refused;
    if (join_refused_decode(&refused, body, NULL) < 0 || member->state != MEMBER_WAITS)
        sim_broken("worker %d gets a REFUSED that is none", member->number);
    sim_log("worker %d is refused: %s", member->number, refused.text);
    if (refused.status != HVD_ERR_REMOVED)
        sim_broken("worker %d is refused: %s", member->number, refused.text);
    sim_member_exit(member, refused.status == HVD_ERR_REMOVED ? 0 : 1);
}

static void on_member_news(struct sim_member *member, struct wire_reader *body)
{
    struct rank_end news;
    if (join_news_decode(&news, body, NULL) < 0)
        sim_broken("worker %d gets NEWS that are none", member->number);
    sim_log("worker %d hears of rank %d: %d", member->number, news.rank, news.status);
    bool is_in_world = member->state == MEMBER_RUNS || member->state == MEMBER_DOUBTS;
    if (is_in_world && news.status != HVD_ERR_PEER_LEFT)
        member_come_again(member, &news);
    else if (member->state == MEMBER_RUNS)
        member_later(member, DOUBT_US, member_misses);
}

static void on_member_update(struct sim_member *member, struct wire_reader *body)
{
    struct join_update update;
    if (join_update_decode(&update, body, NULL) < 0)
        sim_broken("worker %d gets an UPDATE that is none", member->number);
    member->updated = true;
}

static void on_member_waiting(struct sim_member *member, struct wire_reader *body)
{
    struct join_waiting waiting;
    if (join_waiting_decode(&waiting, body, NULL) < 0 || member->state != MEMBER_WAITS)
        sim_broken("worker %d gets a WAITING that is none", member->number);
}

static void on_member_frame(struct sim_member *member, const struct frame *frame)
{
    static void (*const handlers[])(struct sim_member *, struct wire_reader *) = {
        [JOIN_WELCOME] = on_member_welcome, [JOIN_REFUSED] = on_member_refused,
        [JOIN_NEWS] = on_member_news,       [JOIN_WAITING] = on_member_waiting,
        [JOIN_UPDATE] = on_member_update,
    };
    struct wire_reader body;
    if (!member->said_hello) {
        wire_reader_init(&body, frame->body, frame->length);
        on_challenge(member, &body);
        return;
    }
    bool known = frame->type < sizeof handlers / sizeof *handlers && handlers[frame->type];
    if (!known || seal_check(&member->seal, frame, &body, NULL) < 0)
        sim_broken("worker %d gets a frame of type %u that is wrong", member->number, frame->type);
    else
        handlers[frame->type](member, &body);
}

/* The rendezvous has gone: hvdrun or the agent has. */
static void member_is_alone(struct sim_member *member)
{
    member_hang_up(member);
    if (member->state != MEMBER_HANGS)
        sim_member_exit(member, 1);
}

static void on_member_readable(void *context)
{
    struct sim_member *member = context;
    struct sim_end *end = member->rendezvous;
    struct frame frame;
    int error, rc = 0;
    size_t size;
    if (!end)
        return;
    void *space = frame_reader_space(&member->reader, &size);
    long count = sim_read(end, space, size, &error);
    if (count > 0)
        frame_reader_commit(&member->reader, (size_t)count);
    while (member->rendezvous == end && (rc = frame_reader_next(&member->reader, &frame, NULL)) > 0)
        on_member_frame(member, &frame);
    if (rc < 0)
        sim_broken("worker %d cannot read what the rendezvous says", member->number);
    if (member->rendezvous != end)
        return;
    if (count < 0)
        member_is_alone(member);
    else if (sim_readable(end))
        sim_tell(&end->reader);
}

static void member_dial(struct sim_member *member)
{
    struct join_open open = { .version = JOIN_VERSION };
    struct wire_writer body = { 0 }, frame = { 0 };
    member_move(member, MEMBER_JOINS);
    frame_reader_init(&member->reader, JOIN_RENDEZVOUS_MAX);
    member->rendezvous = sim_dial(member->process, member->port);
    if (!member->rendezvous) {
        sim_member_exit(member, 1);
        return;
    }
    member->rendezvous->reader =
        (struct sim_user){ member->process, on_member_readable, member, false };
    nonce_generate(member->nonce);
    memcpy(open.nonce, member->nonce, NONCE_SIZE);
    join_open_encode(&body, &open);
    frame_put(&frame, JOIN_OPEN, body.data, body.length);
    wire_writer_fini(&body);
    sim_write(member->rendezvous, frame.data, frame.length);
    wire_writer_fini(&frame);
}

/* ---- its beginning ---- */

static int member_variable(char *const *envp, const char *name)
{
    size_t length = strlen(name);
    for (; *envp; envp++)
        if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
            return atoi(*envp + length + 1);
    return -1;
}

static bool on_member_signal(struct sim_process *process, int signum)
{
    const struct sim_member *member = process->script;
    bool end_asked = signum == SIGTERM || signum == SIGINT || signum == SIGHUP;
    return signum == SIGCONT || (end_asked && member->ignores_term);
}

static bool befalls_one_in(int n)
{
    return n > 0 && sim_once_in((uint32_t)n);
}

static void member_crash(struct sim_member *member)
{
    sim_member_exit(member, 3);
}

void sim_worker_begin(struct sim_process *process, char *const *envp, const int fds[3])
{
    struct sim_member *member = sim_new(sizeof *member);
    for (int i = 1; i < 3; i++)
        sim_hold(process, sim_descriptor_end(fds[i]));
    *member = (struct sim_member){ .process = process,
                                   .number = member_variable(envp, ENV_WORKER),
                                   .port = member_variable(envp, ENV_RENDEZVOUS_PORT),
                                   .epoch = -1,
                                   .exit_status = -1,
                                   .ignores_term = sim_once_in(12) };
    process->script = member;
    process->on_signal = on_member_signal;
    process->on_death = member_on_death;
    if (member->number < 0 || member->number >= elastic.numbered ||
        elastic.members[member->number]) {
        sim_broken("a process begins as worker %d of %d", member->number, elastic.numbered);
        abort();
    }
    if (world.writers_without_thread > 0)
        sim_broken("worker %d runs before hvdrun has its threads", member->number);
    elastic.members[member->number] = member;
    uint64_t delay_us = sim_between(SIM_MS(1), SIM_MS(sim_once_in(4) ? 3000 : 60));
    if (befalls_one_in(elastic.crashes_at_start))
        member_later(member, delay_us, member_crash);
    else if (!befalls_one_in(elastic.never_joins))
        member_later(member, delay_us, member_dial);
}
