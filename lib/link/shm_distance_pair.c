/* SPDX-License-Identifier: Apache-2.0 */
/* The pairs of this process; see shm_distance_pair.h. A pid that is used again while links to the
 * ended process are still open only makes its pair begin with the old distance. */
#include "lib/link/shm_distance_pair.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shm_distance_pair *pairs;

static struct shm_distance_pair *shm_distance_pair_find(pid_t pid)
{
    struct shm_distance_pair *pair = pairs;
    while (pair && pair->pid != pid)
        pair = pair->next;
    return pair;
}

static struct shm_distance_pair *shm_distance_pair_add(pid_t pid)
{
    struct shm_distance_pair *pair = calloc(1, sizeof *pair);
    if (!pair)
        return NULL;
    pair->pid = pid;
    pair->next = pairs;
    pairs = pair;
    return pair;
}

struct shm_distance_pair *shm_distance_pair_get(pid_t pid)
{
    pthread_mutex_lock(&lock);
    struct shm_distance_pair *pair = pid ? shm_distance_pair_find(pid) : NULL;
    if (!pair)
        pair = shm_distance_pair_add(pid);
    if (pair)
        pair->nlinks++;
    pthread_mutex_unlock(&lock);
    return pair;
}

void shm_distance_pair_put(struct shm_distance_pair *pair)
{
    if (!pair)
        return;
    pthread_mutex_lock(&lock);
    if (--pair->nlinks == 0) {
        struct shm_distance_pair **at = &pairs;
        while (*at != pair)
            at = &(*at)->next;
        *at = pair->next;
        free(pair);
    }
    pthread_mutex_unlock(&lock);
}
