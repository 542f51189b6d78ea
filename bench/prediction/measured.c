/* SPDX-License-Identifier: Apache-2.0 */
/* Links like the measured ones; see measured.h. */
#include "bench/prediction/measured.h"

#include "bench/prediction/replay.h"
#include "lib/hvd.h"

#include <string.h>

enum { SIZES_APART = 1000, HALVINGS = 40 };

#define FASTEST 1e-4 /* nanoseconds for a byte: 10 TB/s */
#define SLOWEST 1e4  /* 100 kB/s */

/* A processor's part of the smallest frame's time, on each side. */
static const double share_of_call = 0.25;

static void measured_add(struct measured *measured, size_t nbytes, double ns)
{
    if (measured->small == 0 || nbytes < measured->small) {
        measured->small = nbytes;
        measured->small_ns = ns;
    }
    if (nbytes > measured->large) {
        measured->large = nbytes;
        measured->large_ns = ns;
    }
}

/* Behind the prefix that hvdrun puts in front of what ranks print: "[0]<stdout>:". */
static const char *behind_prefix(const char *line)
{
    const char *colon = line[0] == '[' ? strchr(line, ':') : NULL;
    return colon ? colon + 1 : line;
}

int measured_read(struct measured *measured, FILE *file, const char *name, struct err *err)
{
    char line[512], operation[32], place[32], type[32];
    size_t nbytes;
    double avg_us;
    *measured = (struct measured){ 0 };
    while (fgets(line, sizeof line, file))
        if (sscanf(behind_prefix(line), "%31s %31s %zu %*s %31s %*s %*s %*s %lf", operation, place,
                   &nbytes, type, &avg_us) == 5 &&
            strcmp(operation, "allreduce") == 0 && strcmp(place, "in-place") == 0 &&
            strcmp(type, "float") == 0 && nbytes > 0 && avg_us > 0)
            measured_add(measured, nbytes, avg_us * 1e3);
    if (measured->small == 0)
        return fail(err, HVD_ERR_INVALID, "%s: no allreduce that hvd-bandwidth --tsv has measured",
                    name);
    if (measured->large / SIZES_APART < measured->small)
        return fail(err, HVD_ERR_INVALID, "%s: sizes from %zu to %zu bytes are too close", name,
                    measured->small, measured->large);
    return HVD_OK;
}

/* `ns_per_byte`: of the adapter, or of the processors of both sides together. */
static void set_bandwidth(struct cluster_speed *speed, bool local, double ns_per_byte)
{
    if (local)
        speed->local.per_byte = ns_per_byte / 2;
    else
        speed->adapter = 1 / ns_per_byte;
}

static double replayed_ns(const struct measured *measured, bool local,
                          const struct cluster_speed *speed)
{
    const struct replay_options options = {
        .ranks = 2, .ranks_per_host = local ? 2 : 1, .algorithm = -1, .speed = *speed
    };
    struct replay *replay = replay_create(&options);
    double ns = replay_allreduce_ns(replay, measured->large / sizeof(float));
    replay_destroy(replay);
    return ns;
}

static void set_reduction(struct cluster_speed *speed, bool local, double ns_per_byte)
{
    (void)local;
    speed->reduce = speed->copy = ns_per_byte;
}

typedef void set_fn(struct cluster_speed *speed, bool local, double ns_per_byte);

/* Sets what the time depends on so that the replayed time is the measured one. */
static void measured_fit(const struct measured *measured, bool local, struct cluster_speed *speed,
                         set_fn *set, double high)
{
    double low = 0;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        set(speed, local, middle);
        if (replayed_ns(measured, local, speed) > measured->large_ns)
            high = middle;
        else
            low = middle;
    }
}

int measured_apply(const struct measured *measured, bool local, struct cluster_speed *speed,
                   struct err *err)
{
    struct link_speed *link = local ? &speed->local : &speed->network;
    link->per_call = share_of_call * measured->small_ns;
    link->latency = measured->small_ns - 2 * link->per_call;
    set_bandwidth(speed, local, FASTEST);
    if (replayed_ns(measured, local, speed) <= measured->large_ns) {
        measured_fit(measured, local, speed, set_bandwidth, SLOWEST);
        return HVD_OK;
    }
    double reduce = speed->reduce;
    set_reduction(speed, local, 0);
    if (!local || replayed_ns(measured, local, speed) > measured->large_ns)
        return fail(err, HVD_ERR_INVALID,
                    "an allreduce of %zu bytes takes %.0f us: less than its parts besides the link",
                    measured->large, measured->large_ns / 1e3);
    measured_fit(measured, local, speed, set_reduction, reduce);
    return HVD_OK;
}
