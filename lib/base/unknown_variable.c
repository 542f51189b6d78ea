/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all variables with our prefixes; see unknown_variable.h.
 * tests/variable_names_test.sh compares the table with the sources and the manual. */
#include "lib/base/unknown_variable.h"

#include "lib/base/edit_distance.h"
#include "lib/base/env_names.h"
#include "lib/base/status.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_SEEN = 64, HOROVOD_EDITS = 2 };

static const char ours[] = "HVD_", of_horovod[] = "HOROVOD_", of_tests[] = "HVD_TEST_";

/* hvdrun, hvdrendezvousd, libhvd or hvd-tune reads these, or sets them for its ranks. */
static const char *const in_use[] = {
    ENV_HOSTNAME,
    ENV_RANK,
    ENV_SIZE,
    ENV_LOCAL_RANK,
    ENV_LOCAL_SIZE,
    ENV_CROSS_RANK,
    ENV_CROSS_SIZE,
    ENV_RENDEZVOUS_ADDR,
    ENV_RENDEZVOUS_PORT,
    ENV_ELASTIC,
    ENV_CONTROLLER,
    ENV_CPU_OPERATIONS,
    ENV_GLOO_IFACE,
    ENV_START_TIMEOUT,
    ENV_ELASTIC_TIMEOUT,
    ENV_FUSION_THRESHOLD,
    ENV_CYCLE_TIME,
    ENV_CACHE_CAPACITY,
    ENV_DISABLE_GROUP_FUSION,
    ENV_TIMELINE,
    ENV_TIMELINE_MARK_CYCLES,
    ENV_STALL_CHECK_DISABLE,
    ENV_STALL_CHECK_TIME,
    ENV_STALL_SHUTDOWN_TIME,
    ENV_LOG_LEVEL,
    ENV_LOG_HIDE_TIME,
    ENV_AUTOTUNE,
    ENV_AUTOTUNE_LOG,
    ENV_AUTOTUNE_WARMUP_SAMPLES,
    ENV_AUTOTUNE_STEPS_PER_SAMPLE,
    ENV_AUTOTUNE_MAX_SAMPLES,
    ENV_AUTOTUNE_NOISE,
    ENV_AGENT,
    ENV_ALGORITHM,
    "HVD_BANDWIDTH",
    ENV_BOOTSTRAP,
    ENV_CHECK_NUMERICS,
    "HVD_CUDA_NCCL",
    "HVD_CUDA_SHARE",
    ENV_DEVICE,
    ENV_ENCRYPT,
    ENV_JOB_ID,
    ENV_JOB_KEY,
    ENV_KEY_OF,
    ENV_NETWORK_INTERFACES,
    ENV_PORT_RANGE,
    ENV_PROCESSORS,
    ENV_REMOTE_SHELL,
    ENV_COMMAND_OF,
    ENV_RENDEZVOUS,
    ENV_STACK_TRACES,
    ENV_STEADY,
    ENV_STREAMS,
    ENV_THREADS,
    ENV_TRANSPORT,
    ENV_TUNING,
    ENV_WORKER,
    "HOROVOD_GLOO_TIMEOUT_SECONDS",
    "HOROVOD_NUM_NCCL_STREAMS",
    "HOROVOD_THREAD_AFFINITY",
    "HOROVOD_DYNAMIC_PROCESS_SETS",
};

/* Only Horovod reads these, when it runs or is built, or tests and scripts of this tree do. */
static const char *const of_others[] = {
    "HOROVOD_ADASUM_MPI_CHUNK_SIZE",
    "HOROVOD_BATCH_D2D_MEMCOPIES",
    "HOROVOD_CCL_CACHE",
    "HOROVOD_DISABLE_NVTX_RANGES",
    "HOROVOD_ENABLE_ASYNC_COMPLETION",
    "HOROVOD_ENABLE_XLA_OPS",
    "HOROVOD_GPU_ALLGATHER",
    "HOROVOD_GPU_ALLREDUCE",
    "HOROVOD_GPU_BROADCAST",
    "HOROVOD_GPU_OPERATIONS",
    "HOROVOD_HIERARCHICAL_ALLGATHER",
    "HOROVOD_HIERARCHICAL_ALLREDUCE",
    "HOROVOD_MPI_THREADS_DISABLE",
    "HOROVOD_TESTS",
    "HOROVOD_TORUS_ALLREDUCE",
    "HOROVOD_WORKER",
    "HVD_CHAOS_TRIAL",
    "HVD_HOST_KEYS",
    "HVD_SCALE",
    "HVD_SHIM_BOARD",
    "HVD_SHIM_STOP",
    "HVD_TESTBED",
    "HVD_TUNE",
};

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool is_in(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool variable_is_known(const char *name)
{
    return is_in(in_use, sizeof in_use / sizeof *in_use, name) ||
           is_in(of_others, sizeof of_others / sizeof *of_others, name);
}

/* Of a service named "hvd" or "hvd-..." in the namespace of the pod: HVD_SERVICE_HOST,
 * HVD_PORT=tcp://10.0.0.1:29400, HVD_PORT_29400_TCP_ADDR and so on. */
static bool is_of_kubernetes(const char *name, const char *value)
{
    const char *port = strstr(name, "_PORT");
    if (strstr(name, "_SERVICE_HOST") || strstr(name, "_SERVICE_PORT"))
        return true;
    return port && (port[5] ? port[5] == '_' && port[6] >= '0' && port[6] <= '9'
                            : strstr(value, "://") != NULL);
}

/* A name without its prefix and without '_': neither a wrong prefix nor a '_' makes a name
 * another one. */
static void strip(char out[NAME_MAX_SEEN], const char *name)
{
    size_t length = 0;
    name += strlen(begins_with(name, ours) ? ours : of_horovod);
    for (; *name && length < NAME_MAX_SEEN - 1; name++)
        if (*name != '_')
            out[length++] = *name;
    out[length] = '\0';
}

/* The name in use that was probably meant, or NULL. */
static const char *suggested_variable(const char *name)
{
    char word[NAME_MAX_SEEN], other[NAME_MAX_SEEN];
    const char *near = NULL;
    strip(word, name);
    int least = (int)strlen(word) / 3 + 1;
    if (begins_with(name, of_horovod) && least > HOROVOD_EDITS + 1)
        least = HOROVOD_EDITS + 1;
    for (size_t i = 0; i < sizeof in_use / sizeof *in_use; i++) {
        strip(other, in_use[i]);
        int distance = edit_distance(word, strlen(word), other);
        if (distance < least) {
            least = distance;
            near = in_use[i];
        }
    }
    return near;
}

bool unknown_variable_text(char text[UNKNOWN_VARIABLE_TEXT], const char *entry)
{
    char name[NAME_MAX_SEEN], quoted[QUOTED_SIZE];
    size_t length = strcspn(entry, "=");
    snprintf(name, sizeof name, "%.*s", (int)(length < NAME_MAX_SEEN ? length : 0), entry);
    bool is_ours = begins_with(entry, ours);
    if ((!is_ours && !begins_with(name, of_horovod)) || begins_with(entry, of_tests) ||
        variable_is_known(name) || is_of_kubernetes(name, entry + length))
        return false;
    const char *near = *name ? suggested_variable(name) : NULL;
    if (!is_ours && !near)
        return false;
    quote_token(quoted, sizeof quoted, entry, length);
    snprintf(text, UNKNOWN_VARIABLE_TEXT, "%s: neither hvdrun nor libhvd reads this variable%s%s%s",
             quoted, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    return true;
}
