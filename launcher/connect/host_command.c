/* SPDX-License-Identifier: Apache-2.0 */
/* The command that connects to a host; see host_command.h. */
#include "launcher/connect/host_command.h"

#include "launcher/base/xalloc.h"
#include "launcher/connect/command_words.h"

#include <stdlib.h>
#include <string.h>

/* For a host that is reached with libssh2 otherwise. */
#define SSH_COMMAND "ssh %h"

static void insert_words(struct string_list *words, size_t at, char **added, size_t count)
{
    for (size_t i = 0; i < count; i++) /* makes room */
        string_list_take(words, NULL);
    memmove(words->items + at + count, words->items + at,
            (words->count - count - at) * sizeof *words->items);
    memcpy(words->items + at, added, count * sizeof *added);
}

/* Adds the ssh options that hvdrun was given, and those that forbid questions and make ssh run our
 * command on our streams, whatever its configuration says. A master that ssh leaves behind on
 * another machine would be a process of the job, so there is none. A command of the transport has
 * its own StrictHostKeyChecking, and ssh takes the first that it sees, which would be ours. */
static void add_ssh_options(struct string_list *words, const struct host_transport_job *job,
                            bool accept_new)
{
    static const char *const always[] = { "-T", "-oBatchMode=yes", "-oRemoteCommand=none",
                                          "-oClearAllForwardings=yes" };
    static const char *const without_master[] = { "-oControlMaster=no", "-oControlPath=none" };
    const struct connect_settings *settings = job->settings;
    struct string_list options = { 0 };
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        string_list_take(&options, xstrdup(always[i]));
    for (size_t i = 0; job->target->below && i < sizeof without_master / sizeof *without_master;
         i++)
        string_list_take(&options, xstrdup(without_master[i]));
    if (accept_new)
        string_list_take(&options, xstrdup("-oStrictHostKeyChecking=accept-new"));
    if (settings->ssh_port)
        string_list_take(&options, xasprintf("-p%d", settings->ssh_port));
    for (const char *const *at = settings->identity_files; at && *at; at++)
        string_list_take(&options, xasprintf("-i%s", *at));
    insert_words(words, 1, options.items, options.count);
    free(options.items); /* the texts have a new owner */
}

int host_command_words(struct string_list *words, const struct host_transport_job *job,
                       struct err *err)
{
    bool users_own;
    const char *text = host_transport_command_text(job->connect, &users_own);
    users_own &= text != NULL;
    int rc =
        command_words_make(words, text ? text : SSH_COMMAND, job->settings->remote_shell_source,
                           job->target->host, job->target->user, err);
    if (rc < 0)
        return rc;
    if (!users_own)
        add_ssh_options(words, job, job->settings->accept_new && !text);
    string_list_take(words, xstrdup("/bin/sh"));
    return HVD_OK;
}
