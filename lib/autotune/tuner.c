/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the best numbers; see tuner.h. Fails when out of memory, at the beginning. */
#include "lib/autotune/tuner.h"

#include "lib/autotune/gaussian_process.h"
#include "lib/autotune/step_meter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPREAD_SAMPLES = 5,    /* of the search, the first one included, before the process is asked */
    CANDIDATES_FAR = 192,  /* points to evaluate: anywhere, */
    CANDIDATES_NEAR = 64,  /* and around the best */
    FINALISTS = 3,         /* the numbers to compare */
    ROUNDS = 3,            /* and how often each of them is measured again */
    CLEARLY_PERCENT = 101, /* of the initial rate: clearly better */
};

enum phase { WARMING_UP, SEARCHING, COMPARING, DONE };

struct trial {
    struct tuning tuning;
    double point[TUNING_DIMENSIONS];
    double rate;
};

struct finalist {
    const struct trial *trial;
    double rates[ROUNDS];
};

struct tuner {
    struct tuner_options options;
    enum phase phase;
    struct step_meter meter;
    struct gaussian_process process;
    int warmed;                           /* samples while warming up */
    struct trial *trials;                 /* owned; [0] has the initial numbers */
    int ntrials;                          /* whose rate is known */
    struct finalist finalists[FINALISTS]; /* [0] has the initial numbers */
    int nfinalists, compared;             /* samples while comparing */
    struct tuning tuning;                 /* in use */
    uint64_t dice;
};

struct tuner *tuner_create(const struct tuner_options *options, struct err *err)
{
    int ndims = tuning_dimensions(options->varying);
    struct tuner *tuner = calloc(1, sizeof *tuner);
    if (!tuner) {
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    tuner->options = *options;
    tuner->phase = options->warmup_samples > 0 ? WARMING_UP : SEARCHING;
    tuner->tuning = options->start;
    tuner->trials = calloc((size_t)options->max_samples, sizeof *tuner->trials);
    if (!tuner->trials)
        fail(err, HVD_ERR_NOMEM, "out of memory");
    else if (step_meter_init(&tuner->meter, options->steps_per_sample, err) == HVD_OK &&
             gaussian_process_init(&tuner->process, ndims, options->max_samples, options->noise,
                                   err) == HVD_OK)
        return tuner;
    tuner_destroy(tuner);
    return NULL;
}

void tuner_destroy(struct tuner *tuner)
{
    if (!tuner)
        return;
    gaussian_process_fini(&tuner->process);
    step_meter_fini(&tuner->meter);
    free(tuner->trials);
    free(tuner);
}

const struct tuning *tuner_tuning(const struct tuner *tuner)
{
    return &tuner->tuning;
}

/* ---- the next trial ---- */

/* A number from 0 to 1, the same in every run: splitmix64. */
static double throw_dice(struct tuner *tuner)
{
    uint64_t bits = tuner->dice += 0x9e3779b97f4a7c15;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
    return (double)((bits ^ bits >> 31) >> 11) / (double)(1ull << 53);
}

/* Points that fill the cube evenly: coordinate i uses powers of the root of x^(ndims+1) = x+1. */
static void spread_point(double *point, int number, int ndims)
{
    double root = 2;
    for (int i = 0; i < 32; i++)
        root = pow(1 + root, 1.0 / (ndims + 1));
    for (int i = 0; i < ndims; i++) {
        double at = 0.5 + number * pow(root, -(i + 1));
        point[i] = at - floor(at);
    }
}

static void draw_far(struct tuner *tuner, double *point)
{
    for (int i = 0; i < tuner->process.ndims; i++)
        point[i] = throw_dice(tuner);
}

static void draw_near(struct tuner *tuner, double *point, const double *around)
{
    for (int i = 0; i < tuner->process.ndims; i++) {
        double at = around[i] + (throw_dice(tuner) - throw_dice(tuner)) / 5;
        point[i] = at < 0 ? 0 : at > 1 ? 1 : at;
    }
}

static double believed(const struct tuner *tuner, const struct trial *trial)
{
    return gaussian_process_mean(&tuner->process, trial->point);
}

/* The best of the trials, by the process's estimate. */
static const struct trial *find_believed(const struct tuner *tuner)
{
    const struct trial *best = &tuner->trials[0];
    for (int i = 1; i < tuner->ntrials; i++)
        if (believed(tuner, &tuner->trials[i]) > believed(tuner, best))
            best = &tuner->trials[i];
    return best;
}

static const struct trial *find_fastest(const struct tuner *tuner)
{
    const struct trial *best = &tuner->trials[0];
    for (int i = 1; i < tuner->ntrials; i++)
        if (tuner->trials[i].rate > best->rate)
            best = &tuner->trials[i];
    return best;
}

/* The point with the greatest expected improvement, out of many. */
static void promising_point(struct tuner *tuner, double *point)
{
    const struct trial *best = find_believed(tuner);
    double candidate[TUNING_DIMENSIONS] = { 0 }, most = -1, than = believed(tuner, best);
    for (int i = 0; i < CANDIDATES_FAR + CANDIDATES_NEAR; i++) {
        if (i < CANDIDATES_FAR)
            draw_far(tuner, candidate);
        else
            draw_near(tuner, candidate, best->point);
        double gain = gaussian_process_improvement(&tuner->process, candidate, than);
        if (gain <= most)
            continue;
        most = gain;
        memcpy(point, candidate, sizeof candidate);
    }
}

/* The numbers of the next trial. */
static void propose(struct tuner *tuner)
{
    struct trial *next = &tuner->trials[tuner->ntrials];
    if (tuner->ntrials < SPREAD_SAMPLES)
        spread_point(next->point, tuner->ntrials, tuner->process.ndims);
    else
        promising_point(tuner, next->point);
    next->tuning = tuning_at(next->point, &tuner->options.start, tuner->options.varying);
    tuner->tuning = next->tuning;
}

/* ---- the final numbers ---- */

static void enter_finalist(struct tuner *tuner, const struct trial *trial)
{
    for (int i = 0; i < tuner->nfinalists; i++)
        if (tuner->finalists[i].trial == trial)
            return;
    tuner->finalists[tuner->nfinalists++].trial = trial;
}

static void begin_comparing(struct tuner *tuner)
{
    tuner->phase = COMPARING;
    enter_finalist(tuner, &tuner->trials[0]);
    enter_finalist(tuner, find_fastest(tuner));
    enter_finalist(tuner, find_believed(tuner));
    tuner->tuning = tuner->finalists[0].trial->tuning;
}

/* The median of three. */
static double median(const double rates[ROUNDS])
{
    double a = rates[0], b = rates[1], c = rates[2];
    double low = fmin(a, b), high = fmax(a, b);
    return fmax(low, fmin(high, c));
}

static const struct finalist *find_winner(const struct tuner *tuner)
{
    const struct finalist *winner = &tuner->finalists[0];
    double most = median(winner->rates) * CLEARLY_PERCENT / 100;
    for (int i = 1; i < tuner->nfinalists; i++) {
        double rate = median(tuner->finalists[i].rates);
        if (rate > most) {
            most = rate;
            winner = &tuner->finalists[i];
        }
    }
    return winner;
}

struct tuner_report tuner_result(const struct tuner *tuner)
{
    const struct finalist *winner = find_winner(tuner);
    return (struct tuner_report){ winner->trial->tuning, median(winner->rates) };
}

/* ---- samples ---- */

static enum tuner_event warm(struct tuner *tuner)
{
    if (++tuner->warmed == tuner->options.warmup_samples)
        tuner->phase = SEARCHING;
    return TUNER_WARMED;
}

static enum tuner_event search(struct tuner *tuner, double rate)
{
    struct trial *trial = &tuner->trials[tuner->ntrials];
    if (tuner->ntrials == 0) {
        trial->tuning = tuner->options.start;
        tuning_point(trial->point, &trial->tuning, tuner->options.varying);
    }
    trial->rate = rate;
    gaussian_process_add(&tuner->process, trial->point, rate);
    if (++tuner->ntrials < tuner->options.max_samples)
        propose(tuner);
    else
        begin_comparing(tuner);
    return TUNER_SAMPLED;
}

static enum tuner_event tuner_compare(struct tuner *tuner, double rate)
{
    int who = tuner->compared % tuner->nfinalists, round = tuner->compared / tuner->nfinalists;
    tuner->finalists[who].rates[round] = rate;
    if (++tuner->compared == tuner->nfinalists * ROUNDS) {
        tuner->phase = DONE;
        tuner->tuning = find_winner(tuner)->trial->tuning;
        return TUNER_DONE;
    }
    tuner->tuning = tuner->finalists[tuner->compared % tuner->nfinalists].trial->tuning;
    return TUNER_SAMPLED;
}

enum tuner_event tuner_tensor_done(struct tuner *tuner, uint64_t name, size_t nbytes,
                                   uint64_t now_ns, struct tuner_report *report)
{
    double rate;
    if (tuner->phase == DONE || !step_meter_done(&tuner->meter, name, nbytes, now_ns, &rate))
        return TUNER_NOTHING;
    *report = (struct tuner_report){ tuner->tuning, rate };
    if (tuner->phase == WARMING_UP)
        return warm(tuner);
    return tuner->phase == SEARCHING ? search(tuner, rate) : tuner_compare(tuner, rate);
}
