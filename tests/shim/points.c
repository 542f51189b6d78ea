/* SPDX-License-Identifier: Apache-2.0 */
/* Going through the calls that may fail; see points.h. Of each kind all at once come first (k 0),
 * then k from 1 until a job did not reach a k beyond what the first job counted, or several in a
 * row none at all: no two jobs make quite as many calls. A sample is every n-th of those that were
 * counted, so it is the same as long as the programs are. */
#include "tests/shim/points.h"

#include <stdio.h>
#include <string.h>

enum { KINDS = SHIM_NROLES * SHIM_NCALLS * SHIM_NFAULTS, MISSES_MAX = 6 };

#define NAME(name, text, ...) text,
static const char *const role_names[] = { SHIM_ROLES(NAME) };
static const char *const call_names[] = { SHIM_CALLS(NAME) };
#define FAULT_NAME(name, ...) #name,
static const char *const fault_names[] = { SHIM_FAULTS(FAULT_NAME) };

/* Where failing all at once says more than the first. */
static bool has_every(int fault)
{
    return fault == SHIM_SHORT || fault == SHIM_EINTR || fault == SHIM_EAGAIN ||
           fault == SHIM_ENOSYS;
}

/* A kernel has a call or has it not. */
static bool has_only_every(int fault)
{
    return fault == SHIM_ENOSYS;
}

static struct shim_point point_of(int kind, uint32_t k)
{
    return (struct shim_point){ kind / SHIM_NFAULTS / SHIM_NCALLS,
                                kind / SHIM_NFAULTS % SHIM_NCALLS, kind % SHIM_NFAULTS, k };
}

static uint32_t count_of(const struct points *points, int kind)
{
    struct shim_point point = point_of(kind, 0);
    return points->counts[point.role][point.call][point.fault];
}

void points_init(struct points *points)
{
    *points = (struct points){ .k = -1, .kind = -1 };
}

static int find(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

bool points_choose(struct points *points, int what, const char *name)
{
    int role = find(name, role_names, SHIM_NROLES), call = find(name, call_names, SHIM_NCALLS),
        fault = find(name, fault_names, SHIM_NFAULTS);
    if (what == 'r' && role >= 0)
        points->roles |= 1U << role;
    else if (what == 'c' && call >= 0)
        points->calls |= UINT64_C(1) << call;
    else if (what == 'f' && fault >= 0)
        points->faults |= 1U << fault;
    else
        return false;
    return true;
}

static bool is_chosen(const struct points *points, int kind)
{
    struct shim_point point = point_of(kind, 0);
    return (!points->roles || points->roles & 1U << point.role) &&
           (!points->calls || points->calls & UINT64_C(1) << point.call) &&
           (!points->faults || points->faults & 1U << point.fault);
}

void points_count(struct points *points, const struct shim_board *board)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct shim_point point = point_of(kind, 0);
        if (is_chosen(points, kind))
            points->counts[point.role][point.call][point.fault] =
                board->counts[point.role][point.call][point.fault];
        points->total += count_of(points, kind);
    }
    points->step = points->sample ? points->total / points->sample + 1 : 1;
    points->at = points->step / 2;
}

/* The next of the sample, whose number among all is `at`. */
static bool next_of_sample(struct points *points, struct shim_point *point)
{
    unsigned long before = 0;
    for (int kind = 0; kind < KINDS; before += count_of(points, kind++)) {
        if (points->at >= before + count_of(points, kind))
            continue;
        uint32_t k = (uint32_t)(points->at - before) + 1;
        *point = point_of(kind, has_only_every(kind % SHIM_NFAULTS) ? 0 : k);
        points->at += points->step;
        return true;
    }
    return false;
}

static bool next_kind(struct points *points)
{
    do
        points->kind++;
    while (points->kind < KINDS && count_of(points, points->kind) == 0);
    if (points->kind == KINDS)
        return false;
    points->next_k = has_every(points->kind % SHIM_NFAULTS) ? 0 : 1;
    if (points->k >= 0)
        points->next_k = (uint32_t)points->k;
    return true;
}

bool points_next(struct points *points, struct shim_point *point)
{
    if (points->sample)
        return next_of_sample(points, point);
    bool more = points->kind >= 0 && points->kind < KINDS &&
                points->missed[points->kind] < MISSES_MAX &&
                (points->k < 0 || points->next_k == (uint32_t)points->k) &&
                (points->next_k == 0 || !has_only_every(points->kind % SHIM_NFAULTS));
    if (points->kind >= KINDS || (!more && !next_kind(points)))
        return false;
    *point = point_of(points->kind, points->next_k++);
    return true;
}

void points_tried(struct points *points, const struct shim_point *point, bool reached)
{
    int kind = (point->role * SHIM_NCALLS + point->call) * SHIM_NFAULTS + point->fault;
    bool expected = point->k <= points->counts[point->role][point->call][point->fault];
    if (reached)
        points->missed[kind] = 0;
    else if (points->missed[kind] < MISSES_MAX)
        points->missed[kind] = expected ? (uint8_t)(points->missed[kind] + 1) : MISSES_MAX;
}

void points_list(const struct points *points)
{
    char name[96];
    for (int kind = 0; kind < KINDS; kind++) {
        struct shim_point point = point_of(kind, count_of(points, kind));
        if (point.k > 0)
            printf("%s\n", point_name(&point, name, sizeof name));
    }
    printf("%lu in all\n", points->total);
}

const char *point_name(const struct shim_point *point, char *text, size_t size)
{
    char k[16] = "every";
    if (point->k > 0)
        snprintf(k, sizeof k, "%u", point->k);
    snprintf(text, size, "%s %s %s %s", role_names[point->role], call_names[point->call],
             fault_names[point->fault], k);
    return text;
}
