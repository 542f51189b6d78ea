/* SPDX-License-Identifier: Apache-2.0 */
/* Notification of unmodified Horovod workers; see worker_notifier.h. One exchange at a time has an
 * answer that counts: a later one replaces it. */
#include "src/hvdrun/worker_notifier.h"

#include "launcher/base/xalloc.h"
#include "launcher/elastic/worker_notice.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <uv.h>

struct listener {
    int worker;
    struct worker_address address;
    struct listener *next;
};

struct worker_notifier {
    struct job *job;
    struct listener *listeners;
    int wanted; /* the worker to notify; -1: none */
    int tries;  /* that have failed */
    struct {
        uint32_t id;
        enum worker_notice notice;
        struct listener *to;
    } sent;
    int32_t seconds; /* of the last notice: each is later than the one before */
};

struct worker_notifier *worker_notifier_create(struct job *job)
{
    struct worker_notifier *notifier = xcalloc(1, sizeof *notifier);
    notifier->job = job;
    notifier->wanted = -1;
    return notifier;
}

static struct listener *listener_find(const struct worker_notifier *notifier, int worker)
{
    struct listener *at = notifier->listeners;
    while (at && at->worker != worker)
        at = at->next;
    return at;
}

/* Another try takes another address, if there is one. */
static void notifier_send(struct worker_notifier *notifier, struct listener *to,
                          enum worker_notice notice)
{
    unsigned char request[WORKER_NOTICE_MAX];
    int32_t now = (int32_t)time(NULL);
    int at = notifier->tries % to->address.count;
    if (notice == WORKER_HOSTS_UPDATED)
        notifier->seconds = now > notifier->seconds ? now : notifier->seconds + 1;
    size_t length = worker_notice_put(request, notice, to->address.key, notifier->seconds);
    notifier->sent.id++;
    notifier->sent.notice = notice;
    notifier->sent.to = to;
    job_exchange(notifier->job, to->worker, notifier->sent.id, to->address.at[at].ip,
                 to->address.at[at].port, request, length);
}

void worker_notifier_on_listens(struct worker_notifier *notifier, int worker, const char *text,
                                size_t length)
{
    struct err err;
    struct worker_address address;
    if (worker_address_parse(&address, text, length, &err) < 0) {
        job_note(notifier->job, "worker %d cannot be notified: %s", worker, err.text);
        return;
    }
    struct listener *listener = listener_find(notifier, worker);
    if (!listener) {
        listener = xcalloc(1, sizeof *listener);
        listener->worker = worker;
        listener->next = notifier->listeners;
        notifier->listeners = listener;
    }
    listener->address = address;
    notifier_send(notifier, listener,
                  worker == notifier->wanted ? WORKER_HOSTS_UPDATED : WORKER_PING);
    if (notifier->wanted >= 0 && worker != notifier->wanted)
        worker_notifier_on_update(notifier, notifier->wanted);
}

void worker_notifier_on_update(struct worker_notifier *notifier, int worker)
{
    struct listener *listener = listener_find(notifier, worker);
    notifier->wanted = worker;
    notifier->tries = 0;
    if (listener)
        notifier_send(notifier, listener, WORKER_HOSTS_UPDATED);
}

void worker_notifier_on_world(struct worker_notifier *notifier)
{
    notifier->wanted = -1;
    notifier->tries = 0;
}

static void notifier_give_up(struct worker_notifier *notifier, const char *text)
{
    char line[600];
    snprintf(line, sizeof line,
             "rank 0 (worker %d) does not take the news that hosts have changed: %s",
             notifier->wanted, text);
    job_say(notifier->job, line);
    notifier->wanted = -1;
}

void worker_notifier_on_exchanged(struct worker_notifier *notifier, uint32_t id, int error,
                                  const void *answer, size_t length)
{
    struct err err;
    struct listener *to = notifier->sent.to;
    if (id != notifier->sent.id || !to)
        return;
    int rc = error < 0 ? fail(&err, HVD_ERR_SYSTEM, "%s", uv_strerror(error))
                       : worker_notice_check(notifier->sent.notice, to->address.key, answer, length,
                                             &err);
    bool update = notifier->sent.notice == WORKER_HOSTS_UPDATED;
    notifier->sent.to = NULL;
    if (rc == HVD_OK)
        job_note(notifier->job, "worker %d %s", to->worker,
                 update ? "knows that hosts have changed" : "can be notified");
    else if (!update)
        job_note(notifier->job, "worker %d cannot be notified: %s", to->worker, err.text);
    else if (notifier->wanted == to->worker && ++notifier->tries < NOTIFIER_TRIES)
        notifier_send(notifier, to, WORKER_HOSTS_UPDATED);
    else if (notifier->wanted == to->worker)
        notifier_give_up(notifier, err.text);
}

void worker_notifier_destroy(struct worker_notifier *notifier)
{
    if (!notifier)
        return;
    while (notifier->listeners) {
        struct listener *gone = notifier->listeners;
        notifier->listeners = gone->next;
        free(gone);
    }
    free(notifier);
}
