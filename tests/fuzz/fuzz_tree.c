/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks say to each other on the tree's links, besides negotiation: about stalls
 * (lib/stall/stall_message.c) and about where everybody is (lib/engine/directory.c).
 *
 *   u8 what: 0 the names of an ALERT   1 a PROBE   2 a PROBED, of ranks 2 to 9   3 records of 4 ranks
 *   then the body
 *
 * Whatever it is: it is read, or refused as a broken protocol with a text. What was read says
 * nothing about other ranks, is clean, and encodes to something that decodes to the same; answers
 * that are merged stay within their bounds. Of a directory each record is what was sent, and hosts
 * are counted from 0. */
#include "lib/base/text.h"
#include "lib/engine/directory.h"
#include "lib/stall/stall_message.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST = 2, END = 10, RECORDS = 4 };

static void check_refusal(int rc, const struct err *err)
{
    PROMISE(rc == HVD_ERR_PROTOCOL && err->code == rc && *err->text);
}

static void check_same(const struct wire_writer *once, const struct wire_writer *twice)
{
    PROMISE(once->length == twice->length);
    PROMISE(once->length == 0 || memcmp(once->data, twice->data, once->length) == 0);
}

static void check_names(const struct stall_names *names)
{
    PROMISE(names->count >= 0 && names->count <= STALL_NAMES_MAX);
    for (int i = 0; i < names->count; i++) {
        PROMISE(strnlen(names->at[i].text, HVD_NAME_MAX + 1) <= HVD_NAME_MAX);
        PROMISE(names->at[i].kind >= 1 && (int)names->at[i].kind < COLLECTIVE_KINDS);
    }
}

static void take_names(const uint8_t *body, size_t nbytes)
{
    static struct stall_names names;
    struct wire_writer once = { 0 }, twice = { 0 };
    struct err err = { .code = HVD_OK };
    int rc = stall_names_decode(&names, body, nbytes, &err);
    if (rc < 0) {
        check_refusal(rc, &err);
        return;
    }
    check_names(&names);
    stall_names_encode(&once, &names);
    PROMISE(stall_names_decode(&names, once.data, once.length, NULL) == HVD_OK);
    stall_names_encode(&twice, &names);
    check_same(&once, &twice);
    wire_writer_fini(&once);
    wire_writer_fini(&twice);
}

static void take_probe(const uint8_t *body, size_t nbytes)
{
    static struct stall_probe probe;
    struct wire_writer once = { 0 }, twice = { 0 };
    struct err err = { .code = HVD_OK };
    int rc = stall_probe_decode(&probe, body, nbytes, &err);
    if (rc < 0) {
        check_refusal(rc, &err);
        return;
    }
    check_names(&probe.names);
    stall_probe_encode(&once, &probe);
    PROMISE(stall_probe_decode(&probe, once.data, once.length, NULL) == HVD_OK);
    stall_probe_encode(&twice, &probe);
    check_same(&once, &twice);
    wire_writer_fini(&once);
    wire_writer_fini(&twice);
}

/* ---- answers ---- */

static void check_ranges(const struct rank_ranges *ranges)
{
    int before = FIRST - 1;
    PROMISE(ranges->count >= 0 &&
            ranges->count <= (int)(sizeof ranges->range / sizeof *ranges->range));
    for (int i = 0; i < ranges->count; i++) {
        PROMISE(ranges->range[i].first > before && ranges->range[i].end > ranges->range[i].first);
        PROMISE(ranges->range[i].end <= END);
        before = ranges->range[i].end;
    }
}

static void check_clean(const char *text)
{
    for (size_t left = strlen(text), length; left > 0; text += length, left -= length) {
        length = text_utf8_length(text, left);
        PROMISE(length > 0 && ((unsigned char)*text >= ' ' || *text == '\n') && *text != 0x7f);
    }
}

static void check_idle(const struct late_ranks *idle)
{
    int before = FIRST - 1;
    PROMISE(idle->count >= 0 && idle->count <= LATE_RANKS_MAX);
    for (int i = 0; i < idle->count; i++) {
        PROMISE(idle->rank[i] > before && idle->rank[i] < END);
        before = idle->rank[i];
    }
}

static void check_answer(const struct stall_answer *answer)
{
    int before = FIRST - 1;
    PROMISE(answer->nnames >= 0 && answer->nnames <= STALL_NAMES_MAX);
    for (int i = 0; i < answer->nnames; i++)
        check_ranges(&answer->name[i].missing);
    check_ranges(&answer->silent);
    check_idle(&answer->idle);
    PROMISE(answer->nranks >= 0 && answer->nranks <= STALL_RANKS_MAX);
    for (int i = 0; i < answer->nranks; i++) {
        PROMISE(answer->ranks[i].rank > before && answer->ranks[i].rank < END);
        PROMISE(strnlen(answer->ranks[i].text, STALL_TEXT_MAX + 1) <= STALL_TEXT_MAX);
        check_clean(answer->ranks[i].text);
        before = answer->ranks[i].rank;
    }
}

static void take_answer(const uint8_t *body, size_t nbytes)
{
    static struct stall_answer answer, again;
    struct wire_writer once = { 0 }, twice = { 0 };
    struct err err = { .code = HVD_OK };
    int rc = stall_answer_decode(&answer, FIRST, END, body, nbytes, &err);
    if (rc < 0) {
        check_refusal(rc, &err);
        return;
    }
    check_answer(&answer);
    stall_answer_encode(&once, &answer);
    PROMISE(stall_answer_decode(&again, FIRST, END, once.data, once.length, NULL) == HVD_OK);
    stall_answer_encode(&twice, &again);
    check_same(&once, &twice);
    wire_writer_fini(&once);
    wire_writer_fini(&twice);
}

/* ---- records ---- */

static bool is_zero(const struct join_peer *peer)
{
    return peer->addresses.count == 0;
}

static void check_directory(const uint8_t *body, size_t nbytes)
{
    static struct join_peer peer;
    struct err err = { .code = HVD_OK };
    struct directory *directory = directory_create(body, nbytes, RECORDS, &err);
    bool everywhere = true;
    int hosts = 0;
    PROMISE(directory);
    for (int rank = 0; rank < RECORDS; rank++) {
        directory_find(directory, rank, &peer);
        PROMISE(peer.rank == rank && strnlen(peer.host, sizeof peer.host) < sizeof peer.host);
        int host = directory_host(directory, rank);
        PROMISE(host >= 0 && host <= hosts);
        hosts += host == hosts;
        everywhere &= !is_zero(&peer);
    }
    PROMISE(directory_is_everywhere(directory) == everywhere);
    directory_destroy(directory);
}

static void take_records(const uint8_t *body, size_t nbytes)
{
    struct err err = { .code = HVD_OK };
    int rc = directory_check(body, nbytes, 0, RECORDS, &err);
    if (rc < 0)
        check_refusal(rc, &err);
    else
        check_directory(body, nbytes);
}

static void (*const takers[])(const uint8_t *body, size_t nbytes) = {
    take_names,
    take_probe,
    take_answer,
    take_records,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    uint8_t what = fuzz_u8(&input) % (sizeof takers / sizeof *takers);
    size_t nbytes;
    uint8_t *body = fuzz_rest(&input, &nbytes);
    takers[what](body, nbytes);
    free(body);
    return 0;
}
