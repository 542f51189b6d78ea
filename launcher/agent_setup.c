/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent is told before anything runs, and the look at it: working directory, program,
 * descriptors, rendezvous. Fails, as one FAILED frame for the host, when the working directory
 * cannot be entered, the program is not found (127) or cannot be executed (126), too few
 * descriptors are allowed, or the rendezvous cannot be offered (71). */
#include "launcher/agent.h"

#include "launcher/descriptors.h"
#include "launcher/exit_status.h"
#include "launcher/xalloc.h"
#include "lib/base/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors of the agent's own, and those that each rank takes here. */
enum { OWN_DESCRIPTORS = 96, DESCRIPTORS_PER_RANK = 4 };

int agent_on_job(struct agent *agent, struct wire_reader *body, struct err *err)
{
    return agent_job_decode(&agent->job, body, err);
}

static int add_texts(struct string_list *list, struct wire_reader *body, int type, struct err *err)
{
    while (body->left > 0 && !body->failed) {
        struct wire_text text = wire_get_text(body);
        if (memchr(text.data, 0, text.length))
            body->failed = true;
        if (!body->failed)
            string_list_add(list, text.data, text.length);
    }
    return agent_frame_finished(body, type, err);
}

int agent_on_arguments(struct agent *agent, struct wire_reader *body, struct err *err)
{
    return add_texts(&agent->arguments, body, AGENT_ARGUMENTS, err);
}

int agent_on_environment(struct agent *agent, struct wire_reader *body, struct err *err)
{
    return add_texts(&agent->environment, body, AGENT_ENVIRONMENT, err);
}

int agent_on_rank(struct agent *agent, struct wire_reader *body, struct err *err)
{
    int rank = wire_get_i32(body);
    int last = agent->nranks > 0 ? agent->ranks[agent->nranks - 1]->rank : -1;
    if (body->failed || rank <= last || rank >= WORLD_SIZE_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "rank %d after rank %d", rank, last);
    struct agent_rank *added = xcalloc(1, sizeof *added);
    added->agent = agent;
    added->rank = rank;
    agent->ranks = xreallocarray(agent->ranks, (size_t)agent->nranks + 1, sizeof *agent->ranks);
    agent->ranks[agent->nranks++] = added;
    return add_texts(&added->environment, body, AGENT_RANK, err);
}

/* 0, or the errno with which executing `path` would fail. */
static int check_program(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    return access(path, X_OK) < 0 ? errno : 0;
}

/* Looks `name` up as execvp() would, in the ranks' own PATH. 0 and agent->program, or an errno. */
static int find_program(struct agent *agent, const char *name)
{
    if (strchr(name, '/')) {
        agent->program = xstrdup(name);
        return check_program(name);
    }
    const char *path = string_list_variable(&agent->environment, "PATH");
    int result = ENOENT;
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin";; at++) {
        size_t length = strcspn(at, ":");
        char *candidate = length > 0 ? xasprintf("%.*s/%s", (int)length, at, name) : xstrdup(name);
        int rc = check_program(candidate);
        if (rc == 0) {
            agent->program = candidate;
            return 0;
        }
        free(candidate);
        if (rc != ENOENT && rc != ENOTDIR)
            result = rc;
        at += length;
        if (!*at)
            return result;
    }
}

/* execve() hands a file that it does not understand back, and we give it to /bin/sh: not if it is
 * binary. */
static bool is_foreign_binary(const char *path)
{
    char head[128];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false; /* executable but not readable is fine */
    ssize_t n = read(fd, head, sizeof head);
    close(fd);
    bool elf = n >= 4 && memcmp(head, "\177ELF", 4) == 0;
    return n > 0 && !elf && memchr(head, 0, (size_t)n);
}

static int look_at_program(struct agent *agent, struct err *err)
{
    const char *name = agent->arguments.items[0];
    char quoted[QUOTED_SIZE];
    quote_token(quoted, sizeof quoted, name, strlen(name));
    int rc = find_program(agent, name);
    if (rc == 0 && is_foreign_binary(agent->program))
        rc = ENOEXEC;
    if (rc == ENOENT || rc == ENOTDIR) {
        fail(err, HVD_ERR_INVALID, "command not found: '%s'%s", quoted,
             strchr(name, '/') ? "" : " (looked for in PATH)");
        return STATUS_NOT_FOUND;
    }
    if (rc != 0) {
        fail_errno(err, HVD_ERR_INVALID, rc, "command cannot be executed: '%s'", quoted);
        return STATUS_NOT_EXECUTABLE;
    }
    return 0;
}

/* 0, or the exit status with which the job fails on this host. */
static int look_at_everything(struct agent *agent, struct err *err)
{
    if (chdir(agent->job.cwd) < 0) {
        fail_errno(err, HVD_ERR_SYSTEM, errno, "working directory '%s'", agent->job.cwd);
        return STATUS_NOT_FOUND;
    }
    int rc = look_at_program(agent, err);
    if (rc != 0)
        return rc;
    unsigned long needed = OWN_DESCRIPTORS + (unsigned long)agent->nranks * DESCRIPTORS_PER_RANK;
    if (descriptors_allow(needed, &agent->nofile, err) < 0 || agent_relay_open(agent, err) < 0)
        return STATUS_RESOURCE;
    return 0;
}

int agent_on_prepare(struct agent *agent, struct wire_reader *body, struct err *err)
{
    int rc = agent_frame_finished(body, AGENT_PREPARE, err);
    if (rc < 0)
        return rc;
    if (agent->arguments.count == 0 || agent->nranks == 0 || !agent->job.version)
        return fail(err, HVD_ERR_PROTOCOL, "PREPARE before the job is described");
    struct err reason = { 0 };
    int exit_status = look_at_everything(agent, &reason);
    if (exit_status != 0) {
        agent_send_failed(agent, -1, exit_status, reason.text);
        return HVD_OK;
    }
    agent->phase = AGENT_IS_READY;
    frame_link_begin(&agent->link, AGENT_READY);
    frame_link_send(&agent->link);
    return HVD_OK;
}
