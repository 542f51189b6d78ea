/* SPDX-License-Identifier: Apache-2.0 */
/* The script by which /bin/sh on another machine becomes hvdagent. hvdrun writes it to the hosts
 * that it connects to, and an agent to those that it connects to (TUNNEL_SCRIPT); hvdrun reads the
 * answers in both cases (launcher/connect/agent_bootstrap.h). */
#ifndef LAUNCHER_TREE_AGENT_BOOTSTRAP_SCRIPT_H
#define LAUNCHER_TREE_AGENT_BOOTSTRAP_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 16 hexadecimal digits and a zero byte. */
enum { BOOTSTRAP_NONCE_SIZE = 17 };

/* A new nonce. */
void agent_bootstrap_nonce(char nonce[BOOTSTRAP_NONCE_SIZE]);

/* Is it of that form? */
bool agent_bootstrap_nonce_is_valid(const char *nonce);

/* The script. `agent` is the path to try, `size` the number of bytes that would be sent. The caller
 * frees it. */
char *agent_bootstrap_script(const char *nonce, const char *agent, uint64_t size);

/* The script of a task of srun, for "/bin/sh -c": hvdagent connects to hvdrun, with what stdin has
 * (launcher/protocol/agent_dial.h). If it is not there, and `copy_size` is 0, the mark is "missing
 * NODE MACHINE"; otherwise stdin has so many bytes of a copy before. "fail NODE TEXT" may come. The
 * caller frees it. */
char *agent_bootstrap_task_script(const char *nonce, const char *agent, uint64_t copy_size);

#endif
