/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of Prometheus' text (metrics.h). */
#ifndef RENDEZVOUS_API_METRICS_LINE_H
#define RENDEZVOUS_API_METRICS_LINE_H

#include "lib/base/wire.h"

/* Appends at most 255 bytes, which is more than any line has: names and labels are ours. */
void metrics_line(struct wire_writer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* HELP and TYPE; the samples of the family stand behind. */
void metrics_family(struct wire_writer *out, const char *name, const char *type, const char *help);

#endif
