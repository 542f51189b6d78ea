/* SPDX-License-Identifier: Apache-2.0 */
/* Telling the children of hvdrun apart; see adopted.h. An agent, and all that it starts, is in a
 * session of its own. So a child in hvdrun's session comes from a program that ran in this process
 * before hvdrun, or from a command. A command that has left the session is known by its
 * environment. */
#include "launcher/cleanup/adopted.h"

#include "launcher/base/xalloc.h"
#include "launcher/cleanup/orphans.h"
#include "launcher/process/process_tree.h"
#include "lib/base/env_names.h"

#include <stdlib.h>
#include <unistd.h>

void adopted_start(struct adopted *adopted, pid_t agent)
{
    int count = process_tree_children(&adopted->earlier);
    adopted->nearlier = 0;
    for (int i = 0; i < count; i++)
        if (adopted->earlier[i] != agent)
            adopted->earlier[adopted->nearlier++] = adopted->earlier[i];
    process_tree_adopt();
}

void adopted_fini(struct adopted *adopted)
{
    free(adopted->earlier);
    *adopted = (struct adopted){ 0 };
}

int adopted_append_not_ours(const struct adopted *adopted, const char *job_id, pid_t **pids,
                            int count)
{
    pid_t *children;
    int nchildren = process_tree_children(&children);
    char *of_command = xasprintf(ENV_COMMAND_OF "=%s", job_id);
    size_t most = (size_t)(count + adopted->nearlier + nchildren);
    *pids = xreallocarray(*pids, most > 0 ? most : 1, sizeof **pids);
    for (int i = 0; i < adopted->nearlier; i++)
        (*pids)[count++] = adopted->earlier[i];
    for (int i = 0; i < nchildren; i++)
        if (getsid(children[i]) == getsid(0) || orphans_has(children[i], of_command))
            (*pids)[count++] = children[i];
    free(of_command);
    free(children);
    return count;
}
