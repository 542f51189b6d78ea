/* SPDX-License-Identifier: Apache-2.0 */
/* A worker that behaves like an unmodified Horovod one inside hvd.init(), on the wire byte for
 * byte, and without anything around it. Reads HOROVOD_* from its environment. Acts in the order of
 * its arguments:
 *
 *   init      six rendezvous; prints "rank R of N meets", and beside it how often it has asked
 *   reset     GET /rank_and_size/HOST:LOCAL_RANK, as before a later init in an elastic job; prints it
 *   desert    sends a GET and hangs up without reading
 *   hang      waits for ever
 *   await F   waits until there is a file F.RANK
 *
 * A rendezvous of rank r of n under scope S:
 *   PUT S/rank_r, GET S/rank_i for i < r once each, n - 1 sockets listen, PUT S/r says where,
 *   for each peer i: GET S/i every 10 ms until it is there, and again; one of the two dials,
 *   a barrier over the mesh, DELETE S/r.
 * Ends with status 1 and one line when a request or connection fails, or when some step has taken
 * HOROVOD_GLOO_TIMEOUT_SECONDS; with status 2 when it is told nonsense. */
#include "tests/support/horovod_http.h"
#include "tests/support/horovod_mesh.h"

#include <err.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POLL_US = 10 * 1000, SCOPE_SIZE = 512, PATH_SIZE = SCOPE_SIZE + 32 };

/* The worker's place, by its environment. */
static struct {
    const char *host, *interface;
    int rank, size, local_rank, local_size, cross_rank, cross_size;
    unsigned timeout_s;
} me;

static struct horovod_http http;
static long rank_names_missing; /* 404s that are not polled for */

/* ---- no step takes longer than the timeout ---- */

static char step[PATH_SIZE + 256];

static void on_alarm(int signum)
{
    (void)signum;
    ssize_t n = write(STDERR_FILENO, step, strlen(step));
    _exit(n < 0 ? 1 : EXIT_FAILURE);
}

static void begin(const char *what, const char *path)
{
    alarm(0);
    snprintf(step, sizeof step, "horovod_worker: rank %d: %s %s: timeout after %u s\n", me.rank,
             what, path, me.timeout_s);
    alarm(me.timeout_s);
}

/* ---- one rendezvous ---- */

static void put(const char *scope, const char *prefix, int rank, const void *body, size_t length)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/%s/%s%d", scope, prefix, rank);
    begin("PUT", path);
    if (horovod_http_request(&http, "PUT", path, body, length, NULL, NULL) != 200)
        errx(1, "PUT %s: 404", path);
}

static int get(const char *path, char **reply, size_t *nreply)
{
    return horovod_http_request(&http, "GET", path, NULL, 0, reply, nreply);
}

static void tell_host_name(const char *scope, int rank)
{
    char name[HOST_NAME_MAX + 1] = "";
    gethostname(name, sizeof name - 1);
    put(scope, "rank_", rank, name, strlen(name));
    for (int i = 0; i < rank; i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "/%s/rank_%d", scope, i);
        begin("GET", path);
        rank_names_missing += get(path, NULL, NULL) == 404;
    }
}

/* Polls, and reads what it found once more. */
static char *wait_for(const char *path, size_t *length)
{
    char *told;
    begin("waiting for", path);
    while (get(path, NULL, NULL) != 200)
        usleep(POLL_US);
    if (get(path, &told, length) != 200)
        errx(1, "%s was there and is gone", path);
    return told;
}

static void meet_peer(struct horovod_mesh *mesh, const char *scope, int peer)
{
    char path[PATH_SIZE];
    size_t length;
    snprintf(path, sizeof path, "/%s/%d", scope, peer);
    char *told = wait_for(path, &length);
    begin("connecting to the peer of", path);
    horovod_mesh_connect(mesh, peer, told, length);
    free(told);
}

static void leave(const char *scope, int rank)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/%s/%d", scope, rank);
    begin("DELETE", path);
    if (horovod_http_request(&http, "DELETE", path, NULL, 0, NULL, NULL) != 200)
        errx(1, "DELETE %s: 404", path);
}

static void meet(struct horovod_mesh *mesh, const char *scope, int rank, int size)
{
    tell_host_name(scope, rank);
    horovod_mesh_init(mesh, rank, size, me.interface);
    char *told = horovod_mesh_tell(mesh);
    put(scope, "", rank, told, (size_t)(size - 1) * HOROVOD_ADDRESS_SIZE);
    free(told);
    for (int peer = 0; peer < size; peer++)
        if (peer != rank)
            meet_peer(mesh, scope, peer);
    begin("barrier", scope);
    horovod_mesh_barrier(mesh);
    leave(scope, rank);
}

/* ---- hvd.init() ---- */

/* std::hash<std::string> of libstdc++ on 64 bits: MurmurHash64A, with this seed. */
static uint64_t hash(const char *text, size_t length)
{
    const uint64_t m = 0xc6a4a7935bd1e995;
    uint64_t h = 0xc70f6907 ^ (length * m), k = 0;
    for (; length >= 8; text += 8, length -= 8) {
        memcpy(&k, text, 8);
        k *= m;
        k ^= k >> 47;
        h = (h ^ k * m) * m;
    }
    k = 0;
    memcpy(&k, text, length);
    if (length > 0)
        h = (h ^ k) * m;
    h = (h ^ h >> 47) * m;
    return h ^ h >> 47;
}

/* Of process set 0: "0,1,2," */
static uint64_t hash_of_all_ranks(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        errx(1, "out of memory");
    for (int rank = 0; rank < me.size; rank++)
        fprintf(out, "%d,", rank);
    fclose(out);
    uint64_t hashed = hash(text, length);
    free(text);
    return hashed;
}

static void meet_three(struct horovod_mesh meshes[3], const char *suffix)
{
    char scope[SCOPE_SIZE];
    snprintf(scope, sizeof scope, "global%s", suffix);
    meet(&meshes[0], scope, me.rank, me.size);
    snprintf(scope, sizeof scope, "local_%s%s", me.host, suffix);
    meet(&meshes[1], scope, me.local_rank, me.local_size);
    snprintf(scope, sizeof scope, "cross_%d%s", me.local_rank, suffix);
    meet(&meshes[2], scope, me.cross_rank, me.cross_size);
}

static void say_met(void)
{
    long not_yet = http.not_there - rank_names_missing;
    printf("rank %d of %d meets puts=%ld gets=%ld not_yet=%ld deletes=%ld failures=%ld\n", me.rank,
           me.size, http.puts, http.gets - not_yet, not_yet, http.deletes, http.failures);
    fflush(stdout);
}

static void act_init(const char *argument)
{
    (void)argument;
    char suffix[64];
    struct horovod_mesh meshes[6];
    http.puts = http.gets = http.deletes = http.not_there = rank_names_missing = 0;
    meet_three(meshes, "");
    snprintf(suffix, sizeof suffix, "_process_set_hash_%lx", (unsigned long)hash_of_all_ranks());
    meet_three(meshes + 3, suffix);
    say_met();
    begin("shutdown", "");
    horovod_mesh_barrier(&meshes[0]);
    alarm(0);
    for (int i = 0; i < 6; i++)
        horovod_mesh_fini(&meshes[i]);
}

static void act_reset(const char *argument)
{
    (void)argument;
    char path[PATH_SIZE], *reply;
    size_t length;
    snprintf(path, sizeof path, "/rank_and_size/%s:%d", me.host, me.local_rank);
    begin("GET", path);
    int status = get(path, &reply, &length);
    alarm(0);
    printf("%s is %d %s\n", path, status, reply);
    fflush(stdout);
    free(reply);
}

static void act_desert(const char *argument)
{
    (void)argument;
    horovod_http_desert(&http, "/global/0");
}

static void act_hang(const char *argument)
{
    (void)argument;
    alarm(0);
    for (;;)
        pause();
}

static void act_await(const char *argument)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s.%d", argument, me.rank);
    begin("waiting for", path);
    while (access(path, F_OK) != 0)
        usleep(POLL_US);
    alarm(0);
}

static const struct {
    const char *name;
    void (*act)(const char *argument);
    bool takes_argument;
} acts[] = {
    { "init", act_init, false }, { "reset", act_reset, false }, { "desert", act_desert, false },
    { "hang", act_hang, false }, { "await", act_await, true },
};

static int perform(char **argument)
{
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (strcmp(argument[0], acts[i].name) != 0)
            continue;
        if (acts[i].takes_argument && !argument[1])
            errx(2, "'%s' wants an argument", argument[0]);
        acts[i].act(argument[1]);
        return 1 + acts[i].takes_argument;
    }
    errx(2, "what is '%s'?", argument[0]);
}

/* As Horovod reads them: what is no number is 0. */
static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static const char *text(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value ? value : otherwise;
}

static void read_environment(void)
{
    me.host = text("HOROVOD_HOSTNAME", "localhost");
    me.interface = text("HOROVOD_GLOO_IFACE", "");
    me.rank = number("HOROVOD_RANK", 0);
    me.size = number("HOROVOD_SIZE", 1);
    me.local_rank = number("HOROVOD_LOCAL_RANK", 0);
    me.local_size = number("HOROVOD_LOCAL_SIZE", 1);
    me.cross_rank = number("HOROVOD_CROSS_RANK", 0);
    me.cross_size = number("HOROVOD_CROSS_SIZE", 1);
    me.timeout_s = (unsigned)number("HOROVOD_GLOO_TIMEOUT_SECONDS", 30);
    if (me.size < 1 || me.local_size < 1 || me.cross_size < 1)
        errx(1, "the environment speaks of a world of %d", me.size);
    horovod_http_init(&http, text("HOROVOD_GLOO_RENDEZVOUS_ADDR", "127.0.0.1"),
                      text("HOROVOD_GLOO_RENDEZVOUS_PORT", "0"));
}

int main(int argc, char **argv)
{
    signal(SIGALRM, on_alarm);
    read_environment();
    for (int i = 1; i < argc;)
        i += perform(argv + i);
    return 0;
}
