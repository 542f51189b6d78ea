/* SPDX-License-Identifier: Apache-2.0 */
/* Names; see resolve.h. libuv asks in a thread, which cannot be interrupted: the memory stays until
 * it has come back.
 * Fails when the name is unknown or too long for one, and when no answer has come in time. */
#include "launcher/resolve.h"

#include "launcher/uv_must.h"
#include "launcher/xalloc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_LENGTH = 253 };

struct resolve {
    uv_getaddrinfo_t request;
    uv_timer_t timer;
    unsigned timeout_ms;
    resolve_fn *on_end; /* NULL when nobody waits any more */
    void *context;
    bool asked, closed;
};

static void on_timer_closed(uv_handle_t *handle)
{
    struct resolve *resolve = handle->data;
    resolve->closed = true;
    if (!resolve->asked)
        free(resolve);
}

void resolve_cancel(struct resolve *resolve)
{
    if (!resolve)
        return;
    resolve->on_end = NULL;
    if (resolve->asked)
        uv_cancel((uv_req_t *)&resolve->request);
    uv_close((uv_handle_t *)&resolve->timer, on_timer_closed);
}

static void end(struct resolve *resolve, struct addrinfo *addresses, const char *problem)
{
    resolve_fn *on_end = resolve->on_end;
    void *context = resolve->context;
    resolve_cancel(resolve);
    on_end(context, addresses, problem);
}

static void on_answer(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses)
{
    struct resolve *resolve = request->data;
    resolve->asked = false;
    if (!resolve->on_end) {
        uv_freeaddrinfo(addresses);
        if (resolve->closed)
            free(resolve);
    } else {
        end(resolve, addresses, status == 0 ? NULL : uv_strerror(status));
    }
}

static void on_timeout(uv_timer_t *timer)
{
    struct resolve *resolve = timer->data;
    char text[64];
    snprintf(text, sizeof text, "no answer within %u s", resolve->timeout_ms / 1000);
    end(resolve, NULL, resolve->asked ? text : "not a name");
}

struct resolve *resolve_start(uv_loop_t *loop, const char *name, int port, int family,
                              unsigned timeout_ms, resolve_fn *on_end, void *context)
{
    struct resolve *resolve = xcalloc(1, sizeof *resolve);
    resolve->on_end = on_end;
    resolve->context = context;
    resolve->timeout_ms = timeout_ms;
    uv_must(uv_timer_init(loop, &resolve->timer), "timer");
    resolve->timer.data = resolve->request.data = resolve;
    struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM };
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    resolve->asked = strlen(name) <= NAME_LENGTH &&
                     uv_getaddrinfo(loop, &resolve->request, on_answer, name, service, &hints) == 0;
    uv_timer_start(&resolve->timer, on_timeout, resolve->asked ? timeout_ms : 0, 0);
    return resolve;
}
