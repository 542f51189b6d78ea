/* SPDX-License-Identifier: Apache-2.0 */
/* The reports of a launcher; see launcher_view.h. */
#include "rendezvous/world/launcher_view.h"

#include <stdlib.h>
#include <string.h>

static char *launcher_view_copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

struct launcher_view *launcher_view_create(const struct rendezvous_options *options)
{
    struct launcher_view *launch = calloc(1, sizeof *launch);
    if (!launch)
        return NULL;
    *launch = (struct launcher_view){
        .command = launcher_view_copy(options->command),
        .user = launcher_view_copy(options->user),
        .started_ms = options->started_ms,
        .ranks = calloc((size_t)options->size + 1, sizeof *launch->ranks),
        .size = options->size,
        .elastic = options->elastic,
        .output = options->events.output,
        .context = options->context,
    };
    bool short_of_memory = !launch->ranks || (options->command && !launch->command) ||
                           (options->user && !launch->user);
    if (!short_of_memory)
        return launch;
    launcher_view_destroy(launch);
    return NULL;
}

void launcher_view_destroy(struct launcher_view *launch)
{
    if (!launch)
        return;
    free(launch->ranks);
    free(launch->command);
    free(launch->user);
    free(launch->verdict_text);
    free(launch);
}

const struct launcher_view_rank *launcher_view_rank_of(const struct launcher_view *launch,
                                                       int worker)
{
    return launch && worker < launch->size ? &launch->ranks[worker] : NULL;
}

/* An elastic job has no last worker. */
static bool launcher_view_know(struct launcher_view *launch, int worker)
{
    if (worker < launch->size)
        return true;
    int size = worker < 2 * launch->size ? 2 * launch->size : worker + 1;
    struct launcher_view_rank *larger = reallocarray(launch->ranks, (size_t)size, sizeof *larger);
    if (!larger)
        return false;
    memset(larger + launch->size, 0, (size_t)(size - launch->size) * sizeof *larger);
    launch->ranks = larger;
    launch->size = size;
    return true;
}

bool launcher_view_end(struct launcher_view *launch, int rank, const struct rendezvous_end *end)
{
    if (!launcher_view_know(launch, rank))
        return false;
    struct launcher_view_rank *at = &launch->ranks[rank];
    bool known = at->how.kind != RANK_END_NONE;
    *at = (struct launcher_view_rank){ end->how, end->terminated };
    launch->ended += !known;
    return !known && !launch->elastic && launch->ended == launch->size;
}

void launcher_view_verdict(struct launcher_view *launch, const struct rendezvous_verdict *verdict)
{
    char *text = strdup(verdict->text);
    if (!text)
        return;
    free(launch->verdict_text);
    launch->verdict_text = text;
    launch->verdict = *verdict;
    launch->verdict.text = text;
}

char *launcher_view_output(const struct launcher_view *launch, int rank, bool of_stderr)
{
    size_t share = LAUNCHER_VIEW_OUTPUT_ALL / ((size_t)launch->size + (launch->size == 0));
    if (share < LAUNCHER_VIEW_OUTPUT_MIN)
        share = LAUNCHER_VIEW_OUTPUT_MIN;
    if (share > LAUNCHER_VIEW_OUTPUT_MAX)
        share = LAUNCHER_VIEW_OUTPUT_MAX;
    return launch->output ? launch->output(launch->context, rank, of_stderr, share) : NULL;
}
