/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong, and when; see stand_in.h. */
#include "tests/stand_in_cuda/stand_in.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAULTS_MAX = 8 };

struct fault {
    char call[40];
    int at, result, seen;
    bool lasts;
};

static struct {
    pthread_mutex_t lock;
    bool read;
    int gpus, driver, pools, ipc, peers;
    int late_at, late_result, late_seen;
    int broken;
    struct fault faults[FAULTS_MAX];
    int nfaults;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_for_this_rank(int rank)
{
    const char *text = getenv("HOROVOD_RANK");
    return text && atoi(text) == rank;
}

static void read_word(const char *word, bool *ours)
{
    struct fault *fault = &state.faults[state.nfaults];
    int number;
    if (sscanf(word, "rank=%d", &number) == 1)
        *ours = is_for_this_rank(number);
    else if (!*ours)
        return;
    else if (sscanf(word, "gpus=%d", &number) == 1)
        state.gpus = number;
    else if (sscanf(word, "driver=%d", &number) == 1)
        state.driver = number;
    else if (sscanf(word, "pools=%d", &number) == 1)
        state.pools = number;
    else if (sscanf(word, "ipc=%d", &number) == 1)
        state.ipc = number;
    else if (sscanf(word, "peers=%d", &number) == 1)
        state.peers = number;
    else if (sscanf(word, "late=%d:%d", &state.late_at, &state.late_result) == 2)
        state.late_seen = 0;
    else if (state.nfaults < FAULTS_MAX &&
             sscanf(word, "fail=%39[^:]:%d:%d", fault->call, &fault->at, &fault->result) == 3)
        state.nfaults++;
    else if (state.nfaults < FAULTS_MAX &&
             sscanf(word, "lost=%39[^:]:%d", fault->call, &fault->at) == 2) {
        fault->result = CUDA_UNKNOWN;
        fault->lasts = true;
        state.nfaults++;
    } else {
        fprintf(stderr, "stand_in_cuda: '%s' is no word of it\n", word);
        abort();
    }
}

/* Called under the lock. */
static void read_words(const char *words)
{
    char copy[512], *rest, *word;
    bool ours = true;
    snprintf(copy, sizeof copy, "%s", words ? words : "");
    state.read = true;
    state.gpus = 2;
    state.driver = 12040;
    state.pools = state.ipc = state.peers = 1;
    state.late_at = state.broken = state.nfaults = 0;
    memset(state.faults, 0, sizeof state.faults);
    for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        read_word(word, &ours);
}

static void lock_state(void)
{
    pthread_mutex_lock(&state.lock);
    if (!state.read)
        read_words(getenv("STAND_IN_CUDA"));
}

void stand_in_configure(const char *words)
{
    pthread_mutex_lock(&state.lock);
    read_words(words);
    pthread_mutex_unlock(&state.lock);
}

int stand_in_number(const char *word, int otherwise)
{
    lock_state();
    int number = strcmp(word, "gpus") == 0     ? state.gpus
                 : strcmp(word, "driver") == 0 ? state.driver
                 : strcmp(word, "pools") == 0  ? state.pools
                 : strcmp(word, "ipc") == 0    ? state.ipc
                 : strcmp(word, "peers") == 0  ? state.peers
                                               : otherwise;
    pthread_mutex_unlock(&state.lock);
    return number;
}

void stand_in_break(int result)
{
    lock_state();
    if (!state.broken)
        state.broken = result;
    pthread_mutex_unlock(&state.lock);
}

int stand_in_fault(const char *call)
{
    lock_state();
    int result = state.broken;
    for (int i = 0; i < state.nfaults && !result; i++) {
        struct fault *fault = &state.faults[i];
        if (strcmp(fault->call, call) != 0 || ++fault->seen != fault->at)
            continue;
        result = fault->result;
        if (fault->lasts)
            state.broken = result;
    }
    pthread_mutex_unlock(&state.lock);
    return result;
}

int stand_in_late_fault(void)
{
    lock_state();
    bool due = state.late_at > 0 && ++state.late_seen == state.late_at;
    int result = state.broken ? state.broken : due ? state.late_result : CUDA_OK;
    if (due && !state.broken)
        state.broken = result;
    pthread_mutex_unlock(&state.lock);
    return result;
}
