/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that a process manager has started; see manager_join.h. */
#include "lib/join/manager_join.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/pmi/contact.h"
#include "lib/pmi/process_manager.h"

#include <stdio.h>
#include <string.h>

static const struct {
    enum bootstrap_kind kind;
    const struct process_manager *manager;
} managers[] = {
    { BOOTSTRAP_PMIX, &process_manager_pmix },
    { BOOTSTRAP_PMI2, &process_manager_pmi2 },
    { BOOTSTRAP_PMI1, &process_manager_pmi1 },
    { BOOTSTRAP_PMI_LIBRARY, &process_manager_pmi_library },
};

static const struct process_manager *manager_of(enum bootstrap_kind kind)
{
    for (size_t i = 0; i < sizeof managers / sizeof *managers; i++)
        if (managers[i].kind == kind)
            return managers[i].manager;
    return NULL;
}

/* HVD_JOB_KEY, or a fresh key. */
static int choose_key(struct contact *contact, environment_get_fn *get, struct job_key *key,
                      struct err *err)
{
    const char *own = get(ENV_JOB_KEY);
    contact->has_key = !own;
    if (own)
        return job_key_parse(key, own, err);
    job_key_generate(&contact->key);
    *key = contact->key;
    return HVD_OK;
}

/* Opens the port at which the ranks meet. */
static int listen_for_workers(struct listener *listener, struct join_addresses *addresses,
                              const struct environment *environment, struct err *err)
{
    struct interfaces all;
    struct network network;
    const struct rank_info *rank_info = &environment->rank_info;
    bool on_loopback = rank_info->local_size == rank_info->size;
    int rc = interfaces_read(&all, err);
    if (rc == HVD_OK)
        rc = network_init(&network, environment->host, &all, environment->interfaces, err);
    if (rc < 0)
        return rc;
    rc = network.limited && !on_loopback
             ? listener_open_at(listener, &environment->ports, 0, &network.interfaces, err)
             : listener_open(listener, &environment->ports, 0, on_loopback, err);
    if (rc == HVD_OK)
        network_addresses(&network, listener, addresses);
    return rc;
}

/* Serves the rendezvous, on rank 0. */
static int serve_rendezvous_of_job(struct rank_assignment *assignment,
                                   const struct environment *environment, struct contact *contact,
                                   struct err *err)
{
    struct job_key key;
    struct listener listener = NO_LISTENER;
    snprintf(contact->host, sizeof contact->host, "%.*s", CONTACT_HOST_SIZE - 1, environment->host);
    int rc = choose_key(contact, environment->get, &key, err);
    if (rc == HVD_OK)
        rc = listen_for_workers(&listener, &contact->addresses, environment, err);
    if (rc == HVD_OK) {
        assignment->rendezvous =
            rendezvous_thread_start(&listener, environment->rank_info.size, &key,
                                    (uint64_t)environment->join_timeout_s * 1000, err);
        rc = assignment->rendezvous ? HVD_OK : err->code;
    }
    job_key_wipe(&key);
    return rc;
}

/* Every rank takes part in the exchange, also rank 0 when it has no rendezvous to offer: the others
 * must not wait for it. It logs the cause first: when they fail and exit, the launcher may kill it
 * before it returns from hvd_init(). */
static int exchange_contact(struct rank_assignment *assignment,
                            const struct environment *environment,
                            const struct process_manager *manager, void *session,
                            uint64_t deadline_ms, struct contact *contact, struct err *err)
{
    char value[PROCESS_MANAGER_VALUE_MAX] = "";
    bool first = environment->rank_info.rank == 0;
    struct err why = { 0 };
    int rc = first ? serve_rendezvous_of_job(assignment, environment, contact, &why) : HVD_OK;
    if (rc < 0)
        log_line(LOG_ERROR, 0, "hvd_init: %s: %s", manager->name, why.text);
    if (first)
        contact_format(value, contact, rc);
    int exchanged = manager->exchange(session, value, deadline_ms, err);
    if (rc < 0)
        return fail(err, rc, "%s", why.text);
    if (exchanged == HVD_OK && !first)
        exchanged = contact_parse(contact, value, err);
    explicit_bzero(value, sizeof value);
    return exchanged;
}

/* Takes the key of the contact, or HVD_JOB_KEY, which is set on all ranks then. */
static int take_key(struct environment *joining, const struct contact *contact, struct err *err)
{
    const char *own = joining->get(ENV_JOB_KEY);
    if (contact->has_key) {
        joining->key = contact->key;
        return HVD_OK;
    }
    if (!own)
        return fail(err, HVD_ERR_ENVIRONMENT, "rank 0 has the key in %s, which is not set here",
                    ENV_JOB_KEY);
    return job_key_parse(&joining->key, own, err);
}

/* Orders the addresses of rank 0, the best first. */
static int order_addresses(struct join_peer *server, const struct environment *environment,
                           struct err *err)
{
    struct interfaces all;
    struct network network;
    int rc = interfaces_read(&all, err);
    if (rc == HVD_OK)
        rc = network_init(&network, environment->host, &all, environment->interfaces, err);
    if (rc == HVD_OK)
        network_order(&network, server);
    return rc;
}

static int join_contact(struct rank_assignment *assignment, struct environment *joining,
                        const struct contact *contact, struct err *err)
{
    struct join_peer *server = &assignment->server;
    *server = (struct join_peer){ .rank = 0, .addresses = contact->addresses };
    snprintf(server->host, sizeof server->host, "%s", contact->host);
    snprintf(assignment->server_name, sizeof assignment->server_name, "rank 0 on %s", server->host);
    joining->server = server;
    int rc = take_key(joining, contact, err);
    if (rc == HVD_OK)
        rc = order_addresses(server, joining, err);
    return rc < 0 ? rc : bootstrap_join_rendezvous(assignment, joining, err);
}

/* Ranks are grouped by host names, which are wrong where two hosts have the same. */
static void check_local_size(const struct rank_assignment *assignment,
                             const struct process_manager_place *place)
{
    const struct rank_info *rank_info = &assignment->welcome.rank_info;
    if (place->local_size > 0 && place->local_size != rank_info->local_size)
        log_line(LOG_WARNING, rank_info->rank,
                 "hvd_init: the process manager has started %d ranks on this host, but %d ranks "
                 "say that its name is theirs; set HOROVOD_HOSTNAME to a name of its own",
                 place->local_size, rank_info->local_size);
}

static void take_place(struct environment *joining, const struct process_manager_place *place)
{
    joining->rank_info = (struct rank_info){ .rank = place->rank,
                                             .size = place->size,
                                             .local_rank = place->local_rank,
                                             .local_size = place->local_size };
    joining->is_service = false;
    joining->key_of = -1; /* the key is the same for all ranks */
    if (*place->host && !joining->get(ENV_HOSTNAME))
        memcpy(joining->host, place->host, sizeof joining->host);
}

int manager_join(struct rank_assignment *assignment, const struct environment *environment,
                 struct err *err)
{
    const struct process_manager *manager = manager_of(environment->bootstrap.kind);
    uint64_t deadline_ms = monotonic_ms() + (uint64_t)environment->join_timeout_s * 1000;
    struct process_manager_place place;
    struct environment joining = *environment;
    struct contact contact = { 0 };
    void *session;
    int rc = environment->epoch > 0
                 ? fail(err, HVD_ERR_SHUT_DOWN,
                        "hvd_init after hvd_shutdown: a process manager lets a process join once; "
                        "hvdrun and hvdrendezvousd let it join again")
                 : manager->open(&session, &place, environment->get, deadline_ms, err);
    if (rc < 0)
        return fail_context(err, "%s", manager->name);
    take_place(&joining, &place);
    if (place.size > 1)
        rc = exchange_contact(assignment, &joining, manager, session, deadline_ms, &contact, err);
    if (rc < 0)
        fail_context(err, "%s", manager->name);
    else if (place.size == 1)
        rc = bootstrap_join_alone(assignment, environment, err);
    else
        rc = join_contact(assignment, &joining, &contact, err);
    manager->close(session);
    job_key_wipe(&joining.key);
    job_key_wipe(&contact.key);
    if (rc == HVD_OK)
        check_local_size(assignment, &place);
    return rc;
}
