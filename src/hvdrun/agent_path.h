/* SPDX-License-Identifier: Apache-2.0 */
/* Finds hvdagent: beside hvdrun (a build tree); in its configured installation directory, in the
 * same staging directory as hvdrun; or in ../libexec/hvdrun from hvdrun (an installation that was
 * moved). */
#ifndef SRC_HVDRUN_AGENT_PATH_H
#define SRC_HVDRUN_AGENT_PATH_H

/* The first of these files that can be executed; the caller frees it. NULL if there is none. */
char *agent_path_find(void);

#endif
