/* SPDX-License-Identifier: Apache-2.0 */
/* --check-build: the table of src/options/build_table.h, and what of CUDA this machine has. */
#ifndef SRC_HVDRUN_CHECK_BUILD_H
#define SRC_HVDRUN_CHECK_BUILD_H

/* The caller frees it. */
char *check_build(void);

#endif
