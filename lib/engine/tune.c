/* SPDX-License-Identifier: Apache-2.0 */
/* Measured thresholds (thresholds_file.h) and autotuning of the world (tuner.h). Both work at the
 * root alone, because only the root decides what is fused, when, and by which algorithm. Finished
 * tensors are the input; new numbers apply from the next decision on. Autotuning does not change
 * numbers that the user has set.
 * Fails at the beginning, when out of memory, when the file of HVD_TUNING is malformed, or when the
 * log cannot be made. */
#include "lib/engine/engine_impl.h"

#include "lib/autotune/thresholds_file.h"
#include "lib/autotune/tuner.h"
#include "lib/autotune/tuner_log.h"
#include "lib/base/log.h"
#include "lib/negotiation/pending.h"

#include <stdlib.h>
#include <string.h>

struct tune {
    struct tuner *tuner;
    struct tuner_log log;
};

/* The threshold of large allreduces is between algorithms for several hosts. */
static unsigned find_varying(const struct settings *settings, bool one_host)
{
    unsigned varying = TUNE_FUSED_MAX;
    if (settings->fusion_given)
        varying = settings->fusion_threshold > 0 ? TUNE_FUSED_MAX : 0;
    else
        varying |= TUNE_FUSION_THRESHOLD;
    if (!settings->cycle_time_given)
        varying |= TUNE_CYCLE_TIME;
    if (settings->algorithm < 0)
        varying |= one_host ? TUNE_SMALL : TUNE_SMALL | TUNE_LARGE;
    return varying;
}

static struct tuning what_there_is(const struct engine *engine)
{
    struct fusion_limits fusion = set_fusion_limits(engine);
    return (struct tuning){
        .fusion_threshold = fusion.together,
        .fused_max = fusion.each,
        .cycle_time_us = engine->settings.cycle_time_us,
        .small = engine->thresholds.small,
        .large = engine->thresholds.large,
    };
}

static void use(struct engine *engine, const struct tuning *tuning)
{
    struct process_set *world = engine->sets.at[0];
    struct fusion_limits fusion = { tuning->fusion_threshold, tuning->fused_max };
    negotiation_limit_fusion(world->negotiation, fusion);
    world->decided.cycle_time_us = tuning->cycle_time_us;
    engine->thresholds.small = tuning->small;
    engine->thresholds.large = tuning->large;
}

static int tune_start(struct engine *engine, bool one_host, struct err *err)
{
    const struct settings *settings = &engine->settings;
    const struct tuner_options options = {
        .start = what_there_is(engine),
        .varying = find_varying(settings, one_host),
        .warmup_samples = settings->autotune_warmup,
        .steps_per_sample = settings->autotune_steps,
        .max_samples = settings->autotune_samples,
        .noise = (double)settings->autotune_noise / 1000,
    };
    struct tune *tune = engine->tune = calloc(1, sizeof *tune);
    if (!tune)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    int rc = tuner_log_open(&tune->log, settings->autotune_log, settings->cache_capacity > 0, err);
    if (rc < 0)
        return rc;
    tune->tuner = tuner_create(&options, err);
    return tune->tuner ? HVD_OK : err->code;
}

/* Rank 0 is the world's root. Other ranks are at most the root of a process set, and may lack the
 * file. */
int tune_init(struct engine *engine, bool one_host, struct err *err)
{
    const struct settings *settings = &engine->settings;
    engine->thresholds = algorithm_defaults_for(engine->size);
    if (*settings->tuning &&
        thresholds_file_read(&engine->thresholds, settings->tuning, engine->rank != 0, err) < 0)
        return err->code;
    return settings->autotune && engine->rank == 0 ? tune_start(engine, one_host, err) : HVD_OK;
}

void tune_fini(struct engine *engine)
{
    if (!engine->tune)
        return;
    tuner_destroy(engine->tune->tuner);
    tuner_log_close(&engine->tune->log);
    free(engine->tune);
    engine->tune = NULL;
}

static void tune_say(const struct tune *tune, const char *what, const struct tuner_report *report)
{
    char line[256];
    tuner_log_line(line, sizeof line, tune->log.cache, report);
    log_line(LOG_INFO, 0, "autotuning: %s: %s", what, line);
}

/* Names of nameless tensors never repeat. */
static uint64_t hash_of(const struct tensor *tensor)
{
    return tensor->description.nameless ? 0 : name_hash(tensor->name, strlen(tensor->name)) | 1;
}

void tune_tensor_done(const struct tensor *tensor, uint64_t now_ns)
{
    struct engine *engine = tensor->set->engine;
    struct tune *tune = engine->tune;
    struct tuner_report report;
    if (!tune || tensor->set->id != 0)
        return;
    enum tuner_event event = tuner_tensor_done(
        tune->tuner, hash_of(tensor), description_bytes(&tensor->description), now_ns, &report);
    if (event == TUNER_NOTHING)
        return;
    if (event == TUNER_WARMED) {
        tune_say(tune, "warming up", &report);
        return;
    }
    use(engine, tuner_tuning(tune->tuner));
    tune_say(tune, "a sample", &report);
    tuner_log_write(&tune->log, &report);
    if (event != TUNER_DONE)
        return;
    report = tuner_result(tune->tuner);
    tune_say(tune, "done, this stays", &report);
    tuner_log_write(&tune->log, &report);
}
