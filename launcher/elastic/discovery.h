/* SPDX-License-Identifier: Apache-2.0 */
/* Where the hosts of an elastic job come from: an interface with three implementations.
 *
 *   discovery_script    a script that is run again and again (discovery_run.h)
 *   discovery_hostfile  a hostfile that is read again when it has changed
 *   discovery_fixed     hosts that stay the same: those of -H and of batch systems
 *
 * The first hosts are found before the job begins, by whoever sets it up; these report changes.
 * Each kind of failure is said once, until a run succeeds, and the hosts that were found last are
 * kept. */
#ifndef LAUNCHER_ELASTIC_DISCOVERY_H
#define LAUNCHER_ELASTIC_DISCOVERY_H

#include "launcher/elastic/discovery_run.h"

/* A script is run so long after its last run has ended; a hostfile is looked at as often. */
enum { DISCOVERY_INTERVAL_MS = 1000 };

struct discovery_events {
    /* The hosts as they are now, maybe none; also if nothing has changed. Borrowed for the call. */
    void (*hosts)(void *context, const struct host_list *hosts);

    /* One line for people. Borrowed for the call. */
    void (*warning)(void *context, const char *line);
};

struct discovery {
    /* Ends it, whatever it is doing; no event comes after this. Frees the rest when the loop
     * runs. */
    void (*destroy)(struct discovery *discovery);
};

/* All are called before the loop runs on; events come later. `events` and `settings` are borrowed
 * until discovery_destroy(). `interval_ms`: 0 for DISCOVERY_INTERVAL_MS. */
struct discovery *discovery_script_create(uv_loop_t *loop, struct children *children,
                                          const struct discovery_settings *settings,
                                          unsigned interval_ms,
                                          const struct discovery_events *events, void *context);
struct discovery *discovery_hostfile_create(uv_loop_t *loop, const char *path, unsigned interval_ms,
                                            const struct discovery_events *events, void *context);
struct discovery *discovery_fixed_create(void);

/* NULL is fine. */
static inline void discovery_destroy(struct discovery *discovery)
{
    if (discovery)
        discovery->destroy(discovery);
}

#endif
