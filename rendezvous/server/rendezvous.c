/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous on a loop: the server (server.h), whose time is the loop's and whose deadlines are
 * one timer. The timer runs only while something is pending, so that a running job causes no
 * wakeups. After a freeze of the machine, input that has arrived meanwhile is read before deadlines
 * are looked at. The timer shows a freeze by being late, but not how long it was: the freeze may
 * have ended just after a deadline, and began no earlier than something happened here last. */
#include "rendezvous/server/rendezvous.h"

#include "rendezvous/server/server.h"

#include <stdlib.h>

/* When the timer is later than LATE_MS, input is read for as long as nothing has happened, but no
 * longer than READ_MS. When nothing has happened for READ_MS or more, the machine may have been
 * frozen until now even if the timer is hardly late: input that is there already is read, for
 * LATE_MS. */
enum { LATE_MS = 20, READ_MS = 1000 };

struct rendezvous {
    struct server server;
    uv_timer_t timer;
    uint64_t armed_ms; /* the deadline for which it runs, SERVER_NEVER while it is stopped */
    uint64_t due_ms;   /* when it fires */
    uint64_t ran_ms;   /* when something happened here last */
    uint64_t read_ms;  /* until then no deadline is looked at */
    bool put_off;      /* for that; a deadline once, for a loop that is always late has some, too */
};

static uint64_t rendezvous_now_ms(const struct rendezvous *rendezvous)
{
    return uv_now(rendezvous->timer.loop);
}

static void on_rendezvous_timer(uv_timer_t *timer);

static void start_timer(struct rendezvous *rendezvous, uint64_t due_ms)
{
    rendezvous->due_ms = due_ms;
    uv_timer_start(&rendezvous->timer, on_rendezvous_timer, due_ms - rendezvous_now_ms(rendezvous),
                   0);
}

static void arm(struct rendezvous *rendezvous)
{
    uint64_t deadline_ms = server_deadline(&rendezvous->server),
             now = rendezvous_now_ms(rendezvous);
    rendezvous->ran_ms = now;
    if (deadline_ms == rendezvous->armed_ms || uv_is_closing((uv_handle_t *)&rendezvous->timer))
        return;
    rendezvous->armed_ms = deadline_ms;
    rendezvous->put_off = false;
    if (deadline_ms == SERVER_NEVER)
        uv_timer_stop(&rendezvous->timer);
    else
        start_timer(rendezvous, deadline_ms > now ? deadline_ms : now);
}

/* For how long input is read now that the timer has come. */
static uint64_t reading_ms(const struct rendezvous *rendezvous, uint64_t now)
{
    uint64_t quiet_ms = now - rendezvous->ran_ms;
    uint64_t late_ms = now > rendezvous->due_ms ? now - rendezvous->due_ms : 0;
    bool late = late_ms > LATE_MS;
    if (late && quiet_ms < late_ms) /* something has come since the freeze */
        quiet_ms = late_ms;
    if (quiet_ms < READ_MS)
        return late ? quiet_ms : 0;
    return late ? READ_MS : LATE_MS;
}

static void on_rendezvous_timer(uv_timer_t *timer)
{
    struct rendezvous *rendezvous = timer->data;
    uint64_t now = rendezvous_now_ms(rendezvous);
    if (!rendezvous->put_off) {
        uint64_t read_ms = now + reading_ms(rendezvous, now);
        rendezvous->put_off = read_ms > now;
        rendezvous->read_ms = read_ms > rendezvous->read_ms ? read_ms : rendezvous->read_ms;
    }
    if (now < rendezvous->read_ms) {
        start_timer(rendezvous, rendezvous->read_ms);
        return;
    }
    rendezvous->put_off = false;
    rendezvous->armed_ms = SERVER_NEVER;
    server_tick(&rendezvous->server, rendezvous_now_ms(rendezvous));
    arm(rendezvous);
}

/* Milliseconds since 1970 when the loop's clock said 0. */
static uint64_t epoch_ms(uv_loop_t *loop)
{
    uv_timeval64_t now = { 0 };
    uv_gettimeofday(&now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_usec / 1000 - uv_now(loop);
}

static struct rendezvous *rendezvous_allocate(struct err *err)
{
    if (auth_init(err) != HVD_OK)
        return NULL;
    struct rendezvous *rendezvous = calloc(1, sizeof *rendezvous);
    if (!rendezvous) {
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    return rendezvous;
}

/* NULL if the server could not be made. */
static struct rendezvous *rendezvous_start(struct rendezvous *rendezvous, uv_loop_t *loop, int rc)
{
    if (rc != HVD_OK) {
        free(rendezvous);
        return NULL;
    }
    uv_timer_init(loop, &rendezvous->timer);
    rendezvous->timer.data = rendezvous;
    rendezvous->armed_ms = SERVER_NEVER;
    rendezvous->ran_ms = uv_now(loop);
    return rendezvous;
}

struct rendezvous *rendezvous_create(uv_loop_t *loop, const struct rendezvous_options *options,
                                     struct err *err)
{
    struct rendezvous *rendezvous = rendezvous_allocate(err);
    if (!rendezvous)
        return NULL;
    return rendezvous_start(
        rendezvous, loop,
        server_init(&rendezvous->server, options, epoch_ms(loop), uv_now(loop), err));
}

struct rendezvous *rendezvous_create_service(uv_loop_t *loop,
                                             const struct rendezvous_service_options *options,
                                             struct err *err)
{
    struct rendezvous *rendezvous = rendezvous_allocate(err);
    if (!rendezvous)
        return NULL;
    server_init_service(&rendezvous->server, options, epoch_ms(loop), uv_now(loop));
    return rendezvous_start(rendezvous, loop, HVD_OK);
}

static struct rendezvous *owner(struct server *server)
{
    return (struct rendezvous *)((char *)server - offsetof(struct rendezvous, server));
}

struct rendezvous_connection *rendezvous_accept(struct rendezvous *rendezvous,
                                                struct rendezvous_stream *stream,
                                                enum rendezvous_origin origin)
{
    struct rendezvous_connection *connection =
        server_accept(&rendezvous->server, stream, origin, rendezvous_now_ms(rendezvous));
    arm(rendezvous);
    return connection;
}

/* The memory of the rendezvous outlives these calls, even if a callback destroys it: it is freed by
 * the loop, which runs after them. */
void rendezvous_receive(struct rendezvous_connection *connection, const void *data, size_t length)
{
    struct rendezvous *rendezvous = owner(connection->server);
    server_receive(connection, data, length, rendezvous_now_ms(rendezvous));
    arm(rendezvous);
}

void rendezvous_hangup(struct rendezvous_connection *connection)
{
    struct rendezvous *rendezvous = owner(connection->server);
    server_hangup(connection, rendezvous_now_ms(rendezvous));
    arm(rendezvous);
}

struct rendezvous_server rendezvous_server(struct rendezvous *rendezvous)
{
    return (struct rendezvous_server){ rendezvous, rendezvous_accept, rendezvous_receive,
                                       rendezvous_hangup };
}

void rendezvous_rank_started(struct rendezvous *rendezvous, int rank, int pid)
{
    server_rank_started(&rendezvous->server, rank, pid);
}

void rendezvous_rank_ended(struct rendezvous *rendezvous, int rank, const struct rank_end_how *how)
{
    server_rank_ended(&rendezvous->server, rank, how, rendezvous_now_ms(rendezvous));
    arm(rendezvous);
}

void rendezvous_tell_end(struct rendezvous *rendezvous, int rank, const struct rendezvous_end *end)
{
    server_tell_end(&rendezvous->server, rank, end, rendezvous_now_ms(rendezvous));
    arm(rendezvous);
}

void rendezvous_change_key(struct rendezvous *rendezvous, const struct job_key *key)
{
    server_change_key(&rendezvous->server, key);
}

void rendezvous_tell_verdict(struct rendezvous *rendezvous,
                             const struct rendezvous_verdict *verdict)
{
    server_tell_verdict(&rendezvous->server, verdict, rendezvous_now_ms(rendezvous));
    arm(rendezvous);
}

int rendezvous_intend(struct rendezvous *rendezvous, const struct rendezvous_member *members,
                      int count, struct err *err)
{
    int rc = server_intend(&rendezvous->server, members, count, rendezvous_now_ms(rendezvous), err);
    arm(rendezvous);
    return rc;
}

void rendezvous_place(struct rendezvous *rendezvous, int worker, const struct rank_info *place)
{
    server_place_worker(&rendezvous->server, worker, place);
}

void rendezvous_remove(struct rendezvous *rendezvous, int worker)
{
    server_remove(&rendezvous->server, worker, rendezvous_now_ms(rendezvous));
    arm(rendezvous);
}

int rendezvous_ask(struct rendezvous *rendezvous, struct err *err)
{
    int rc = server_ask(&rendezvous->server, rendezvous_now_ms(rendezvous), err);
    arm(rendezvous);
    return rc;
}

static void on_rendezvous_closed(uv_handle_t *timer)
{
    struct rendezvous *rendezvous = timer->data;
    server_fini(&rendezvous->server);
    free(rendezvous);
}

void rendezvous_destroy(struct rendezvous *rendezvous)
{
    if (!rendezvous)
        return;
    server_close(&rendezvous->server);
    uv_close((uv_handle_t *)&rendezvous->timer, on_rendezvous_closed);
}
