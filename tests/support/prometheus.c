/* SPDX-License-Identifier: Apache-2.0 */
/* Reading metrics line by line; see prometheus.h. */
#include "tests/support/prometheus.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

enum { FAMILIES_MAX = 64, FAMILY_SIZE = 64 };

struct reading {
    struct prometheus *out;
    char families[FAMILIES_MAX][FAMILY_SIZE]; /* the last one is being read */
    int nfamilies;
    char type[16]; /* of the last one; "" before TYPE has come */
    double bucket, bound;
};

static void __attribute__((format(printf, 2, 3)))
complain(struct reading *reading, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!*reading->out->complaint)
        vsnprintf(reading->out->complaint, sizeof reading->out->complaint, format, args);
    va_end(args);
}

static void begin_family(struct reading *reading, const char *line)
{
    char name[FAMILY_SIZE];
    int end = 0;
    if (sscanf(line, "# HELP %63[" NAME "]%n", name, &end) != 1 || line[end] != ' ') {
        complain(reading, "not a HELP: %s", line);
        return;
    }
    for (int i = 0; i < reading->nfamilies; i++)
        if (strcmp(reading->families[i], name) == 0)
            complain(reading, "family again: %s", line);
    if (reading->nfamilies == FAMILIES_MAX)
        complain(reading, "too many families");
    else
        strcpy(reading->families[reading->nfamilies++], name);
    *reading->type = '\0';
}

static bool is_type(const char *type)
{
    static const char *const types[] = { "counter", "gauge", "histogram" };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i], type) == 0)
            return true;
    return false;
}

static void take_type(struct reading *reading, const char *line)
{
    char name[FAMILY_SIZE], type[16];
    int end = 0;
    if (sscanf(line, "# TYPE %63[" NAME "] %15[a-z]%n", name, type, &end) != 2 || line[end] ||
        *reading->type || reading->nfamilies == 0 ||
        strcmp(name, reading->families[reading->nfamilies - 1]) != 0) {
        complain(reading, "not the TYPE that is expected: %s", line);
        return;
    }
    size_t length = strlen(name);
    bool total = length > 6 && strcmp(name + length - 6, "_total") == 0;
    if (!is_type(type) || total != (strcmp(type, "counter") == 0))
        complain(reading, "not a type for that name: %s", line);
    strcpy(reading->type, type);
    reading->bound = -1;
    reading->bucket = 0;
}

/* Labels between braces, if there are any; where they end, or NULL. */
static const char *skip_labels(const char *at)
{
    if (*at != '{')
        return at;
    do {
        size_t name = strspn(++at, NAME);
        if (name == 0 || strncmp(at + name, "=\"", 2) != 0)
            return NULL;
        for (at += name + 2; *at && *at != '"'; at++)
            if (*at == '\\' && !strchr("\\\"n", *++at))
                return NULL;
        if (*at++ != '"')
            return NULL;
    } while (*at == ',');
    return *at == '}' ? at + 1 : NULL;
}

/* What stands behind the family's name: nothing, or a part of a histogram. */
static void check_part(struct reading *reading, const char *line, const char *part, double value)
{
    if (strcmp(reading->type, "histogram") != 0) {
        if (*part != '{' && *part != ' ')
            complain(reading, "not of its family: %s", line);
        return;
    }
    char bound[32];
    const char *le = strstr(part, "le=\"");
    if (strncmp(part, "_bucket{", 8) == 0 && le && sscanf(le, "le=\"%31[^\"]\"} ", bound) == 1) {
        double at = strtod(bound, NULL);
        if (!(at > reading->bound) || value < reading->bucket)
            complain(reading, "a bucket that does not rise: %s", line);
        reading->bound = at;
        reading->bucket = value;
    } else if (strncmp(part, "_count", 6) == 0 && strchr(" {", part[6])) {
        if (!isinf(reading->bound) || value != reading->bucket)
            complain(reading, "not what the last bucket says: %s", line);
        reading->bound = -1; /* of the next labels */
        reading->bucket = 0;
    } else if (strncmp(part, "_sum", 4) != 0 || !strchr(" {", part[4]))
        complain(reading, "not a part of a histogram: %s", line);
}

static void keep(struct reading *reading, const char *line, size_t length, double value)
{
    struct prometheus *out = reading->out;
    char name[PROMETHEUS_NAME_MAX];
    if (length >= sizeof name || out->count == PROMETHEUS_SERIES_MAX) {
        complain(reading, "too long, or too many: %s", line);
        return;
    }
    memcpy(name, line, length);
    name[length] = '\0';
    for (int i = 0; i < out->count; i++)
        if (strcmp(out->series[i].name, name) == 0)
            complain(reading, "series again: %s", line);
    strcpy(out->series[out->count].name, name);
    out->series[out->count++].value = value;
}

static void take_sample(struct reading *reading, const char *line)
{
    const char *family = reading->nfamilies ? reading->families[reading->nfamilies - 1] : "?";
    size_t length = strlen(family);
    const char *labels = line + strspn(line, NAME), *end = skip_labels(labels);
    if (!*reading->type || strncmp(line, family, length) != 0 || !end || *end != ' ') {
        complain(reading, "not a sample of %s: %s", family, line);
        return;
    }
    char *rest;
    double value = strtod(end + 1, &rest);
    if (rest == end + 1 || *rest || value < 0 || !isfinite(value))
        complain(reading, "not a number: %s", line);
    check_part(reading, line, line + length, value);
    keep(reading, line, (size_t)(end - line), value);
}

void prometheus_read(struct prometheus *prometheus, const char *text, size_t length)
{
    struct reading reading = { .out = prometheus };
    memset(prometheus, 0, sizeof *prometheus);
    while (length > 0) {
        char line[1024];
        const char *end = memchr(text, '\n', length);
        size_t size = end ? (size_t)(end - text) : sizeof line;
        if (size >= sizeof line || memchr(text, '\0', size)) {
            complain(&reading, "a line without end, or too long");
            return;
        }
        memcpy(line, text, size);
        line[size] = '\0';
        if (strncmp(line, "# HELP", 6) == 0)
            begin_family(&reading, line);
        else if (*line == '#')
            take_type(&reading, line);
        else
            take_sample(&reading, line);
        text += size + 1;
        length -= size + 1;
    }
}

double prometheus_value(const struct prometheus *prometheus, const char *name)
{
    for (int i = 0; i < prometheus->count; i++)
        if (strcmp(prometheus->series[i].name, name) == 0)
            return prometheus->series[i].value;
    return -1;
}
