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

enum {
    WORD_SIZE = 64,  /* no name in use is half as long */
    SHORT_WORD = 10, /* a name after HOROVOD_ may have one edit below, two from here on */
};

static const char ours[] = "HVD_", of_horovod[] = "HOROVOD_", of_tests[] = "HVD_TEST_";

/* hvdrun, hvdrendezvousd, libhvd or hvd-tune reads these; a misspelt name may mean one of them. */
static const char *const in_use[] = {
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
    ENV_ALGORITHM,
    "HVD_BANDWIDTH",
    ENV_BOOTSTRAP,
    ENV_CHECK_NUMERICS,
    ENV_CUDA_IPC,
    ENV_CUDA_NCCL,
    ENV_CUDA_SHARE,
    ENV_DEVICE,
    ENV_ENCRYPT,
    ENV_HIERARCHICAL_ALLREDUCE,
    ENV_NETWORK_INTERFACES,
    ENV_PORT_RANGE,
    ENV_REMOTE_SHELL,
    ENV_STACK_TRACES,
    ENV_STEADY,
    ENV_STREAMS,
    ENV_THREADS,
    ENV_TRANSPORT,
    ENV_TUNING,
    "HOROVOD_GLOO_TIMEOUT_SECONDS",
    "HOROVOD_NUM_NCCL_STREAMS",
    "HOROVOD_THREAD_AFFINITY",
    "HOROVOD_DYNAMIC_PROCESS_SETS",
};

/* hvdrun sets these for its ranks and does not pass on the user's own values. No warning suggests
 * them, because they would have no effect in its environment. */
static const char *const set_by_hvdrun[] = { ENV_SET_BY_HVDRUN };

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
};

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* `name` has `length` bytes; '=' or the end of the text follows. */
static bool is_in(const char *const *names, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(names[i], name, length) == 0 && names[i][length] == '\0')
            return true;
    return false;
}

static bool variable_is_known(const char *name, size_t length)
{
    return is_in(in_use, sizeof in_use / sizeof *in_use, name, length) ||
           is_in(set_by_hvdrun, sizeof set_by_hvdrun / sizeof *set_by_hvdrun, name, length) ||
           is_in(of_others, sizeof of_others / sizeof *of_others, name, length);
}

/* Of a service named "hvd" or "hvd-..." in the namespace of the pod: HVD_SERVICE_HOST,
 * HVD_PORT=tcp://10.0.0.1:29400, HVD_PORT_29400_TCP_ADDR and so on. The name of the service may
 * have "_PORT" too. */
static bool is_of_kubernetes(const char *entry, size_t length)
{
    static const char port[] = "_PORT";
    const char *at = entry, *end = entry + length;
    if (memmem(entry, length, "_SERVICE_HOST", 13) || memmem(entry, length, "_SERVICE_PORT", 13))
        return true;
    while ((at = memmem(at, (size_t)(end - at), port, strlen(port)))) {
        at += strlen(port);
        if (at == end ? strstr(end, "://") != NULL : at[0] == '_' && at[1] >= '0' && at[1] <= '9')
            return true;
    }
    return false;
}

/* The beginning of a name without its prefix and without '_': neither a wrong prefix nor a '_'
 * makes a name another one. */
static void strip(char out[WORD_SIZE], const char *name, size_t length)
{
    size_t used = 0;
    for (size_t i = strlen(begins_with(name, ours) ? ours : of_horovod); i < length; i++)
        if (name[i] != '_' && used < WORD_SIZE - 1)
            out[used++] = name[i];
    out[used] = '\0';
}

/* The name in use that was probably meant, or NULL. Users have variables of their own that begin
 * with HOROVOD_, so such a name must be closer to the one in use. */
static const char *suggested_variable(const char *name, size_t length)
{
    char word[WORD_SIZE], other[WORD_SIZE];
    const char *near = NULL;
    bool is_horovods = begins_with(name, of_horovod);
    strip(word, name, length);
    int letters = (int)strlen(word);
    int least = is_horovods ? (letters < SHORT_WORD ? 1 : 2) + 1 : letters / 3 + 1;
    for (size_t i = 0; i < sizeof in_use / sizeof *in_use; i++) {
        strip(other, in_use[i], strlen(in_use[i]));
        int distance = edit_distance(word, strlen(word), other);
        if (distance < least && (!is_horovods || begins_with(in_use[i], of_horovod))) {
            least = distance;
            near = in_use[i];
        }
    }
    return near;
}

bool unknown_variable_text(char text[UNKNOWN_VARIABLE_TEXT], const char *entry)
{
    char quoted[QUOTED_SIZE];
    size_t length = strcspn(entry, "=");
    bool is_ours = begins_with(entry, ours);
    if ((!is_ours && !begins_with(entry, of_horovod)) || begins_with(entry, of_tests) ||
        variable_is_known(entry, length) || is_of_kubernetes(entry, length))
        return false;
    const char *near = suggested_variable(entry, length);
    if (!is_ours && !near)
        return false;
    quote_token(quoted, sizeof quoted, entry, length);
    snprintf(text, UNKNOWN_VARIABLE_TEXT, "%s: neither hvdrun nor libhvd reads this variable%s%s%s",
             quoted, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    return true;
}
