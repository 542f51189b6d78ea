/* SPDX-License-Identifier: Apache-2.0 */
/* What a launcher has told; see launch.h. */
#include "rendezvous/world/launcher_view.h"

#include <stdlib.h>
#include <string.h>

static char *launch_copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

struct launch *launch_create(const struct rendezvous_options *options)
{
    struct launch *launch = calloc(1, sizeof *launch);
    if (!launch)
        return NULL;
    *launch = (struct launch){
        .command = launch_copy(options->command),
        .user = launch_copy(options->user),
        .started_ms = options->started_ms,
        .ranks = calloc((size_t)options->size, sizeof *launch->ranks),
        .size = options->size,
        .output = options->events.output,
        .context = options->context,
    };
    bool short_of_memory = !launch->ranks || (options->command && !launch->command) ||
                           (options->user && !launch->user);
    if (!short_of_memory)
        return launch;
    launch_destroy(launch);
    return NULL;
}

void launch_destroy(struct launch *launch)
{
    if (!launch)
        return;
    free(launch->ranks);
    free(launch->command);
    free(launch->user);
    free(launch->verdict_text);
    free(launch);
}

bool launch_end(struct launch *launch, int rank, const struct rendezvous_end *end)
{
    struct launch_rank *at = &launch->ranks[rank];
    bool known = at->how.kind != RANK_END_NONE;
    *at = (struct launch_rank){ end->how, end->terminated };
    launch->ended += !known;
    return !known && launch->ended == launch->size;
}

void launch_verdict(struct launch *launch, const struct rendezvous_verdict *verdict)
{
    char *text = strdup(verdict->text);
    if (!text)
        return;
    free(launch->verdict_text);
    launch->verdict_text = text;
    launch->verdict = *verdict;
    launch->verdict.text = text;
}

char *launch_output(const struct launch *launch, int rank, bool of_stderr)
{
    size_t share = LAUNCH_OUTPUT_ALL / (size_t)launch->size;
    if (share < LAUNCH_OUTPUT_MIN)
        share = LAUNCH_OUTPUT_MIN;
    if (share > LAUNCH_OUTPUT_MAX)
        share = LAUNCH_OUTPUT_MAX;
    return launch->output ? launch->output(launch->context, rank, of_stderr, share) : NULL;
}
