/* SPDX-License-Identifier: Apache-2.0 */
/* How Horovod's own workers wait for the next world of an elastic job: with a request that is held
 * until the world is made. Such a worker says no HELLO; its request stands for one. */
#ifndef RENDEZVOUS_API_HTTP_ELASTIC_WAIT_H
#define RENDEZVOUS_API_HTTP_ELASTIC_WAIT_H

#include "rendezvous/api/http_exchange.h"

enum http_elastic_wait {
    HTTP_ELASTIC_HELD,    /* waits: the handler returns false */
    HTTP_ELASTIC_MEMBER,  /* of the world that was made since it waits */
    HTTP_ELASTIC_REMOVED, /* has no next world */
    HTTP_ELASTIC_GONE     /* the rendezvous knows that its process has ended, or has no memory */
};

/* `worker` has left its world, or has none yet. To be called again when the request goes on. */
enum http_elastic_wait http_elastic_wait(struct http_service *service,
                                         struct http_exchange *exchange, struct rendezvous_job *job,
                                         int worker);

#endif
