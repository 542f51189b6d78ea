/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the log of autotuning; see tuner_log.h. Each line is one write(). */
#include "lib/autotune/tuner_log.h"

#include "lib/base/descriptor.h"
#include "lib/base/log.h"
#include "lib/base/signal_block.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char columns[] =
    "hierarchical_allreduce,hierarchical_allgather,torus_allreduce,cache_enabled,cycle_time_ms,"
    "tensor_fusion_threshold,score,fused_tensor_max,small_allreduce_max,large_allreduce_min\n";

/* Prints thousandths, with a point. */
static void put_decimal(char *text, size_t size, uint64_t thousandths)
{
    snprintf(text, size, "%" PRIu64 ".%03d", thousandths / 1000, (int)(thousandths % 1000));
}

void tuner_log_line(char *text, size_t size, bool cache, const struct tuner_report *report)
{
    const struct tuning *tuning = &report->tuning;
    char cycle_ms[32], fusion_mib[32], score[32];
    put_decimal(cycle_ms, sizeof cycle_ms, tuning->cycle_time_us);
    put_decimal(fusion_mib, sizeof fusion_mib, (tuning->fusion_threshold * 1000) >> 20);
    put_decimal(score, sizeof score, (uint64_t)(report->rate / 1000)); /* bytes in a microsecond */
    snprintf(text, size, "0,0,0,%d,%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64, cache, cycle_ms,
             fusion_mib, score, tuning->fused_max, tuning->small, tuning->large);
}

static int write_line(const struct tuner_log *log, const char *line)
{
    struct signal_block blocked;
    size_t length = strlen(line);
    signal_block_begin(&blocked, SIGXFSZ);
    ssize_t done = write(log->fd, line, length);
    int error = done < 0 ? errno : done < (ssize_t)length ? ENOSPC : 0;
    signal_block_end(&blocked);
    return error;
}

int tuner_log_open(struct tuner_log *log, const char *name, bool cache, struct err *err)
{
    *log = (struct tuner_log){ .name = strdup(name), .fd = -1, .cache = cache };
    if (!log->name)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    if (!*name)
        return HVD_OK;
    log->fd = descriptor_file(name);
    int error = log->fd < 0 ? errno : write_line(log, columns);
    if (!error)
        return HVD_OK;
    fail_errno(err, HVD_ERR_SYSTEM, error, "log of autotuning '%s'", name);
    tuner_log_close(log);
    return err->code;
}

void tuner_log_write(struct tuner_log *log, const struct tuner_report *report)
{
    char line[256];
    if (log->fd < 0)
        return;
    tuner_log_line(line, sizeof line - 1, log->cache, report);
    strcat(line, "\n");
    int error = write_line(log, line);
    if (!error)
        return;
    struct err err = { 0 };
    fail_errno(&err, HVD_ERR_SYSTEM, error, "log of autotuning '%s' ends here", log->name);
    log_line(LOG_WARNING, -1, "%s", err.text);
    descriptor_close(log->fd);
    log->fd = -1;
}

void tuner_log_close(struct tuner_log *log)
{
    descriptor_close(log->fd);
    free(log->name);
    *log = (struct tuner_log){ .fd = -1 };
}
