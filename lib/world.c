/* SPDX-License-Identifier: Apache-2.0 */
/* A world; see world.h. */
#include "lib/world.h"

#include "lib/autotune/tuner.h"
#include "lib/base/descriptor.h"
#include "lib/base/log.h"
#include "lib/engine/processors.h"
#include "lib/join/bootstrap.h"
#include "lib/join/news.h"
#include "lib/join/other_launcher.h"
#include "lib/link/link_striped.h"
#include "lib/link/linker.h"
#include "lib/reduce/thread_pool.h"
#include "lib/vendor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)HVD_HOSTS_REMOVED == (int)JOIN_HOSTS_REMOVED &&
                   (int)HVD_HOSTS_ADDED == (int)JOIN_HOSTS_ADDED,
               "what the rendezvous tells is what the program hears");
_Static_assert((int)SETTINGS_STREAMS_MAX == (int)STREAMS_MAX &&
                   (int)SETTINGS_THREADS_MAX == (int)THREAD_POOL_MAX &&
                   (int)SETTINGS_WARMUP_MAX == (int)TUNER_WARMUP_MAX &&
                   (int)SETTINGS_STEPS_MAX == (int)TUNER_STEPS_MAX &&
                   (int)SETTINGS_SAMPLES_MAX == (int)TUNER_SAMPLES_MAX,
               "what may be asked for is what there can be");

struct world {
    struct rank_assignment assignment;
    struct failure failure; /* written by the news thread and the engine */
    struct news news;       /* runs unless the world has no rendezvous */
    struct engine *engine;
};

static bool has_rendezvous(const struct world *world)
{
    return world->assignment.connection.fd >= 0;
}

/* WELCOME says what the rank could not know when it made its key. */
static void complete_credentials(struct rank_assignment *assignment)
{
    const struct join_welcome *welcome = &assignment->welcome;
    struct rank_credentials *credentials = &assignment->credentials;
    credentials->epoch = welcome->epoch;
    credentials->rank = (uint32_t)welcome->rank_info.rank;
    memcpy(credentials->certificate, welcome->certificate, CERTIFICATE_SIZE);
    memcpy(credentials->certifier, welcome->certifier, CERTIFIER_KEY_SIZE);
    for (int i = 0; i < welcome->nneighbours; i++)
        rank_credentials_know(credentials, (uint32_t)welcome->neighbours[i].rank, welcome->keys[i]);
}

static struct linker *make_linker(struct rank_assignment *assignment,
                                  const struct settings *settings, struct err *err)
{
    struct linker_options options = {
        .listener = assignment->listener,
        .credentials = &assignment->credentials,
        .streams = settings->streams,
        .encryption = settings->encryption,
        .network = &assignment->network,
    };
    complete_credentials(assignment);
    struct linker *linker = linker_create(&options, err);
    if (linker)
        assignment->listener = NO_LISTENER; /* taken over */
    job_key_wipe(&assignment->key);
    rank_credentials_wipe(&assignment->credentials);
    return linker;
}

static int start_engine(struct world *world, const struct settings *settings,
                        const struct environment *environment, int64_t handles, struct err *err)
{
    struct rank_assignment *assignment = &world->assignment;
    struct linker *linker = make_linker(assignment, settings, err);
    if (!linker)
        return err->code;
    struct engine_options options = {
        .settings = *settings,
        .welcome = &assignment->welcome,
        .processors = assignment->processors,
        .host = environment->host,
        .addresses = &assignment->addresses,
        .linker = linker,
        .failure = &world->failure,
        .elastic = environment->elastic,
        .handles = handles,
    };
    world->engine = engine_create(&options, err);
    return world->engine ? HVD_OK : err->code;
}

/* A program that learns of a failure may end without hvd_shutdown(). */
static void tell_rendezvous(void *arg, const struct rank_end *end)
{
    struct world *world = arg;
    join_broken(&world->assignment.connection, end);
}

/* The news thread already runs while links are made: a lost rank will never make its links. */
static int world_start(struct world *world, const struct settings *settings,
                       const struct environment *environment, int64_t handles, struct err *err)
{
    int rc = start_engine(world, settings, environment, handles, err);
    if (rc == HVD_OK && has_rendezvous(world)) {
        failure_listen(&world->failure, tell_rendezvous, world);
        rc = news_start(&world->news, &world->assignment.connection, &world->failure, engine_report,
                        world->engine, engine_wake_fd(world->engine), err);
    }
    return rc < 0 ? rc : engine_start(world->engine, err);
}

static void warn_if_alone_among_others(const struct environment *environment)
{
    char text[OTHER_LAUNCHER_TEXT];
    if (environment->bootstrap.kind == BOOTSTRAP_ALONE && !environment->bootstrap.reason &&
        other_launcher_text(text, environment->get))
        log_line(LOG_WARNING, -1, "%s", text);
}

/* A later epoch does not write over the files of an earlier one. */
static int name_files(struct settings *settings, uint32_t epoch, struct err *err)
{
    char *files[] = { settings->timeline, settings->autotune_log };
    for (size_t i = 0; epoch > 0 && i < sizeof files / sizeof *files; i++) {
        size_t length = strlen(files[i]), room = SETTINGS_PATH_MAX - length;
        if (length > 0 && snprintf(files[i] + length, room, ".epoch%u", epoch) >= (int)room)
            return fail(err, HVD_ERR_ENVIRONMENT, "'%s' is too long to have .epoch%u behind it",
                        files[i], epoch);
    }
    return HVD_OK;
}

/* The other ranks would only learn that this rank was lost, so it says why. */
static int open_device(struct world *world, const struct settings *settings,
                       const struct environment *environment, struct err *err)
{
    const struct rank_info *info = &world->assignment.welcome.rank_info;
    struct rank_end end = rank_end_none();
    int rc = vendor_open_default(settings->device, info->local_rank, info->local_size, err);
    if (rc == HVD_OK || !has_rendezvous(world))
        return rc;
    end.how.kind = RANK_END_FAILED;
    end.status = rc;
    end.rank = end.because_of = info->rank;
    snprintf(end.host, sizeof end.host, "%s", environment->host);
    snprintf(end.words, sizeof end.words, "%s", err->text);
    tell_rendezvous(world, &end);
    return rc;
}

static int join(struct world *world, environment_get_fn *get, struct world_past *past,
                struct err *err)
{
    struct environment environment;
    struct settings *settings = calloc(1, sizeof *settings);
    if (!settings)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    int rc = auth_init(err);
    if (rc == HVD_OK)
        rc = environment_read(&environment, get, err);
    if (rc == HVD_OK)
        rc = settings_read(settings, get, err);
    if (rc == HVD_OK) {
        log_configure(settings->log_level, settings->log_hide_time);
        warn_if_alone_among_others(&environment);
        environment.epoch = past->epoch;
        if (past->worker >= 0)
            environment.worker = past->worker;
        rc = bootstrap_join(&world->assignment, &environment,
                            processors_count(settings->processors), err);
    }
    if (rc == HVD_OK) {
        past->epoch = world->assignment.welcome.epoch + 1;
        past->worker = world->assignment.welcome.worker;
        rc = name_files(settings, world->assignment.welcome.epoch, err);
    }
    if (rc == HVD_OK)
        rc = open_device(world, settings, &environment, err);
    if (rc == HVD_OK)
        rc = world_start(world, settings, &environment, past->handles, err);
    job_key_wipe(&environment.key);
    free(settings);
    return rc;
}

static void destroy(struct world *world)
{
    news_stop(&world->news);
    engine_destroy(world->engine);
    rank_assignment_fini(&world->assignment);
    failure_fini(&world->failure);
    free(world);
}

struct world *world_join(environment_get_fn *get, struct world_past *past, struct err *err)
{
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    world->assignment.connection.fd = -1;
    world->assignment.listener = NO_LISTENER;
    failure_init(&world->failure);
    if (join(world, get, past, err) == HVD_OK)
        return world;
    if (world->engine)
        engine_stop(world->engine);
    destroy(world);
    return NULL;
}

const struct rank_info *world_rank_info(const struct world *world)
{
    return &world->assignment.welcome.rank_info;
}

bool world_is_homogeneous(const struct world *world)
{
    return world->assignment.welcome.homogeneous;
}

int world_epoch(const struct world *world)
{
    return (int)world->assignment.welcome.epoch;
}

bool world_is_broken(const struct world *world)
{
    return failure_is_there(&world->failure);
}

int world_hosts_updated(const struct world *world)
{
    return atomic_load(&world->news.hosts_updated);
}

struct engine *world_engine(struct world *world)
{
    return world->engine;
}

void world_stop(struct world *world)
{
    engine_stop(world->engine);
}

/* A program that has closed all descriptors (closefrom(3)) has closed ours, too: threads that sleep
 * on them cannot be woken, and their numbers may belong to the program now. */
static bool has_lost_descriptors(const struct world *world)
{
    return !descriptor_is_event(has_rendezvous(world) ? world->news.stop_fd
                                                      : engine_wake_fd(world->engine));
}

void world_leave(struct world *world, struct world_past *past)
{
    struct rank_end end;
    past->handles = engine_handles(world->engine);
    if (has_lost_descriptors(world)) {
        log_line(
            LOG_WARNING, world_rank_info(world)->rank,
            "hvd_shutdown: the program has closed descriptors of the library (closefrom or close): "
            "its threads stay, and the other ranks are not told");
        news_abandon(&world->news);
        engine_abandon(world->engine);
        return;
    }
    if (has_rendezvous(world)) {
        news_stop(&world->news); /* the end of the connection after GOODBYE is no news */
        failure_listen(&world->failure, NULL, NULL); /* GOODBYE has the end */
        failure_parting(&world->failure, &end);
        join_goodbye(&world->assignment.connection, &end);
    }
    destroy(world);
}
