/* SPDX-License-Identifier: Apache-2.0 */
/* The rank to blame, in words; see job_cause_text.h. */
#include "launcher/verdict/job_cause_text.h"

#include "lib/base/rank_end_text.h"

#include <stdio.h>

/* The most bytes quoted from a rank's message, and of the text about how a rank has ended. */
enum { QUOTED_WORDS = 301, QUOTED_END = 100 };

/* The message of a rank, without its own name in front. */
static void quote_words(char *text, size_t size, const struct job_blame *blame)
{
    const struct rank_end *said = blame->said;
    if (said->how.kind == RANK_END_FAILED && said->rank == blame->rank)
        snprintf(text, size, "%.*s", (int)size - 1, said->words);
    else
        rank_end_text(text, size, said);
}

static void say_left(char text[JOB_CAUSE_TEXT_SIZE], const struct job_blame *blame)
{
    const struct rank_end *said = blame->said;
    char label[COLLECTIVE_LABEL];
    if (said->collective)
        snprintf(text, JOB_CAUSE_TEXT_SIZE, "left before %s, for which rank %d waited",
                 collective_label(label, said->collective, *said->tensor ? said->tensor : NULL),
                 blame->reporter);
    else
        snprintf(text, JOB_CAUSE_TEXT_SIZE, "left before rank %d, which needed it",
                 blame->reporter);
}

/* For a rank that exited with status 0 the rendezvous knows what the others missed, if it saw the
 * end of the process, or only that of its connection. */
static void say_ended_well(char text[JOB_CAUSE_TEXT_SIZE], const struct job_blame *blame)
{
    struct rank_end clean = { .how = { .kind = RANK_END_EXITED } };
    char how[QUOTED_END];
    if (blame->said && rank_end_is_clean_exit(&blame->said->how))
        rank_end_missed_text(how, sizeof how, blame->said);
    else if (blame->said && blame->said->how.kind == RANK_END_DISCONNECTED)
        rank_end_missed_text(how, sizeof how, &clean);
    else
        rank_end_how_text(how, sizeof how, &clean.how, RANK_END_PASSIVE);
    snprintf(text, JOB_CAUSE_TEXT_SIZE, "%s, and rank %d needed it", how, blame->reporter);
}

static void say_unresponsive(char text[JOB_CAUSE_TEXT_SIZE], const struct job_blame *blame)
{
    char words[QUOTED_WORDS] = "a peer was lost";
    if (blame->said && blame->said->status == HVD_ERR_PEER_LEFT)
        snprintf(words, sizeof words, "waited in vain");
    else if (blame->said)
        rank_end_text(words, sizeof words, blame->said);
    snprintf(text, JOB_CAUSE_TEXT_SIZE, "host lost: no answer; rank %d: %s", blame->reporter,
             words);
}

char *job_cause_text(char text[JOB_CAUSE_TEXT_SIZE], const struct job_blame *blame)
{
    char words[QUOTED_WORDS];
    text[0] = '\0';
    switch (blame->reason) {
    case BLAME_OWN_END:
        if (blame->said)
            quote_words(text, QUOTED_WORDS, blame);
        break;
    case BLAME_LEFT:
        say_left(text, blame);
        break;
    case BLAME_ENDED_WELL:
        say_ended_well(text, blame);
        break;
    case BLAME_LEFT_EARLY:
        snprintf(text, JOB_CAUSE_TEXT_SIZE, "left before all had come, and rank %d needed it",
                 blame->reporter);
        break;
    case BLAME_RAN_ON:
        snprintf(text, JOB_CAUSE_TEXT_SIZE,
                 "disconnected without hvd_shutdown and ran on (exec?), and rank %d needed it",
                 blame->reporter);
        break;
    case BLAME_NAMED:
        quote_words(words, sizeof words, blame);
        snprintf(text, JOB_CAUSE_TEXT_SIZE, "%s, and rank %d failed for it", words,
                 blame->reporter);
        break;
    case BLAME_WROTE:
        snprintf(text, JOB_CAUSE_TEXT_SIZE, "wrote to stderr that it failed, and rank %d lost it",
                 blame->reporter);
        break;
    case BLAME_HOST_UNRESPONSIVE:
        say_unresponsive(text, blame);
        break;
    case BLAME_HOST_LOST:
        break;
    }
    return text;
}
