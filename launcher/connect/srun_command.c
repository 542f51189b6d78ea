/* SPDX-License-Identifier: Apache-2.0 */
/* What srun is told: its words, its environment, and the bytes of its stdin (a copy of hvdagent, if
 * there is to be one, and the invitation). Fails when the copy cannot be read. */
#include "launcher/connect/srun_impl.h"

#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"
#include "launcher/process/program_image.h"
#include "launcher/process/worker_environment.h"
#include "lib/base/frame.h"
#include "lib/base/interfaces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* Variables of Slurm that srun would take for options, of those that it is not given as words: the
 * step has all processors and accelerators of the allocation, one task for each host, our pipes as
 * its streams, no time limit of its own, and no program but ours; and srun says what becomes of its
 * tasks, and no more than that (srun_line.h). */
static bool srun_command_is_option(const char *entry)
{
    static const char *const names[] = {
        "SLURM_BCAST=",
        "SLURM_BCAST_EXCLUDE=",
        "SLURM_CORE_SPEC=",
        "SLURM_CPUS_PER_GPU=",
        "SLURM_CPUS_PER_TASK=",
        "SLURM_DEBUG=",
        "SLURM_DISABLE_STATUS=",
        "SLURM_DISTRIBUTION=",
        "SLURM_DIST_PLANESIZE=",
        "SLURM_EPILOG=",
        "SLURM_EXACT=",
        "SLURM_EXCLUSIVE=",
        "SLURM_EXIT_ERROR=",
        "SLURM_EXIT_IMMEDIATE=",
        "SLURM_GPUS_PER_TASK=",
        "SLURM_GPU_BIND=",
        "SLURM_HINT=",
        "SLURM_IMMEDIATE=",
        "SLURM_MEM_BIND=",
        "SLURM_MULTI_PROG=",
        "SLURM_NTASKS_PER_CORE=",
        "SLURM_NTASKS_PER_GPU=",
        "SLURM_NTASKS_PER_SOCKET=",
        "SLURM_NTASKS_PER_TRES=",
        "SLURM_OPEN_MODE=",
        "SLURM_OVERCOMMIT=",
        "SLURM_OVERLAP=",
        "SLURM_PROLOG=",
        "SLURM_RELATIVE=",
        "SLURM_SIGNAL=",
        "SLURM_SRUN_REDUCE_TASK_EXIT_MSG=",
        "SLURM_STDERRMODE=",
        "SLURM_STDINMODE=",
        "SLURM_STDOUTMODE=",
        "SLURM_STEP_KILLED_MSG_NODE_ID=",
        "SLURM_TASK_EPILOG=",
        "SLURM_TASK_PROLOG=",
        "SLURM_TEST_EXEC=",
        "SLURM_THREADS=",
        "SLURM_THREADS_PER_CORE=",
        "SLURM_THREAD_SPEC=",
        "SLURM_TIMELIMIT=",
        "SLURM_TRES_BIND=",
        "SLURM_TRES_PER_TASK=",
        "SLURM_UNBUFFEREDIO=",
        "SLURM_WHOLE=",
        "SRUN_CPUS_PER_TASK=",
        "SRUN_ERROR=",
        "SRUN_INPUT=",
        "SRUN_OUTPUT=",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Our environment, but for what selects accelerators of this machine. A variable instead of the
 * option --overlap, because Slurm before 20.11 does not know that. */
void srun_command_environment(struct string_list *list)
{
    struct string_list devices = { 0 };
    worker_environment_devices(&devices, environ);
    for (char **entry = environ; *entry; entry++) {
        bool is_device = false;
        for (size_t i = 0; i < devices.count; i++)
            is_device |= strcmp(devices.items[i], *entry) == 0;
        if (!is_device && !srun_command_is_option(*entry))
            string_list_add(list, *entry, strlen(*entry));
    }
    string_list_take(list, xstrdup("SLURM_OVERLAP=1"));
    string_list_fini(&devices);
}

void srun_command_words(struct string_list *words, const struct srun *srun, const char *script)
{
    static const char *const always[] = { "--ntasks-per-node=1",
                                          "--no-kill",
                                          "--kill-on-bad-exit=0",
                                          "--wait=0",
                                          "--cpu-bind=none",
                                          "--mpi=none",
                                          "--export=ALL",
                                          "--chdir=/",
                                          "--label",
                                          "/bin/sh",
                                          "-c" };
    struct text_buffer names = { 0 };
    for (const struct srun_host *host = srun->first; host; host = host->next)
        text_buffer_printf(&names, "%s%s", names.length > 0 ? "," : "", host->job->target->host);
    char *list = text_buffer_take(&names);
    string_list_take(words, xstrdup("srun"));
    string_list_take(words, xasprintf("--nodes=%d", srun->nhosts));
    string_list_take(words, xasprintf("--ntasks=%d", srun->nhosts));
    string_list_take(words, xasprintf("--nodelist=%s", list));
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        string_list_take(words, xstrdup(always[i]));
    string_list_take(words, xstrdup(script));
    free(list);
}

/* Reads the copy into what stdin will have. 0, or an errno. */
int srun_command_put_copy(struct srun *srun, size_t *size)
{
    int fd = open(srun->settings->agent, O_RDONLY | O_CLOEXEC);
    int errnum = fd < 0 ? errno : program_image_size(fd, size);
    if (errnum == 0 && !wire_reserve(&srun->bytes, *size))
        errnum = ENOMEM;
    while (errnum == 0 && srun->bytes.length < *size) {
        ssize_t n = read(fd, srun->bytes.data + srun->bytes.length, *size - srun->bytes.length);
        if (n <= 0)
            errnum = n == 0 ? ESTALE : errno;
        else
            srun->bytes.length += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    return errnum;
}

void srun_command_put_invitation(struct srun *srun)
{
    struct dial_invitation invitation = { .version = DIAL_VERSION,
                                          .port = dial_listener_port(srun->listener),
                                          .key = srun->key };
    struct interfaces here = { 0 };
    interfaces_read(&here, NULL);
    for (int i = 0; i < here.count && invitation.naddresses < DIAL_ADDRESSES_MAX; i++)
        if (here.at[i].kind != INTERFACE_LOOPBACK)
            interface_address(&here.at[i], invitation.addresses[invitation.naddresses++],
                              DIAL_ADDRESS_SIZE);
    srun->bytes.secret = true;
    size_t begin = frame_begin(&srun->bytes, DIAL_INVITATION);
    dial_invitation_encode(&srun->bytes, &invitation);
    frame_end(&srun->bytes, begin);
    job_key_wipe(&invitation.key);
}
