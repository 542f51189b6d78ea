/* SPDX-License-Identifier: Apache-2.0 */
/* A strict reader of Prometheus' text format 0.0.4 for tests, which shares nothing with what writes
 * it. Stricter than Prometheus itself: HELP, TYPE and then the samples of one family stand
 * together, once; counters are called ..._total; no series is there twice; buckets rise and end
 * with +Inf. */
#ifndef TESTS_SUPPORT_PROMETHEUS_H
#define TESTS_SUPPORT_PROMETHEUS_H

#include <stddef.h>

enum { PROMETHEUS_SERIES_MAX = 512, PROMETHEUS_NAME_MAX = 192 };

struct prometheus {
    struct {
        char name[PROMETHEUS_NAME_MAX]; /* as it stands there, with its labels */
        double value;
    } series[PROMETHEUS_SERIES_MAX];
    int count;
    char complaint[256]; /* "" if the text is right */
};

/* Reads a text, which ends with a newline. */
void prometheus_read(struct prometheus *prometheus, const char *text, size_t length);

/* The value of a series; -1 if it is not there. */
double prometheus_value(const struct prometheus *prometheus, const char *name);

#endif
