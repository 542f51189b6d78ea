/* SPDX-License-Identifier: Apache-2.0 */
/* Byte streams; see stream.h. */
#include "tests/simulator/stream.h"

#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/process.h"

#include <errno.h>
#include <string.h>

/* So long may TCP wait, after a path is up again, before it sends once more what was lost. */
#define RESEND_US SIM_MS(200)

static struct sim_end *all;
static uint64_t down_until_us[SIM_HOSTS_MAX][SIM_HOSTS_MAX];

void sim_streams_reset(void)
{
    all = NULL;
    memset(down_until_us, 0, sizeof down_until_us);
}

struct sim_end *sim_ends(void)
{
    return all;
}

void sim_stream_make(struct sim_end *ends[2], int host, int other_host)
{
    for (int i = 0; i < 2; i++) {
        ends[i] = sim_new(sizeof *ends[i]);
        ends[i]->host = i == 0 ? host : other_host;
        ends[i]->next = all;
        all = ends[i];
    }
    ends[0]->peer = ends[1];
    ends[1]->peer = ends[0];
}

/* ---- telling ---- */

static void notify(void *context)
{
    struct sim_user *user = context;
    user->told = false;
    if (user->process)
        user->notify(user->context);
}

void sim_tell(struct sim_user *user)
{
    if (!user->process || user->told)
        return;
    user->told = true;
    sim_after(user->process, sim_dice(20), notify, user);
}

/* ---- paths ---- */

void sim_path_down(int from, int to, uint64_t until_us)
{
    if (until_us > down_until_us[from][to]) /* what is cut for ever does not come back */
        down_until_us[from][to] = until_us;
}

bool sim_path_is_down(int from, int to)
{
    return down_until_us[from][to] > sim_now_us();
}

/* When something sent now arrives, or SIM_NEVER. */
static uint64_t arrival_us(const struct sim_end *from)
{
    int a = from->host, b = from->peer->host;
    uint64_t up_us = down_until_us[a][b];
    if (up_us == SIM_NEVER)
        return SIM_NEVER;
    uint64_t sent_us = up_us > sim_now_us() ? up_us + sim_between(0, RESEND_US) : sim_now_us();
    uint64_t delay_us = a == b ? sim_between(2, 60) : sim_between(50, 400);
    if (a != b && sim_once_in(50))
        delay_us += sim_dice(40000);
    uint64_t at_us = sent_us + delay_us;
    return at_us > from->last_arrival_us ? at_us : from->last_arrival_us;
}

/* ---- moving ---- */

struct segment {
    struct sim_end *to;
    size_t length;
    bool fin;
    char bytes[];
};

static void append(char **buffer, size_t *start, size_t *length, size_t *room, const char *data,
                   size_t nbytes)
{
    if (*start + *length + nbytes > *room) {
        size_t wanted = 2 * (*length + nbytes) + 256;
        char *grown = sim_room(wanted);
        if (*length > 0)
            memcpy(grown, *buffer + *start, *length);
        *buffer = grown;
        *start = 0;
        *room = wanted;
    }
    if (nbytes > 0)
        memcpy(*buffer + *start + *length, data, nbytes);
    *length += nbytes;
}

static void consume(size_t *start, size_t *length, size_t nbytes)
{
    *start += nbytes;
    *length -= nbytes;
    if (*length == 0)
        *start = 0;
}

static void break_writes(void *context)
{
    struct sim_end *end = context;
    end->broken = true;
    end->out_length = 0;
    sim_tell(&end->writer);
}

/* Nobody reads what `end` says. It hears so over the path that its words have taken, and back. */
static void refuse_writes(struct sim_end *end)
{
    uint64_t there_us = down_until_us[end->host][end->peer->host];
    uint64_t back_us = down_until_us[end->peer->host][end->host];
    uint64_t up_us = there_us > back_us ? there_us : back_us;
    uint64_t delay_us = sim_between(2, 300);
    if (up_us == SIM_NEVER)
        return;
    if (up_us > sim_now_us())
        delay_us += up_us - sim_now_us() + sim_between(0, RESEND_US);
    sim_after(NULL, delay_us, break_writes, end);
}

static void arrive(void *context)
{
    struct segment *segment = context;
    struct sim_end *to = segment->to;
    to->in_flight -= segment->length;
    if (to->holders == 0) {
        if (segment->length > 0)
            refuse_writes(to->peer);
        return;
    }
    append(&to->in, &to->in_start, &to->in_length, &to->in_room, segment->bytes, segment->length);
    to->fin |= segment->fin;
    sim_tell(&to->reader);
}

static void send_segment(struct sim_end *from, size_t length, bool fin)
{
    uint64_t at_us = arrival_us(from);
    struct segment *segment = sim_room(sizeof *segment + length);
    *segment = (struct segment){ .to = from->peer, .length = length, .fin = fin };
    if (length > 0)
        memcpy(segment->bytes, from->out + from->out_start, length);
    consume(&from->out_start, &from->out_length, length);
    from->moved += length;
    from->peer->in_flight += length;
    from->last_arrival_us = at_us;
    if (at_us != SIM_NEVER)
        sim_after(NULL, at_us - sim_now_us(), arrive, segment);
}

static void move(struct sim_end *end)
{
    struct sim_end *to = end->peer;
    bool moved = false;
    while (end->out_length > 0 && !end->broken && to->in_flight + to->in_length < SIM_WINDOW) {
        size_t room = SIM_WINDOW - to->in_flight - to->in_length;
        size_t length = end->out_length < room ? end->out_length : room;
        if (length > 1 && sim_once_in(16))
            length = 1 + sim_dice((uint32_t)length);
        send_segment(end, length, false);
        moved = true;
    }
    if (end->out_length == 0 && end->shut && !to->fin && end->last_arrival_us != SIM_NEVER) {
        send_segment(end, 0, true);
        end->shut = false;
        moved = true;
    }
    if (moved)
        sim_tell(&end->writer);
}

void sim_write(struct sim_end *end, const void *data, size_t length)
{
    end->given += length;
    if (end->broken || end->peer->holders == 0) {
        refuse_writes(end);
        return;
    }
    append(&end->out, &end->out_start, &end->out_length, &end->out_room, data, length);
    move(end);
}

void sim_cut_write(struct sim_end *end)
{
    consume(&end->out_start, &end->out_length, end->out_length);
    end->given = end->moved;
}

void sim_shut(struct sim_end *end)
{
    end->shut = true;
    move(end);
}

bool sim_readable(const struct sim_end *end)
{
    return end->in_length > 0 || end->fin || end->error;
}

long sim_read(struct sim_end *end, void *buffer, size_t size, int *error)
{
    *error = 0;
    if (end->in_length > 0) {
        size_t length = end->in_length < size ? end->in_length : size;
        memcpy(buffer, end->in + end->in_start, length);
        consume(&end->in_start, &end->in_length, length);
        if (end->peer->out_length > 0)
            move(end->peer);
        return (long)length;
    }
    *error = end->error;
    return end->fin || end->error ? -1 : 0;
}

void sim_stream_break(struct sim_end *end, int error)
{
    for (int i = 0; i < 2; i++, end = end->peer) {
        if (end->holders == 0)
            continue;
        end->error = error;
        end->fin |= error == 0;
        end->broken = true;
        sim_tell(&end->reader);
        sim_tell(&end->writer);
    }
}

/* ---- holding ---- */

void sim_hold(struct sim_process *process, struct sim_end *end)
{
    struct sim_hold *hold = sim_new(sizeof *hold);
    *hold = (struct sim_hold){ end, process->holds };
    process->holds = hold;
    end->holders++;
}

static void let_go(struct sim_end *end, const struct sim_process *process)
{
    if (end->reader.process == process && end->holders == 1)
        end->reader.process = NULL;
    if (end->writer.process == process && end->holders == 1)
        end->writer.process = NULL;
    if (--end->holders > 0)
        return;
    end->out_length = 0;
    end->shut = true;
    bool unread = end->in_length > 0;
    if (end->peer->holders > 0)
        move(end);
    if (unread && end->peer->holders > 0)
        refuse_writes(end->peer);
}

void sim_release(struct sim_process *process, struct sim_end *end)
{
    for (struct sim_hold **at = &process->holds; *at; at = &(*at)->next) {
        if ((*at)->end != end)
            continue;
        *at = (*at)->next;
        let_go(end, process);
        return;
    }
}

void sim_release_all(struct sim_process *process)
{
    while (process->holds)
        sim_release(process, process->holds->end);
}
