/* SPDX-License-Identifier: Apache-2.0 */
/* Dialling another rank; see link_dial.h. */
#include "lib/link/link_dial.h"

#include "lib/base/descriptor.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { PAUSE_FIRST_MS = 20, PAUSE_MAX_MS = 640, PATIENCE = 3 };

void link_dial_init(struct link_dial *dial, const struct join_peer *peer,
                    const struct link_identity *identity, struct rank_credentials *credentials)
{
    *dial = (struct link_dial){ .state = DIAL_IDLE,
                                .peer = peer,
                                .identity = *identity,
                                .credentials = credentials,
                                .pause_ms = PAUSE_FIRST_MS,
                                .patience = PATIENCE,
                                .made.fd = -1 };
}

static void link_dial_drop(struct link_dial *dial, int index)
{
    link_try_end(&dial->tries[index].try);
    dial->count--;
    memmove(&dial->tries[index], &dial->tries[index + 1],
            (size_t)(dial->count - index) * sizeof dial->tries[0]);
    link_handshake_wipe(&dial->tries[dial->count].try.connection.handshake);
}

static void drop_others(struct link_dial *dial, int index)
{
    while (dial->count > index + 1)
        link_dial_drop(dial, dial->count - 1);
    while (dial->count > 1)
        link_dial_drop(dial, 0);
}

void link_dial_fini(struct link_dial *dial)
{
    while (dial->count > 0)
        link_dial_drop(dial, dial->count - 1);
    if (dial->made.fd >= 0)
        link_connection_close(&dial->made);
}

int link_dial_pollfds(const struct link_dial *dial, struct pollfd *fds, int capacity)
{
    for (int i = 0; i < dial->count && i < capacity; i++)
        fds[i] = link_try_pollfd(&dial->tries[i].try);
    return dial->count;
}

/* Only one try may come so far that the peer takes the link. */
static bool is_committed(const struct link_dial *dial)
{
    return dial->count > 0 && link_try_is_committed(&dial->tries[0].try);
}

/* The unix socket exists; any other address would be slower. */
static bool is_sure(const struct link_dial *dial)
{
    for (int i = 0; i < dial->count; i++)
        if (link_try_is_sure(&dial->tries[i].try))
            return true;
    return false;
}

static bool may_try_another(const struct link_dial *dial)
{
    return dial->next < dial->peer->addresses.count && dial->count < DIAL_TRIES_MAX &&
           !is_committed(dial) && !is_sure(dial);
}

uint64_t link_dial_until(const struct link_dial *dial)
{
    if (dial->state == DIAL_DONE)
        return UINT64_MAX;
    uint64_t until_ms =
        dial->state == DIAL_IDLE || may_try_another(dial) ? dial->until_ms : UINT64_MAX;
    for (int i = 0; i < dial->count; i++)
        if (dial->tries[i].try.until_ms < until_ms)
            until_ms = dial->tries[i].try.until_ms;
    return until_ms;
}

/* ---- causes ---- */

/* For a connection that the system refused, only its error: the address stands in front. */
static void link_dial_note(struct link_dial *dial, int address, const struct err *failure)
{
    bool refused = failure->code == HVD_ERR_PEER_LOST || failure->code == HVD_ERR_ENVIRONMENT;
    const char *system = failure->errnum && refused ? strerrordesc_np(failure->errnum) : NULL;
    char *cause = dial->failed[address].cause;
    dial->failed[address].status = failure->code;
    snprintf(cause, DIAL_CAUSE_SIZE, "%.*s", DIAL_CAUSE_SIZE - 1, system ? system : failure->text);
    if (isupper((unsigned char)cause[0]) && islower((unsigned char)cause[1]))
        cause[0] = (char)tolower((unsigned char)cause[0]);
}

void link_dial_causes(const struct link_dial *dial, char text[DIAL_CAUSES_SIZE])
{
    enum { MORE = sizeof "; 16 more" };
    const struct join_addresses *addresses = &dial->peer->addresses;
    int left = 0;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < addresses->count; i++) {
        char entry[JOIN_ADDRESS_MAX + DIAL_CAUSE_SIZE + 8];
        bool silent = dial->failed[i].status == HVD_OK;
        int length = snprintf(entry, sizeof entry, "%s%s: %s", used ? "; " : "", addresses->text[i],
                              silent ? "no answer" : dial->failed[i].cause);
        if (used + (size_t)length + MORE > DIAL_CAUSES_SIZE)
            left++;
        else
            used += (size_t)snprintf(text + used, DIAL_CAUSES_SIZE - used, "%s", entry);
    }
    if (left > 0)
        snprintf(text + used, DIAL_CAUSES_SIZE - used, "; %d more", left);
    text_make_ascii(text);
}

/* ---- rounds ---- */

static void begin_round(struct link_dial *dial, uint64_t now_ms)
{
    dial->state = DIAL_TRYING;
    dial->next = 0;
    dial->until_ms = now_ms;
}

static bool is_final(int status)
{
    return status != HVD_OK && status != HVD_ERR_PEER_LOST && status != HVD_ERR_TIMEOUT;
}

/* Of two reasons to give up, the more informative one. */
static int weightier(int status, int other)
{
    if (other == HVD_ERR_SYSTEM || (other == HVD_ERR_ENVIRONMENT && status != HVD_ERR_SYSTEM))
        return status;
    return other;
}

/* One address may lead to another machine, so its failure counts only when all addresses fail. */
static int link_dial_judge(const struct link_dial *dial)
{
    int status = HVD_ERR_SYSTEM;
    for (int i = 0; i < dial->peer->addresses.count; i++) {
        if (!is_final(dial->failed[i].status))
            return 0;
        status = weightier(status, dial->failed[i].status);
    }
    return status == HVD_ERR_ENVIRONMENT && dial->pause_ms < PAUSE_MAX_MS ? 0 : status;
}

static int end_round(struct link_dial *dial, uint64_t now_ms, struct err *err)
{
    char causes[DIAL_CAUSES_SIZE];
    dial->state = DIAL_IDLE;
    dial->until_ms = now_ms + dial->pause_ms;
    if (dial->pause_ms < PAUSE_MAX_MS)
        dial->pause_ms *= 2;
    int status = link_dial_judge(dial);
    if (status == 0)
        return 0;
    link_dial_causes(dial, causes);
    return fail(err, status, "%s", causes);
}

/* The next address; a busy one is tried again a little later. */
static void begin_try(struct link_dial *dial, uint64_t now_ms)
{
    struct err failure;
    struct socket_address address;
    int which = dial->next++;
    int rc = socket_address_parse(&address, dial->peer->addresses.text[which], &failure);
    if (rc == HVD_OK)
        rc = link_try_begin(&dial->tries[dial->count].try, &address, now_ms, &failure);
    if (rc == HVD_ERR_TIMEOUT) {
        dial->next = which;
        dial->until_ms = now_ms + PAUSE_FIRST_MS;
    }
    if (rc < 0) {
        link_dial_note(dial, which, &failure);
        return;
    }
    dial->tries[dial->count++].address = which;
    dial->until_ms = now_ms + DIAL_DELAY_MS;
}

/* The right rank has answered, and has closed: its address gets another round, instead of the next
 * address. */
static bool deserves_another(struct link_dial *dial, const struct link_try *try, bool committed)
{
    return committed || (link_try_is_sure(try) && dial->patience-- > 0);
}

/* 1 when this try is done, 0 if it goes on, -1 if it has ended. */
static int move_try(struct link_dial *dial, int index, uint64_t now_ms)
{
    struct err failure;
    struct link_try *try = &dial->tries[index].try;
    bool committed = link_try_is_committed(try);
    int rc = link_try_move(try, dial->transport, &dial->identity, &dial->terms, dial->credentials,
                           now_ms, &failure);
    if (rc < 0) {
        link_dial_note(dial, dial->tries[index].address, &failure);
        dial->until_ms = now_ms; /* for the next */
        if (rc == HVD_ERR_PEER_LOST && deserves_another(dial, try, committed))
            dial->next = dial->peer->addresses.count;
        link_dial_drop(dial, index);
        return -1;
    }
    if (link_try_is_committed(try))
        drop_others(dial, index);
    return rc;
}

/* 1 when one of the tries is done. */
static int move_tries(struct link_dial *dial, uint64_t now_ms)
{
    for (int i = 0; i < dial->count;) {
        int rc = move_try(dial, i, now_ms);
        if (rc > 0)
            return 1;
        i += rc == 0;
    }
    return 0;
}

int link_dial_move(struct link_dial *dial, uint64_t now_ms, struct err *err)
{
    if (dial->peer->addresses.count < 1)
        return fail(err, HVD_ERR_PROTOCOL, "it has no address");
    if (dial->state == DIAL_IDLE && now_ms < dial->until_ms)
        return 0;
    if (dial->state == DIAL_IDLE)
        begin_round(dial, now_ms);
    int done = move_tries(dial, now_ms);
    while (!done && may_try_another(dial) && now_ms >= dial->until_ms) {
        begin_try(dial, now_ms);
        done = move_tries(dial, now_ms);
    }
    if (done) {
        dial->state = DIAL_DONE;
        dial->made = dial->tries[0].try.connection;
        link_handshake_wipe(&dial->tries[0].try.connection.handshake);
        dial->count = 0;
        return 1;
    }
    bool over = dial->count == 0 && dial->next >= dial->peer->addresses.count;
    return over ? end_round(dial, now_ms, err) : 0;
}

struct link *link_dial_take(struct link_dial *dial, struct err *err)
{
    if (link_connection_check_terms(&dial->made, err) < 0)
        return NULL; /* link_dial_fini() closes it */
    return link_connection_link(&dial->made, err);
}

const char *link_dial_why(const struct link_dial *dial)
{
    if (dial->made.is_unix)
        return link_connection_why(&dial->made);
    for (int i = 0; i < dial->peer->addresses.count; i++)
        if (socket_address_is_unix(dial->peer->addresses.text[i]))
            return dial->failed[i].cause;
    return "it listens at no unix socket";
}
