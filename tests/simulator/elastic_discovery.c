/* SPDX-License-Identifier: Apache-2.0 */
/* The discovery of hosts (launcher/elastic/discovery.h): each second or so, what the seed lets it
 * find, or a failure that is told. */
#include "launcher/elastic/discovery.h"

#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/elastic_job.h"
#include "tests/simulator/pool.h"

#include <stdlib.h>
#include <string.h>

struct simulated_discovery {
    struct discovery interface; /* first */
    struct sim_process *launcher;
    const struct discovery_events *events;
    void *context;
    struct sim_event *event;
};

void sim_discovery_list(struct host_list *list, struct host_slots slots[SIM_HOSTS_MAX])
{
    static char *const names[SIM_FLAT_HOSTS_MAX] = { "h0", "h1", "h2", "h3", "h4", "h5" };
    *list = (struct host_list){ .hosts = slots };
    memcpy(elastic.delivered, elastic.found, sizeof elastic.delivered);
    for (int i = 0; i < world.nhosts; i++)
        if (elastic.found[i] > 0)
            slots[list->count++] =
                (struct host_slots){ .name = names[i], .slots = elastic.found[i] };
}

static void on_found(void *context)
{
    struct simulated_discovery *self = context;
    struct host_slots slots[SIM_HOSTS_MAX];
    struct host_list list;
    self->event = sim_timer(self->launcher, sim_between(SIM_MS(900), SIM_MS(1500)), on_found, self);
    if (sim_once_in(20)) {
        self->events->warning(self->context, "--host-discovery-script: it fails");
        return;
    }
    sim_discovery_list(&list, slots);
    self->events->hosts(self->context, &list);
}

static void simulated_discovery_destroy(struct discovery *discovery)
{
    struct simulated_discovery *self = (struct simulated_discovery *)discovery;
    sim_cancel(self->event);
}

struct discovery *discovery_script_create(uv_loop_t *loop, struct children *children,
                                          const struct discovery_settings *settings,
                                          unsigned interval_ms,
                                          const struct discovery_events *events, void *context)
{
    struct simulated_discovery *self = sim_new(sizeof *self);
    (void)children, (void)settings, (void)interval_ms;
    *self = (struct simulated_discovery){
        { simulated_discovery_destroy }, loop->data, events, context, NULL
    };
    self->event = sim_timer(self->launcher, SIM_MS(1000), on_found, self);
    return &self->interface;
}

struct discovery *discovery_hostfile_create(uv_loop_t *loop, const char *path, unsigned interval_ms,
                                            const struct discovery_events *events, void *context)
{
    (void)loop, (void)path, (void)interval_ms, (void)events, (void)context;
    return NULL;
}

struct discovery *discovery_fixed_create(void)
{
    return NULL;
}
