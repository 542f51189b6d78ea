/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what belongs to hvdrun's installation: in its configured installation directory, in the
 * same staging directory as hvdrun; or in the same place relative to hvdrun (an installation that
 * was moved). hvdagent and hvdssh are first looked for beside hvdrun (a build tree). */
#ifndef SRC_HVDRUN_INSTALL_PATH_H
#define SRC_HVDRUN_INSTALL_PATH_H

/* hvdagent: the first of these files that can be executed; the caller frees it. NULL if there is
 * none. */
char *agent_path_find(void);

/* hvdssh, likewise. */
char *ssh_program_find(void);

/* The directory in which the package `horovod` of libhvd is; the caller frees it. The configured
 * directory if there is none on this machine: other hosts may have it. */
char *python_path_find(void);

#endif
