/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the file of --report would be in the way of the files of --output-filename, or be one of
 * them. The check uses the names alone, before any of the files is created. */
#ifndef SRC_HVDRUN_REPORT_PATH_H
#define SRC_HVDRUN_REPORT_PATH_H

#include "lib/base/status.h"

/* HVD_OK, or HVD_ERR_INVALID when `report` is the path of a rank's file below `directory`, or of a
 * folder that leads to it, under whatever names: "--report: ..." */
int report_path_check(const char *report, const char *directory, int nranks, struct err *err);

#endif
