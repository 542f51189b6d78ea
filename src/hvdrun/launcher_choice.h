/* SPDX-License-Identifier: Apache-2.0 */
/* How hosts are reached (--launcher):
 *
 *   ssh      libssh2, or the external ssh where the configuration needs it
 *   local    no host but this machine
 *   slurm    one srun for all hosts (launcher/connect/transport_srun.c)
 *   others   a command for each host, of which launcher_choice.c has the words
 *
 * Without the option: the user's own command (--remote-shell); else slurm, if this is an allocation
 * of Slurm, all hosts are in it and srun is there; else ssh. The commands of other batch systems
 * are not chosen by themselves, because they were tried with stand-ins only. */
#ifndef SRC_HVDRUN_LAUNCHER_CHOICE_H
#define SRC_HVDRUN_LAUNCHER_CHOICE_H

#include "launcher/hosts/host_environment.h"
#include "launcher/hosts/host_list.h"
#include "lib/base/status.h"

#include <stdbool.h>

/* In the order of the words. */
enum launcher {
    LAUNCHER_AUTO,
    LAUNCHER_SSH,
    LAUNCHER_LOCAL,
    LAUNCHER_SLURM,
    LAUNCHER_PBSDSH,
    LAUNCHER_BLAUNCH,
    LAUNCHER_QRSH,
    LAUNCHER_FLUX,
    LAUNCHERS
};
#define LAUNCHER_CHOICES "auto ssh local slurm pbsdsh blaunch qrsh flux"

/* The input of the choice; borrowed. */
struct launcher_facts {
    enum launcher asked;
    const char *command, *command_source; /* of the user's own; NULL */
    bool has_ssh_options;                 /* -p, -i or --ssh-accept-new */
    bool dry_run;                         /* nothing is started */
    const struct host_list *hosts;
    host_environment_get_fn *get;
};

struct launcher_choice {
    enum launcher launcher;               /* AUTO: the command is the user's own */
    const char *command, *command_source; /* borrowed; NULL if hosts are not reached by a command */
    char why[300];                        /* a line for people */
    char missing[300];   /* no host needs the command yet, and it is not in $PATH; else "" */
    const char *program; /* that is not in $PATH, if `missing` is set */
};

/* HVD_OK; or HVD_ERR_INVALID and one line if --launcher cannot be had: slurm outside an allocation,
 * or for a host that is not in it; local with another machine; a named user where the batch system
 * knows only its own; a batch system whose command is needed and is not in $PATH. */
int launcher_choose(struct launcher_choice *choice, const struct launcher_facts *facts,
                    struct err *err);

#endif
