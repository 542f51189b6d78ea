/* SPDX-License-Identifier: Apache-2.0 */
/* The features with which this hvdrun was built. */
#ifndef SRC_OPTIONS_BUILD_TABLE_H
#define SRC_OPTIONS_BUILD_TABLE_H

/* --version: "hvdrun 0.2.0" and a newline; the caller frees it. */
char *build_version(void);

/* --check-build: the three sections of horovodrun's, then libraries, vector paths and sanitizers.
 * hvdrun(1) shows it. The caller frees it. */
char *build_table(void);

#endif
