/* SPDX-License-Identifier: Apache-2.0 */
/* What comes out of the programs that fit networks (fit.h), when they have been trained. */
#ifndef EXAMPLES_FIT_REPORT_H
#define EXAMPLES_FIT_REPORT_H

#include "examples/fit_training.h"

/* Table, plot, checkpoint, result line. Returns the status to exit with when all ranks have agreed
 * on one, or -1 with a problem. */
int fit_report(struct fit *fit, struct problem *problem);

#endif
