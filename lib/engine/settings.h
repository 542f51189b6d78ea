/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says about how the engine works; each variable is a row of a table.
 *
 * Fails (HVD_ERR_ENVIRONMENT, naming the variable, its value and what was expected, or both
 * variables that do not fit) and never falls back to a default for a value that is there but wrong.
 * Numbers are decimal digits and nothing else, whatever the locale; a boolean is an integer (0 is
 * false, others true), "true" or "false"; the words may be in any case. */
#ifndef LIB_ENGINE_SETTINGS_H
#define LIB_ENGINE_SETTINGS_H

#include "lib/base/log.h"
#include "lib/base/status.h"
#include "lib/join/environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TIMELINE_PATH_MAX = 4096 };

struct settings {
    size_t fusion_threshold;          /* bytes; 0: nothing is fused */
    uint64_t cycle_time_us;           /* 0: no wait */
    int cache_capacity;               /* names; 0: none */
    bool disable_group_fusion;        /* groups are not fused with other tensors */
    char timeline[TIMELINE_PATH_MAX]; /* "": none from the start */
    bool timeline_mark_cycles;
    bool stall_check;
    uint64_t stall_check_s;    /* at least 1 */
    uint64_t stall_shutdown_s; /* 0: never; else at least stall_check_s */
    enum log_level log_level;
    bool log_hide_time;
};

int settings_read(struct settings *settings, environment_get_fn *get, struct err *err);

#endif
