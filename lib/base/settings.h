/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of the engine, read from the environment; each variable is a row of a table. hvdrun
 * reads the settings as well, so that it refuses a bad value before it starts ranks.
 *
 * Fails (HVD_ERR_ENVIRONMENT, naming the variable, its value and what was expected, or both
 * variables that do not fit) and never falls back to a default for a value that is there but wrong.
 * Numbers are decimal digits and nothing else, whatever the locale; a boolean is an integer (0 is
 * false, others true), "true" or "false"; the words may be in any case. */
#ifndef LIB_BASE_SETTINGS_H
#define LIB_BASE_SETTINGS_H

#include "lib/base/encryption.h"
#include "lib/base/env_names.h"
#include "lib/base/log.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SETTINGS_PATH_MAX = 4096 };

/* The greatest values that a variable may have; the modules that use them have the same limits. */
enum {
    SETTINGS_STREAMS_MAX = 16,
    SETTINGS_THREADS_MAX = 64,
    SETTINGS_PROCESSORS_MAX = 1 << 20,
    SETTINGS_WARMUP_MAX = 10000,
    SETTINGS_STEPS_MAX = 10000,
    SETTINGS_SAMPLES_MAX = 100
};

enum { SETTINGS_STALL_CHECK_S = 60 }; /* the default */

/* The action when a rank contributes a NaN or an infinity to a reduction. */
enum settings_check { SETTINGS_CHECK_NONE, SETTINGS_CHECK_WARN, SETTINGS_CHECK_FAIL };

/* The device that hvd_init() opens. */
enum settings_device { SETTINGS_DEVICE_NONE, SETTINGS_DEVICE_CUDA };

struct settings {
    size_t fusion_threshold; /* bytes; 0: nothing is fused */
    uint64_t cycle_time_us;  /* 0: no wait */
    bool fusion_given, cycle_time_given;
    int cache_capacity;               /* names; 0: none */
    bool steady;                      /* learnt schedules are carried out without the root */
    bool disable_group_fusion;        /* groups are not fused with other tensors */
    char timeline[SETTINGS_PATH_MAX]; /* "": none from the start */
    bool timeline_mark_cycles;
    bool stall_check;
    uint64_t stall_check_s;    /* at least 1 */
    uint64_t stall_shutdown_s; /* 0: never; else at least stall_check_s */
    int threads; /* for reductions, 0 to SETTINGS_THREADS_MAX; 0: as there are cores */
    int streams; /* of a data link between hosts, 1 to SETTINGS_STREAMS_MAX */
    enum encryption encryption; /* of TCP links */
    int processors;             /* that the ranks of this host share; 0: to be found out */
    enum log_level log_level;
    bool log_hide_time;
    char tuning[SETTINGS_PATH_MAX]; /* a file of thresholds; "": none */
    bool autotune;
    char autotune_log[SETTINGS_PATH_MAX]; /* "": none */
    int autotune_warmup, autotune_steps, autotune_samples;
    uint64_t autotune_noise; /* thousandths */
    enum settings_check check_numerics;
    enum settings_device device;
    int algorithm; /* enum algorithm, used where possible; -1: the best one */
};

int settings_read(struct settings *settings, environment_get_fn *get, struct err *err);

#endif
