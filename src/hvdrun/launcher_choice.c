/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a launcher; see launcher_choice.h. Hosts that are this machine need none, and are
 * not looked at. Reads files where the allocation's variables name some (host_environment.h). */
#include "src/hvdrun/launcher_choice.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/exit_status.h"
#include "launcher/hosts/local_host.h"
#include "launcher/process/program_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char option[] = "--launcher";

static const struct {
    const char *program; /* which must be on this machine; NULL: none */
    const char *command; /* NULL: not by a command */
    const char *system;  /* whose hosts it reaches */
    const char *sign;    /* a variable that an allocation has; NULL: none is looked for */
} launchers[LAUNCHERS] = {
    [LAUNCHER_SLURM] = { "srun", NULL, "Slurm", NULL },
    [LAUNCHER_PBSDSH] = { "pbsdsh", "pbsdsh -h %h", "PBS", "PBS_JOBID" },
    [LAUNCHER_BLAUNCH] = { "blaunch", "blaunch %h", "LSF", "LSB_JOBID" },
    [LAUNCHER_QRSH] = { "qrsh", "qrsh -inherit %h", "Grid Engine", "PE_HOSTFILE" },
    /* flux names hosts by rank */
    [LAUNCHER_FLUX] = { "flux",
                        "sh -c 'exec flux exec -r \"$(flux overlay lookup \"$0\")\" \"$@\"' %h",
                        "flux", "FLUX_JOB_ID" },
};

static const char *const words[LAUNCHERS] = { "auto",   "ssh",     "local", "slurm",
                                              "pbsdsh", "blaunch", "qrsh",  "flux" };

static bool is_set(const struct launcher_facts *facts, const char *variable)
{
    const char *value = facts->get(variable);
    return value && *value;
}

static int check_launcher_program(const struct launcher_facts *facts, enum launcher launcher,
                                  struct err *err)
{
    const char *program = launchers[launcher].program;
    char *path = NULL;
    int status = program_find(program, facts->get("PATH"), &path, err);
    free(path);
    if (status == 0)
        return HVD_OK;
    if (status == STATUS_NOT_EXECUTABLE)
        return fail_context(err, "%s: %s", option, words[launcher]);
    return bad_input(err, option,
                     "%s: %s is not found in $PATH (start hvdrun where the commands of %s are "
                     "installed)",
                     words[launcher], program, launchers[launcher].system);
}

/* ---- Slurm ---- */

static bool is_in(const struct host_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcasecmp(list->hosts[i].name, name) == 0)
            return true;
    return false;
}

/* The first host that srun cannot reach, or NULL. Lists that are equal are compared in order. */
static const struct host_slots *outside(const struct host_list *hosts,
                                        const struct host_list *allocation)
{
    const struct host_slots *found = NULL;
    struct local_host self;
    local_host_init(&self);
    for (int i = 0; i < hosts->count && !found; i++) {
        const struct host_slots *host = &hosts->hosts[i];
        bool same = i < allocation->count && strcasecmp(allocation->hosts[i].name, host->name) == 0;
        if (host->user ||
            !(same || is_in(allocation, host->name) || local_host_is(&self, host->name)))
            found = host;
    }
    local_host_fini(&self);
    return found;
}

/* HVD_OK if srun reaches all hosts. */
static int check_slurm(const struct launcher_facts *facts, struct err *err)
{
    struct host_list allocation = { 0 };
    const char *source;
    struct shown shown;
    if (!is_set(facts, "SLURM_JOB_ID") ||
        !(is_set(facts, "SLURM_JOB_NODELIST") || is_set(facts, "SLURM_NODELIST")))
        return bad_input(err, option,
                         "slurm outside an allocation of Slurm (no $SLURM_JOB_ID or "
                         "$SLURM_JOB_NODELIST)");
    int rc = check_launcher_program(facts, LAUNCHER_SLURM, err);
    if (rc == HVD_OK)
        rc = host_list_from_environment(&allocation, facts->get, &source, err);
    if (rc < 0)
        return rc;
    const struct host_slots *host = outside(facts->hosts, &allocation);
    host_list_fini(&allocation);
    if (host && host->user)
        return bad_input(err, option,
                         "slurm: host '%s' is given with a user, and srun has only yours",
                         show_token(&shown, host->name, strlen(host->name)));
    if (host)
        return bad_input(err, option, "slurm: host '%s' is not in the allocation (%s)",
                         show_token(&shown, host->name, strlen(host->name)), source);
    return HVD_OK;
}

/* ---- the others ---- */

static int check_local(const struct launcher_facts *facts, struct err *err)
{
    struct host_list none = { 0 };
    struct shown shown;
    const struct host_slots *other = outside(facts->hosts, &none);
    if (!other)
        return HVD_OK;
    return bad_input(err, option, "local: host '%s' is not this machine",
                     show_token(&shown, other->name, strlen(other->name)));
}

static int check_users(const struct launcher_facts *facts, struct err *err)
{
    struct shown shown;
    for (int i = 0; i < facts->hosts->count; i++) {
        const struct host_slots *host = &facts->hosts->hosts[i];
        if (host->user)
            return bad_input(err, option, "%s: host '%s' is given with a user", words[facts->asked],
                             show_token(&shown, host->name, strlen(host->name)));
    }
    return HVD_OK;
}

/* Neither hosts that are this machine nor --dry-run need the program. A script may still name other
 * hosts, and a hostfile may get others while an elastic job runs. */
static int check_launcher_command(struct launcher_choice *choice,
                                  const struct launcher_facts *facts, struct err *err)
{
    struct host_list none = { 0 };
    struct err later = { 0 };
    int rc = check_users(facts, err);
    if (rc < 0 || facts->dry_run)
        return rc;
    if (facts->hosts->count == 0 || outside(facts->hosts, &none))
        return check_launcher_program(facts, facts->asked, err);
    check_launcher_program(facts, facts->asked, &later);
    choice->program = launchers[facts->asked].program;
    snprintf(choice->missing, sizeof choice->missing, "%.299s", later.text);
    return HVD_OK;
}

static int take_asked(struct launcher_choice *choice, const struct launcher_facts *facts,
                      struct err *err)
{
    choice->launcher = facts->asked;
    choice->command = launchers[facts->asked].command;
    choice->command_source = choice->command ? option : NULL;
    snprintf(choice->why, sizeof choice->why, "hosts are reached by %s (%s)%s%s",
             words[facts->asked], option, choice->command ? ": " : "",
             choice->command ? choice->command : "");
    if (facts->asked == LAUNCHER_SLURM)
        return check_slurm(facts, err);
    if (facts->asked == LAUNCHER_LOCAL)
        return check_local(facts, err);
    return choice->command ? check_launcher_command(choice, facts, err) : HVD_OK;
}

/* ssh; and what else there is, if this is an allocation. */
static void take_ssh(struct launcher_choice *choice, const struct launcher_facts *facts,
                     const char *why_not_slurm)
{
    choice->launcher = LAUNCHER_SSH;
    snprintf(choice->why, sizeof choice->why, "hosts are reached by ssh%s%.200s",
             *why_not_slurm ? ", not by srun: " : "", why_not_slurm);
    for (int i = 0; i < LAUNCHERS; i++)
        if (launchers[i].sign && is_set(facts, launchers[i].sign)) {
            snprintf(choice->why, sizeof choice->why,
                     "hosts are reached by ssh; in this job of %s, %s %s uses its own way",
                     launchers[i].system, option, words[i]);
            return;
        }
}

int launcher_choose(struct launcher_choice *choice, const struct launcher_facts *facts,
                    struct err *err)
{
    struct err slurm = { 0 };
    *choice = (struct launcher_choice){ 0 };
    if (facts->asked != LAUNCHER_AUTO)
        return take_asked(choice, facts, err);
    if (facts->command) {
        choice->command = facts->command;
        choice->command_source = facts->command_source;
        snprintf(choice->why, sizeof choice->why, "hosts are reached by a command (%s)",
                 facts->command_source);
        return HVD_OK;
    }
    if (!is_set(facts, "SLURM_JOB_ID"))
        take_ssh(choice, facts, "");
    else if (facts->has_ssh_options)
        take_ssh(choice, facts, "options of ssh are given");
    else if (check_slurm(facts, &slurm) < 0)
        take_ssh(choice, facts, slurm.text);
    else {
        choice->launcher = LAUNCHER_SLURM;
        snprintf(choice->why, sizeof choice->why,
                 "hosts are reached by srun, because all are in this allocation of Slurm");
    }
    return HVD_OK;
}
