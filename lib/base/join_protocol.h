/* SPDX-License-Identifier: Apache-2.0 */
/* The messages between a worker and the rendezvous, in frames (frame.h). All frames after the first
 * two are sealed (auth.h):
 *
 *   worker                               rendezvous
 *   OPEN     version, nonce, key owner ->
 *                                     <-  CHALLENGE  version, nonce; the rest is sealed
 *   HELLO    who I am, where I listen ->
 *                                     <-  WAITING    unless all have come: for whom, how long
 *                                     <-  WELCOME    your place and neighbours, when all have come
 *                                     <-  REFUSED    instead of WELCOME: status and text
 *                                     <-  NEWS       a rank was lost or has left; after WELCOME
 *                                     <-  ASK        for the status text; after WELCOME
 *                                     <-  UPDATE     elastic: other members; after WELCOME
 *   REPORT   what I do and have done  ->             to each ASK, one; the next ASK waits for it
 *   BROKEN   why my world is broken   ->             once, before the program learns it
 *   GOODBYE  why I leave              ->             and closes
 *
 * The rendezvous sends NEWS of the first loss, of the first departure, and of the first rank whose
 * world is broken or that left because of a failure. It sends no NEWS after a loss, and none to a
 * rank that has sent BROKEN. The ranks tell each other that a rank takes no part any longer, and
 * from which collective on.
 *
 * The bodies of NEWS, BROKEN and GOODBYE are a record of an end (rank_end.h). NEWS has the end of
 * the rank that was lost or has left, or the end that a rank has sent as the failure that broke its
 * world. BROKEN and GOODBYE have the end that broke the sender's world or made a collective of the
 * sender fail (HVD_ERR_PEER_LEFT); a GOODBYE without a failure has rank_end_none(). A receiver that
 * passes an end on does not change the rank because of which it happened.
 *
 * A worker that proves a key of its own is REFUSED if its HELLO names another worker. A rendezvous
 * that does not know the owner of the key in an OPEN answers as if it did, so that a client that
 * cannot prove the key learns nothing. A worker that sends rank -1 gets a rank from the rendezvous,
 * by its host and in order of arrival.
 *
 * A process that has left a world may join the next epoch, over a new connection: HELLO says the
 * first epoch that it may join. In an elastic job HELLO has rank -1, size 0 and the number of the
 * worker, which is -1 for a worker that has none yet; WELCOME says the number. A worker that no
 * further world has is REFUSED with HVD_ERR_REMOVED. UPDATE says that the job is to go on with
 * other members than those of this world; each has a higher serial number than the one before.
 *
 * The connection stays open while the worker is in the world. A connection that ends without
 * GOODBYE means that the worker has died. */
#ifndef LIB_BASE_JOIN_PROTOCOL_H
#define LIB_BASE_JOIN_PROTOCOL_H

#include "lib/base/auth.h"
#include "lib/base/key_owner.h"
#include "lib/base/rank_credentials.h"
#include "lib/base/rank_end.h"
#include "lib/base/rank_info.h"
#include "lib/base/rank_stats.h"
#include "lib/base/rank_waits.h"
#include "lib/base/status.h"
#include "lib/base/topology.h"
#include "lib/base/wire.h"

enum {
    JOIN_VERSION = 12,
    /* Both sides probe a connection that has been idle for so long (tcp_attempts.h): less often
     * than a link between ranks, since a rendezvous may serve thousands of workers. */
    JOIN_IDLE_S = 5,
    JOIN_HOST_MAX = 256,
    JOIN_ADDRESS_MAX = 64,
    JOIN_ADDRESSES_MAX = 16,
    JOIN_TEXT_MAX = 500,
    JOIN_REPORT_MAX = 16 * 1024,
    JOIN_WAITING_MAX_MS = 86400 * 1000
};

/* WAITING: for as long as it takes. */
#define JOIN_WAITING_NO_LIMIT UINT32_MAX

/* The longest body of a frame: before a proven HELLO, from a proven worker, and from the rendezvous
 * after CHALLENGE. */
enum {
    JOIN_UNPROVEN_MAX = 4096,
    JOIN_PROVEN_MAX = PROOF_SIZE + 4 + JOIN_REPORT_MAX + STATS_ENCODED_MAX + WAITS_ENCODED_MAX,
    JOIN_RENDEZVOUS_MAX = 48 * 1024
};

enum join_type {
    JOIN_OPEN = 1,
    JOIN_CHALLENGE,
    JOIN_HELLO,
    JOIN_WELCOME,
    JOIN_REFUSED,
    JOIN_NEWS,
    JOIN_GOODBYE,
    JOIN_ASK,
    JOIN_REPORT,
    JOIN_BROKEN,
    JOIN_WAITING,
    JOIN_UPDATE
};

/* OPEN and CHALLENGE, the two bodies that carry no proof. */
struct join_open {
    uint16_t version;
    unsigned char nonce[NONCE_SIZE];
    char owner[KEY_OWNER_SIZE]; /* of the proved key (key_owner.h): HVD_JOB_ID, HVD_KEY_OF */
};

struct join_challenge {
    uint16_t version;
    unsigned char nonce[NONCE_SIZE];
};

/* The addresses at which a rank accepts data links: numeric "ADDRESS:PORT", IPv6 as
 * "[ADDRESS]:PORT", best first; and "unix:" with 32 hexadecimal digits, for the ranks of its
 * host. */
struct join_addresses {
    int count;
    char text[JOIN_ADDRESSES_MAX][JOIN_ADDRESS_MAX];
};

struct join_hello {
    int rank, size;           /* HOROVOD_RANK, or -1 for any, and HOROVOD_SIZE; -1, 0: elastic */
    int worker;               /* elastic: its number; -1: none. Else its last rank, or -1 */
    uint32_t epoch;           /* the first that this process may join: 0, or the last left and 1 */
    char host[JOIN_HOST_MAX]; /* HOROVOD_HOSTNAME, or the host's own name */
    int pid;
    int processors;                   /* that the ranks of its host share; 0: not known */
    unsigned char key[RANK_KEY_SIZE]; /* its public key in this world */
    struct join_addresses addresses;
};

/* Another rank, as far as this rank needs to know it. */
struct join_peer {
    int rank;
    char host[JOIN_HOST_MAX];
    struct join_addresses addresses;
};

struct join_welcome {
    struct rank_info rank_info;
    bool homogeneous;
    int worker;     /* its number; the rank unless the job is elastic */
    uint32_t epoch; /* of the world; 0 for the first */
    int star;       /* of the world's tree (topology.h), 1 <= star <= size */
    unsigned char certificate[CERTIFICATE_SIZE]; /* of the key that HELLO has sent */
    unsigned char certifier[CERTIFIER_KEY_SIZE]; /* of all certificates of the world */
    int nneighbours;
    struct join_peer neighbours[NEIGHBOURS_MAX];       /* those of topology.h, ascending by rank */
    unsigned char keys[NEIGHBOURS_MAX][RANK_KEY_SIZE]; /* their public keys */
};

/* Sent until WELCOME or REFUSED. */
struct join_waiting {
    uint32_t most_ms;         /* until the start timeout, or JOIN_WAITING_NO_LIMIT */
    char text[JOIN_TEXT_MAX]; /* the missing ranks: "ranks 2, 3 on node1" */
};

struct join_refused {
    int status; /* enum hvd_status */
    char text[JOIN_TEXT_MAX];
};

struct join_ask {
    int size; /* of the text of the report, with its terminating NUL */
};

enum { JOIN_HOSTS_REMOVED = 1, JOIN_HOSTS_ADDED = 2 };

struct join_update {
    uint32_t serial;
    int hosts; /* JOIN_HOSTS_*, at least one of them */
};

struct join_report {
    char text[JOIN_REPORT_MAX]; /* lines for people, each ended by a newline */
    struct rank_stats stats;
    struct rank_waits waits;
};

/* Writers append a body, or addresses or a peer in a body, to the writer; readers read one. The
 * readers return HVD_ERR_PROTOCOL and the message's name when a field is missing, out of range, or
 * too long. Their results satisfy 0 <= rank < size <= WORLD_SIZE_MAX (-1 <= rank in HELLO, and size
 * 0 with rank -1) and -1 <= worker <= WORKER_NUMBER_MAX (0 <= worker in WELCOME), and strings are
 * terminated; an owner of a key is valid; the host of HELLO is one printable line, the text of
 * REPORT is printable (text.h). A status is one with which a rank or its world ends; in REFUSED
 * also HVD_ERR_REMOVED. NEWS, GOODBYE and BROKEN are written with rank_end_encode(). */
void join_addresses_encode(struct wire_writer *writer, const struct join_addresses *addresses);
void join_addresses_decode(struct join_addresses *addresses, struct wire_reader *reader);
void join_peer_encode(struct wire_writer *writer, const struct join_peer *peer);
void join_peer_decode(struct join_peer *peer, struct wire_reader *reader);
void join_open_encode(struct wire_writer *writer, const struct join_open *message);
int join_open_decode(struct join_open *message, struct wire_reader *reader, struct err *err);
void join_challenge_encode(struct wire_writer *writer, const struct join_challenge *message);
int join_challenge_decode(struct join_challenge *message, struct wire_reader *reader,
                          struct err *err);
void join_hello_encode(struct wire_writer *writer, const struct join_hello *message);
int join_hello_decode(struct join_hello *message, struct wire_reader *reader, struct err *err);
void join_welcome_encode(struct wire_writer *writer, const struct join_welcome *message);
int join_welcome_decode(struct join_welcome *message, struct wire_reader *reader, struct err *err);
void join_waiting_encode(struct wire_writer *writer, const struct join_waiting *message);
int join_waiting_decode(struct join_waiting *message, struct wire_reader *reader, struct err *err);
void join_refused_encode(struct wire_writer *writer, const struct join_refused *message);
int join_refused_decode(struct join_refused *message, struct wire_reader *reader, struct err *err);
int join_news_decode(struct rank_end *news, struct wire_reader *reader, struct err *err);
int join_goodbye_decode(struct rank_end *goodbye, struct wire_reader *reader, struct err *err);
int join_broken_decode(struct rank_end *broken, struct wire_reader *reader, struct err *err);
void join_ask_encode(struct wire_writer *writer, const struct join_ask *message);
int join_ask_decode(struct join_ask *message, struct wire_reader *reader, struct err *err);
void join_update_encode(struct wire_writer *writer, const struct join_update *message);
int join_update_decode(struct join_update *message, struct wire_reader *reader, struct err *err);
void join_report_encode(struct wire_writer *writer, const struct join_report *message);
int join_report_decode(struct join_report *message, struct wire_reader *reader, struct err *err);

#endif
