/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a world's members; see membership.h. */
#include "rendezvous/world/membership.h"

#include "lib/base/rank_end_text.h"
#include "lib/base/topology.h"
#include "rendezvous/base/rendezvous_options.h"
#include "rendezvous/world/membership_text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool all_hosts_alike(const struct rendezvous_slot *slots, int size)
{
    for (int rank = 1; rank < size; rank++)
        if (slots[rank].rank_info.local_size != slots[0].rank_info.local_size)
            return false;
    return true;
}

/* The ranks that have a local rank are numbered in order of host: where all hosts are alike, these
 * are numbers of hosts. 0 when out of memory. */
static int star_of_hosts(const struct rendezvous_slot *slots, int size)
{
    int *hosts = calloc((size_t)size, sizeof *hosts);
    for (int rank = 0; hosts && rank < size; rank++)
        hosts[rank] = slots[rank].rank_info.cross_rank;
    int star = hosts ? tree_star(hosts, size) : 0;
    free(hosts);
    return star;
}

int membership_init(struct membership *membership, const struct rendezvous_slot *slots, int size,
                    uint64_t start_timeout_ms, struct err *err)
{
    assert(size >= 1 && size <= WORLD_SIZE_MAX);
    size_t count = (size_t)size;
    *membership = (struct membership){
        .size = size,
        .slots = calloc(count, sizeof *membership->slots),
        .members = calloc(count, sizeof *membership->members),
        .addresses = calloc(count, sizeof *membership->addresses),
        .workers = calloc(count, sizeof *membership->workers),
        .keys = calloc(count, sizeof *membership->keys),
        .homogeneous = all_hosts_alike(slots, size),
        .star = 1,
        .grace_end_ms = MEMBERSHIP_NEVER,
        .start_timeout_ms = start_timeout_ms,
        .start_deadline_ms = MEMBERSHIP_NEVER,
    };
    if (membership->homogeneous)
        membership->star = star_of_hosts(slots, size);
    if (!membership->slots || !membership->members || !membership->addresses ||
        !membership->workers || !membership->keys || membership->star == 0) {
        membership_fini(membership);
        return fail(err, HVD_ERR_NOMEM, "out of memory for a world of %d ranks", size);
    }
    memcpy(membership->slots, slots, count * sizeof *slots);
    return HVD_OK;
}

void membership_fini(struct membership *membership)
{
    free(membership->slots);
    free(membership->members);
    free(membership->addresses);
    free(membership->workers);
    free(membership->keys);
    rank_certifier_wipe(&membership->certifier);
    *membership = (struct membership){ 0 };
}

static void announce(struct membership *membership, enum membership_act act)
{
    assert(membership->announced < MEMBERSHIP_ANNOUNCEMENTS_MAX);
    membership->announcements[membership->announced].act = act;
    membership->announcements[membership->announced].next = 0;
    membership->announced++;
}

/* Announces `cause` once: ranks that wait for the world are refused, and ranks of a complete
 * world are told. */
static void break_world(struct membership *membership)
{
    announce(membership, membership->world == WORLD_COMPLETE ? MEMBERSHIP_NEWS : MEMBERSHIP_REFUSE);
    membership->world = WORLD_BROKEN;
    membership->start_deadline_ms = MEMBERSHIP_NEVER;
}

/* Moves a member; all transitions come through here. */
static void move(struct membership *membership, int rank, enum member_state state, uint64_t now_ms)
{
    struct member *member = &membership->members[rank];
    bool was_in_grace = member->state == MEMBER_BROKEN || member->state == MEMBER_ENDED;
    bool is_in_grace = state == MEMBER_BROKEN || state == MEMBER_ENDED;
    membership->in_grace += is_in_grace - was_in_grace;
    membership->elsewhere += (state == MEMBER_ELSEWHERE) - (member->state == MEMBER_ELSEWHERE);
    member->state = state;
    if (is_in_grace) {
        member->grace_end_ms = now_ms + MEMBERSHIP_GRACE_MS;
        if (member->grace_end_ms < membership->grace_end_ms)
            membership->grace_end_ms = member->grace_end_ms;
    }
    if (membership->in_grace == 0)
        membership->grace_end_ms = MEMBERSHIP_NEVER;
}

/* Sets the origin, unless there is one. */
static void set_origin(struct membership *membership, const struct rank_end *end)
{
    int rank = end->because_of;
    if (membership->origin.status != HVD_OK || rank < 0 || rank >= membership->size)
        return;
    membership->origin = *end;
}

static int known_origin(const struct membership *membership)
{
    return membership->origin.status != HVD_OK ? membership->origin.because_of : RANK_NONE;
}

/* A rank whose connection has ended without BROKEN and GOODBYE; -1: none. */
static int find_silent(const struct membership *membership)
{
    for (int rank = 0; rank < membership->size && membership->in_grace > 0; rank++)
        if (membership->members[rank].state == MEMBER_BROKEN && !membership->members[rank].broken)
            return rank;
    return -1;
}

/* The end of a rank that has no other origin; the caller fills in `how`. */
static struct rank_end end_of(const struct membership *membership, int rank, int status)
{
    struct rank_end end = { .status = status, .rank = rank, .because_of = rank };
    snprintf(end.host, sizeof end.host, "%s", membership->slots[rank].host);
    return end;
}

/* Marks a rank as lost. If the rank has reported a broken world, a rank that has disconnected
 * without a word is lost first, as its cause. */
static void lose(struct membership *membership, int rank)
{
    bool had_joined = membership->members[rank].state != MEMBER_EXPECTED;
    int silent = membership->members[rank].broken ? find_silent(membership) : -1;
    if (silent >= 0)
        lose(membership, silent);
    move(membership, rank, MEMBER_LOST, 0);
    if (membership->world == WORLD_BROKEN)
        return;
    membership->cause = end_of(membership, rank, HVD_ERR_PEER_LOST);
    membership->cause.how = membership->members[rank].how;
    membership->cause.before_init = !had_joined;
    if (membership->cause.how.kind == RANK_END_NONE)
        membership->cause.how.kind = RANK_END_DISCONNECTED;
    set_origin(membership, &membership->cause);
    membership->cause.because_of = known_origin(membership);
    break_world(membership);
}

static int refusal(const struct membership *membership, const struct join_hello *hello,
                   struct err *err)
{
    if (hello->rank < 0)
        return fail(err, HVD_ERR_ENVIRONMENT,
                    "HOROVOD_RANK is not set, but the ranks of this job are planned");
    if (hello->size != membership->size)
        return fail(err, HVD_ERR_ENVIRONMENT, "HOROVOD_SIZE is %d, but this job has %d rank%s",
                    hello->size, membership->size, membership->size == 1 ? "" : "s");
    if (membership->world == WORLD_BROKEN)
        return rank_end_fail(err, &membership->cause);
    if (membership->members[hello->rank].state != MEMBER_EXPECTED)
        return fail(err, HVD_ERR_ENVIRONMENT, "HOROVOD_RANK is %d, but rank %d has joined already",
                    hello->rank, hello->rank);
    return HVD_OK;
}

int membership_join(struct membership *membership, const struct join_hello *hello, uint64_t now_ms,
                    struct err *err)
{
    int rc = refusal(membership, hello, err);
    if (rc != HVD_OK)
        return rc;
    membership->addresses[hello->rank] = hello->addresses;
    memcpy(membership->keys[hello->rank], hello->key, RANK_KEY_SIZE);
    int local_size = membership->slots[hello->rank].rank_info.local_size;
    membership->crowded |= hello->processors > 0 && local_size > hello->processors;
    move(membership, hello->rank, MEMBER_JOINED, now_ms);
    if (membership->joined++ == 0) {
        rank_certifier_generate(&membership->certifier);
        membership->start_deadline_ms = deadline_after(now_ms, membership->start_timeout_ms);
    }
    if (membership->joined < membership->size)
        return HVD_OK;
    membership->world = WORLD_COMPLETE;
    membership->start_deadline_ms = MEMBERSHIP_NEVER;
    announce(membership, MEMBERSHIP_WELCOME);
    announce(membership, MEMBERSHIP_COMPLETE);
    return HVD_OK;
}

/* Did the rank leave because of a failure? To leave because other ranks have left is no failure. */
static bool left_by_failure(const struct rank_end *goodbye)
{
    return goodbye->status != HVD_OK && goodbye->status != HVD_ERR_PEER_LEFT;
}

static void set_departure(struct membership *membership, int rank, const struct rank_end *goodbye)
{
    if (left_by_failure(goodbye)) {
        membership->cause = *goodbye;
        membership->cause.because_of = known_origin(membership);
    } else {
        membership->cause = end_of(membership, rank, HVD_ERR_PEER_LEFT);
        membership->cause.how.kind = RANK_END_LEFT;
    }
}

static void tell_departure(struct membership *membership, int rank, const struct rank_end *goodbye)
{
    bool failure = left_by_failure(goodbye);
    if (membership->world == WORLD_BROKEN)
        return;
    if (failure)
        set_origin(membership, goodbye);
    if (membership->told_failure || (membership->told_departure && !failure))
        return;
    set_departure(membership, rank, goodbye);
    if (membership->world == WORLD_GATHERING) {
        struct rank_end early = membership->cause;
        early.because_of = rank; /* the rank itself, whatever rank its GOODBYE names */
        set_origin(membership, &early);
        break_world(membership);
        return;
    }
    membership->told_departure = true;
    membership->told_failure = failure;
    announce(membership, MEMBERSHIP_NEWS);
}

void membership_elsewhere(struct membership *membership, int rank)
{
    if (membership->members[rank].state != MEMBER_EXPECTED)
        return;
    move(membership, rank, MEMBER_ELSEWHERE, 0);
    if (membership->world == WORLD_GATHERING && membership->elsewhere == membership->size)
        membership->world = WORLD_COMPLETE;
}

void membership_word(struct membership *membership, int rank, const struct rank_end *word)
{
    struct member *member = &membership->members[rank];
    if (member->state != MEMBER_JOINED && member->state != MEMBER_ENDED)
        return;
    member->broken = true;
    tell_departure(membership, rank, word);
}

void membership_goodbye(struct membership *membership, int rank, const struct rank_end *goodbye)
{
    enum member_state state = membership->members[rank].state;
    if (state != MEMBER_JOINED && state != MEMBER_ENDED)
        return;
    move(membership, rank, MEMBER_LEFT, 0);
    membership->members[rank].failed = left_by_failure(goodbye);
    tell_departure(membership, rank, goodbye);
}

void membership_broke(struct membership *membership, int rank, uint64_t now_ms)
{
    enum member_state state = membership->members[rank].state;
    if (state == MEMBER_ENDED)
        lose(membership, rank);
    else if (state == MEMBER_JOINED)
        move(membership, rank, MEMBER_BROKEN, now_ms);
}

void membership_ended(struct membership *membership, int rank, const struct rank_end_how *how,
                      uint64_t now_ms)
{
    assert(rank >= 0 && rank < membership->size);
    struct member *member = &membership->members[rank];
    if (member->how.kind == RANK_END_NONE)
        member->how = *how;
    if (member->state == MEMBER_ELSEWHERE && rank_end_is_clean_exit(how))
        move(membership, rank, MEMBER_LEFT, 0);
    else if (member->state == MEMBER_EXPECTED || member->state == MEMBER_ELSEWHERE ||
             member->state == MEMBER_BROKEN)
        lose(membership, rank);
    else if (member->state == MEMBER_JOINED)
        move(membership, rank, MEMBER_ENDED, now_ms);
}

void membership_end(struct membership *membership, const char *why)
{
    if (membership->world == WORLD_BROKEN)
        return;
    membership->cause = rank_end_none();
    membership->cause.how.kind = RANK_END_BY_REQUEST;
    membership->cause.status = HVD_ERR_PEER_LOST;
    snprintf(membership->cause.words, sizeof membership->cause.words, "%s", why);
    break_world(membership);
}

void membership_follow(struct membership *membership, const struct rank_end *cause)
{
    if (membership->world != WORLD_GATHERING)
        return;
    membership->cause = *cause;
    break_world(membership);
}

static void end_grace(struct membership *membership, uint64_t now_ms)
{
    membership->grace_end_ms = MEMBERSHIP_NEVER;
    for (int rank = 0; rank < membership->size; rank++) {
        struct member *member = &membership->members[rank];
        if (member->state != MEMBER_BROKEN && member->state != MEMBER_ENDED)
            continue;
        if (member->grace_end_ms <= now_ms)
            lose(membership, rank);
        else if (member->grace_end_ms < membership->grace_end_ms)
            membership->grace_end_ms = member->grace_end_ms;
    }
}

void membership_tick(struct membership *membership, uint64_t now_ms)
{
    if (now_ms >= membership->grace_end_ms)
        end_grace(membership, now_ms);
    if (now_ms < membership->start_deadline_ms)
        return;
    membership->cause = rank_end_none();
    membership->cause.how.kind = RANK_END_TIMEOUT;
    membership->cause.status = HVD_ERR_TIMEOUT;
    membership_text_missing(membership->cause.words, membership, true);
    break_world(membership);
    announce(membership, MEMBERSHIP_TIMED_OUT);
}

uint64_t membership_deadline(const struct membership *membership)
{
    return deadline_earlier(membership->grace_end_ms, membership->start_deadline_ms);
}

static bool for_launcher(enum membership_act act)
{
    return act == MEMBERSHIP_COMPLETE || act == MEMBERSHIP_TIMED_OUT;
}

/* A process that has ended reads nothing, but its connection must be closed, too. */
static bool listens(const struct member *member)
{
    return (member->state == MEMBER_JOINED || member->state == MEMBER_ENDED) && !member->broken;
}

/* The next member at or after `rank` that still listens, or the size of the world. */
static int next_listener(const struct membership *membership, int rank)
{
    while (rank < membership->size && !listens(&membership->members[rank]))
        rank++;
    return rank;
}

bool membership_next(struct membership *membership, struct membership_action *action)
{
    while (membership->announced > 0) {
        enum membership_act act = membership->announcements[0].act;
        int rank = for_launcher(act) ? membership->size
                                     : next_listener(membership, membership->announcements[0].next);
        *action = (struct membership_action){ act, rank, &membership->cause };
        if (rank < membership->size) {
            membership->announcements[0].next = rank + 1;
            return true;
        }
        membership->announced--;
        memmove(membership->announcements, membership->announcements + 1,
                (size_t)membership->announced * sizeof *membership->announcements);
        if (for_launcher(act))
            return true;
    }
    return false;
}

bool membership_was_complete(const struct membership *membership)
{
    return membership->joined == membership->size;
}

bool membership_can_answer(const struct membership *membership, int rank)
{
    return membership->members[rank].state == MEMBER_JOINED && membership_was_complete(membership);
}

static void peer_of(const struct membership *membership, int rank, struct join_peer *peer)
{
    peer->rank = rank;
    snprintf(peer->host, sizeof peer->host, "%s", membership->slots[rank].host);
    peer->addresses = membership->addresses[rank];
}

void membership_welcome(const struct membership *membership, int rank, struct join_welcome *welcome)
{
    int ranks[NEIGHBOURS_MAX];
    welcome->rank_info = membership->slots[rank].rank_info;
    welcome->homogeneous = membership->homogeneous;
    welcome->worker = rank;
    welcome->epoch = membership->epoch;
    welcome->star = membership->crowded ? membership->star : 1;
    rank_certifier_certify(&membership->certifier, membership->epoch, (uint32_t)rank,
                           membership->keys[rank], welcome->certificate);
    memcpy(welcome->certifier, membership->certifier.public, CERTIFIER_KEY_SIZE);
    welcome->nneighbours = neighbours(ranks, rank, membership->size, welcome->star);
    for (int i = 0; i < welcome->nneighbours; i++) {
        peer_of(membership, ranks[i], &welcome->neighbours[i]);
        memcpy(welcome->keys[i], membership->keys[ranks[i]], RANK_KEY_SIZE);
    }
}
