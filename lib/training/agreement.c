/* SPDX-License-Identifier: Apache-2.0 */
/* How ranks agree; see agreement.h.
 *
 *   complete: the greatest of "nothing wrong" (0) and "rank r has a mistake" (larger for lower r);
 *             if there is a mistake, its text is broadcast by the lowest rank that has one.
 *   agree:    whether any has a mistake; if so, as above. And the maximal and minimal digest: if
 *             they differ the first rank broadcasts its lines, each rank looks for its own
 *             difference, and the lowest that has one broadcasts it.
 *
 * A rank that has joined (hvd_join()) counts as a rank without a mistake. Fails as the collectives
 * do, and on all ranks when one has no memory for the lines of the first rank. */
#include "lib/training/agreement.h"

#include "lib/base/auth.h"
#include "lib/base/text.h"
#include "lib/training/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SHOWN = 215 }; /* of each of two lines: they fit into an err with what is around them */

struct agreement {
    const char *what;
    int process_set;
    int rank, first; /* of the world: this one, and the set's reference */
};

static int agreement_init(struct agreement *agreement, const char *what, int process_set,
                          struct err *err)
{
    *agreement = (struct agreement){ .what = what, .process_set = process_set };
    int rc = agreement->first = call_first_rank(process_set, err);
    if (rc >= 0)
        rc = agreement->rank = call_answer(hvd_rank(), err);
    return rc < 0 ? rc : HVD_OK;
}

struct name {
    char text[HVD_NAME_MAX + 1];
};

static const char *make_name(struct name *name, const struct agreement *agreement, const char *part)
{
    if (!agreement->what)
        return NULL;
    snprintf(name->text, sizeof name->text, "hvd.%s.%s", agreement->what, part);
    return name->text;
}

static int agreement_broadcast(const struct agreement *agreement, const char *part, void *data,
                               size_t size, int root, struct err *err)
{
    struct name name;
    return call_broadcast_bytes(make_name(&name, agreement, part), agreement->process_set, data,
                                size, root, err);
}

/* The lowest rank with a mistake, or -1 if there is none; or `err`. */
static int find_mistake(const struct agreement *agreement, bool mine, int *lowest, struct err *err)
{
    struct name name;
    int32_t call = mine ? INT32_MAX - agreement->rank : 0;
    int rc = call_max(make_name(&name, agreement, "mistake"), agreement->process_set, &call, 1,
                      HVD_INT32, err);
    *lowest = call > 0 ? INT32_MAX - call : -1;
    return rc;
}

/* The text of the lowest rank, in place. The text comes from another process, so it is cleaned
 * again. */
static int share_text(const struct agreement *agreement, int lowest, struct err *text,
                      struct err *err)
{
    int rc = agreement_broadcast(agreement, "text", text->text, sizeof text->text, lowest, err);
    text->text[sizeof text->text - 1] = '\0';
    text_make_line(text->text);
    return rc;
}

static int agree_on_mistakes(const struct agreement *agreement, const struct err *own,
                             struct err *err)
{
    int lowest;
    struct err text = *own;
    int rc = find_mistake(agreement, own->code < 0, &lowest, err);
    if (rc < 0 || lowest < 0)
        return rc;
    if ((rc = share_text(agreement, lowest, &text, err)) < 0)
        return rc;
    if (own->code < 0)
        return fail(err, own->code, "%s", own->text);
    return fail(err, HVD_ERR_MISMATCH, "rank %d: %s", lowest, text.text);
}

int agreement_complete(const char *what, int process_set, const struct err *own, struct err *err)
{
    struct agreement agreement;
    int rc = agreement_init(&agreement, what, process_set, err);
    if (rc == HVD_OK)
        rc = agree_on_mistakes(&agreement, own, err);
    return call_own_mistake_first(rc, own, err);
}

/* The message when all is well: for each byte of the digest, the maximum over all ranks, and the
 * maximum of its complement. If the latter is the complement of the former, minimum and maximum are
 * equal. */
struct summary {
    unsigned char mistaken; /* 0 or 1 */
    unsigned char digest[DIGEST_SIZE], complement[DIGEST_SIZE];
};

static void summarize(struct summary *summary, bool mistaken, const char *lines)
{
    summary->mistaken = mistaken;
    auth_digest(summary->digest, lines, strlen(lines));
    for (int i = 0; i < DIGEST_SIZE; i++)
        summary->complement[i] = (unsigned char)~summary->digest[i];
}

static bool is_equal(const struct summary *summary)
{
    for (int i = 0; i < DIGEST_SIZE; i++)
        if ((summary->digest[i] ^ summary->complement[i]) != 0xff)
            return false;
    return true;
}

/* The lines of the first rank; owned. NULL and `err` on failure, which is a failure on every
 * rank. */
static char *get_reference(const struct agreement *agreement, const char *lines, struct err *err)
{
    struct err own = { .code = HVD_OK };
    uint64_t size = strlen(lines);
    if (agreement_broadcast(agreement, "size", &size, sizeof size, agreement->first, err) < 0)
        return NULL;
    char *reference = size < SIZE_MAX ? calloc(size + 1, 1) : NULL;
    if (!reference)
        fail(&own, HVD_ERR_NOMEM, "no memory for %llu bytes to compare", (unsigned long long)size);
    else if (agreement->rank == agreement->first)
        memcpy(reference, lines, size);
    int rc = agree_on_mistakes(agreement, &own, err);
    if (rc == HVD_OK)
        rc = agreement_broadcast(agreement, "lines", reference, size, agreement->first, err);
    if (rc == HVD_OK)
        return reference;
    free(reference);
    return NULL;
}

/* Shortens a long line to its head and tail. Returns `out`. */
static char *shorten(char out[LINE_SHOWN + 1], const char *line)
{
    enum { TAIL = 80, HEAD = LINE_SHOWN - TAIL - 3 };
    size_t length = strcspn(line, "\n");
    if (length <= LINE_SHOWN)
        snprintf(out, LINE_SHOWN + 1, "%.*s", (int)length, line);
    else
        snprintf(out, LINE_SHOWN + 1, "%.*s...%.*s", HEAD, line, TAIL, line + length - TAIL);
    text_make_line(out);
    return out;
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line == '\n' ? line + 1 : line;
}

static bool is_same_up_to(const char *ends, const char *a, const char *b)
{
    size_t length = strcspn(a, ends);
    return length == strcspn(b, ends) && memcmp(a, b, length) == 0;
}

static bool has_line(const char *lines, const char *line)
{
    for (; *lines != '\0'; lines = next_line(lines))
        if (is_same_up_to("\n", lines, line))
            return true;
    return false;
}

/* The line in `lines` that has the name of `line`, its first word, and that `others` lacks; or
 * NULL. */
static const char *find_counterpart(const char *lines, const char *others, const char *line)
{
    for (; *lines != '\0'; lines = next_line(lines))
        if (is_same_up_to(" \n", lines, line) && !has_line(others, lines))
            return lines;
    return NULL;
}

static int fail_both(const struct agreement *agreement, const char *mine, const char *first,
                     struct err *err)
{
    char mine_shown[LINE_SHOWN + 1], first_shown[LINE_SHOWN + 1];
    return fail(err, HVD_ERR_MISMATCH, "rank %d has '%s', rank %d has '%s'", agreement->rank,
                shorten(mine_shown, mine), agreement->first, shorten(first_shown, first));
}

static int fail_lacks(const struct agreement *agreement, const char *first, struct err *err)
{
    char shown[LINE_SHOWN + 1];
    return fail(err, HVD_ERR_MISMATCH, "rank %d lacks '%s', which rank %d has", agreement->rank,
                shorten(shown, first), agreement->first);
}

static int fail_extra(const struct agreement *agreement, const char *mine, struct err *err)
{
    char shown[LINE_SHOWN + 1];
    return fail(err, HVD_ERR_MISMATCH, "rank %d has '%s', rank %d does not", agreement->rank,
                shorten(shown, mine), agreement->first);
}

/* HVD_OK if there is no difference. */
static int find_difference(const struct agreement *agreement, const char *lines,
                           const char *reference, struct err *err)
{
    const char *mine = lines, *first = reference, *counterpart;
    while (*mine != '\0' && *first != '\0' && is_same_up_to("\n", mine, first)) {
        mine = next_line(mine);
        first = next_line(first);
    }
    if (*mine == '\0' && *first == '\0')
        return HVD_OK;
    if (*first != '\0' && (*mine == '\0' || !has_line(lines, first))) {
        counterpart = find_counterpart(mine, reference, first);
        return counterpart ? fail_both(agreement, counterpart, first, err)
                           : fail_lacks(agreement, first, err);
    }
    if (*first == '\0' || !has_line(reference, mine)) {
        counterpart = find_counterpart(first, lines, mine);
        return counterpart ? fail_both(agreement, mine, counterpart, err)
                           : fail_extra(agreement, mine, err);
    }
    return fail_both(agreement, mine, first, err);
}

static int name_difference(const struct agreement *agreement, const char *lines, struct err *err)
{
    int lowest;
    struct err difference = { .code = HVD_OK };
    char *reference = get_reference(agreement, lines, err);
    if (!reference)
        return err->code;
    int rc = find_difference(agreement, lines, reference, &difference);
    free(reference);
    rc = find_mistake(agreement, rc < 0, &lowest, err);
    if (rc == HVD_OK && lowest < 0)
        rc = fail(err, HVD_ERR_PROTOCOL, "digests differ and lines do not");
    if (rc == HVD_OK)
        rc = share_text(agreement, lowest, &difference, err);
    return rc < 0 ? rc : fail(err, HVD_ERR_MISMATCH, "%s", difference.text);
}

static int agree(const char *what, int process_set, const struct err *own, const char *lines,
                 struct err *err)
{
    struct agreement agreement;
    struct name name;
    struct summary summary;
    int rc = agreement_init(&agreement, what, process_set, err);
    if (rc == HVD_OK)
        rc = auth_init(err);
    if (rc < 0)
        return rc;
    summarize(&summary, own->code < 0, own->code < 0 ? "" : lines);
    rc = call_max(make_name(&name, &agreement, "summary"), process_set, &summary, sizeof summary,
                  HVD_UINT8, err);
    if (rc == HVD_OK && summary.mistaken)
        rc = agree_on_mistakes(&agreement, own, err);
    else if (rc == HVD_OK && !is_equal(&summary))
        rc = name_difference(&agreement, lines, err);
    return rc;
}

int agreement_conclude(const char *what, int process_set, const struct err *own, const char *lines,
                       struct err *err)
{
    return call_own_mistake_first(agree(what, process_set, own, lines, err), own, err);
}

int agreement_compare(const char *what, int process_set, const char *lines, struct err *err)
{
    const struct err well = { .code = HVD_OK };
    return agreement_conclude(what, process_set, &well, lines, err);
}
