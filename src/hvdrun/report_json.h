/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a job as JSON; hvdrun(1), THE REPORT, has its keys. Pure. */
#ifndef SRC_HVDRUN_REPORT_JSON_H
#define SRC_HVDRUN_REPORT_JSON_H

#include "launcher/verdict/job_report.h"

/* One JSON value in indented lines, with keys in the order of the manual, whatever bytes its texts
 * are of. The caller frees it; NULL when out of memory. */
char *report_json(const struct job_report *report);

/* "2026-11-22T04:01:02.345Z", of milliseconds since 1970. */
enum { REPORT_TIME_SIZE = 40 };
void report_time(char text[REPORT_TIME_SIZE], uint64_t epoch_ms);

#endif
