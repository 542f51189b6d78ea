/* SPDX-License-Identifier: Apache-2.0 */
/* Resolving names; see resolve.h. Each name is resolved in a thread of its own, as getaddrinfo()
 * cannot be interrupted and libuv runs no more than two calls at once: two names that hang would
 * delay all others. Thread and loop share a request; whichever needs it last releases it. Fails
 * when the name is unknown or too long, and when no answer has come in time. */
#include "launcher/hosts/resolve.h"

#include "launcher/base/blocking_thread.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_LENGTH = 253 };

struct question {
    pthread_mutex_t lock; /* protects `wake` and `answered` */
    uv_async_t *wake;     /* NULL when nobody waits any more */
    bool answered;
    char *name, service[16];
    struct addrinfo hints, *addresses;
    int code, errnum; /* what getaddrinfo() has returned */
};

struct resolve {
    uv_async_t wake;
    uv_timer_t timer;
    int open_handles;
    unsigned timeout_ms;
    struct question *question; /* NULL if the name is invalid */
    resolve_fn *on_end;
    void *context;
};

/* ---- the thread ---- */

static void resolve_release(struct question *question)
{
    if (question->addresses)
        freeaddrinfo(question->addresses);
    pthread_mutex_destroy(&question->lock);
    free(question->name);
    free(question);
}

static void *resolve_ask(void *argument)
{
    struct question *question = argument;
    question->code =
        getaddrinfo(question->name, question->service, &question->hints, &question->addresses);
    question->errnum = errno;
    pthread_mutex_lock(&question->lock);
    bool wanted = question->wake != NULL;
    question->answered = true;
    if (wanted)
        uv_async_send(question->wake);
    pthread_mutex_unlock(&question->lock);
    if (!wanted)
        resolve_release(question);
    return NULL;
}

/* ---- the loop ---- */

static void on_resolve_closed(uv_handle_t *handle)
{
    struct resolve *resolve = handle->data;
    if (--resolve->open_handles == 0)
        free(resolve);
}

void resolve_cancel(struct resolve *resolve)
{
    if (!resolve)
        return;
    struct question *question = resolve->question;
    bool answered = false;
    if (question) {
        pthread_mutex_lock(&question->lock);
        question->wake = NULL;
        answered = question->answered;
        pthread_mutex_unlock(&question->lock);
    }
    if (answered)
        resolve_release(question);
    uv_close((uv_handle_t *)&resolve->wake, on_resolve_closed);
    uv_close((uv_handle_t *)&resolve->timer, on_resolve_closed);
}

static void resolve_end(struct resolve *resolve, struct addrinfo *addresses, const char *problem)
{
    resolve_fn *on_end = resolve->on_end;
    void *context = resolve->context;
    resolve_cancel(resolve);
    on_end(context, addresses, problem);
}

static void on_resolve_answer(uv_async_t *wake)
{
    struct resolve *resolve = wake->data;
    struct question *question = resolve->question;
    pthread_mutex_lock(&question->lock); /* waits until the thread has released it */
    pthread_mutex_unlock(&question->lock);
    struct addrinfo *addresses = question->addresses;
    question->addresses = NULL;
    const char *problem =
        question->code == EAI_SYSTEM ? strerror(question->errnum) : gai_strerror(question->code);
    resolve_end(resolve, addresses, question->code == 0 ? NULL : problem);
}

static void on_timeout(uv_timer_t *timer)
{
    struct resolve *resolve = timer->data;
    char text[64];
    snprintf(text, sizeof text, "no answer within %u s", resolve->timeout_ms / 1000);
    resolve_end(resolve, NULL, resolve->question ? text : "not a name");
}

static struct question *resolve_start_question(const char *name, int port, int family,
                                               uv_async_t *wake)
{
    pthread_t thread;
    struct question *question = xcalloc(1, sizeof *question);
    pthread_mutex_init(&question->lock, NULL);
    question->wake = wake;
    question->name = xstrdup(name);
    question->hints = (struct addrinfo){ .ai_family = family, .ai_socktype = SOCK_STREAM };
    snprintf(question->service, sizeof question->service, "%d", port);
    uv_must(blocking_thread_start(&thread, resolve_ask, question), "thread");
    pthread_detach(thread);
    return question;
}

struct resolve *resolve_start(uv_loop_t *loop, const char *name, int port, int family,
                              unsigned timeout_ms, resolve_fn *on_end, void *context)
{
    struct resolve *resolve = xcalloc(1, sizeof *resolve);
    resolve->on_end = on_end;
    resolve->context = context;
    resolve->timeout_ms = timeout_ms;
    resolve->open_handles = 2;
    uv_must(uv_async_init(loop, &resolve->wake, on_resolve_answer), "wakeup");
    uv_must(uv_timer_init(loop, &resolve->timer), "timer");
    resolve->wake.data = resolve->timer.data = resolve;
    if (strlen(name) <= NAME_LENGTH)
        resolve->question = resolve_start_question(name, port, family, &resolve->wake);
    uv_timer_start(&resolve->timer, on_timeout, resolve->question ? timeout_ms : 0, 0);
    return resolve;
}
