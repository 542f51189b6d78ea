/* SPDX-License-Identifier: Apache-2.0 */
/* What hvdrun and hvdssh say to each other about one host. hvdrun gives orders; the process of the
 * host, which alone uses libssh2, answers with reports. Each message is one packet of a
 * SOCK_SEQPACKET socket; its fields are those of ssh_wire.h.
 *
 *   order   u8 type   string first   string second
 *   report  u8 type   u8 result   u32 code   u8 flags   string version   string noise   string lost
 *           string problem   string bytes
 *
 *   SHAKE        kinds of host keys             -> STATE..., SHAKEN with the host's key
 *   LOGIN_AGENT  user, public key               -> SIGN with the data, TRIED
 *   LOGIN_FILE   user, a private key            -> TRIED
 *   SIGNATURE    signature; empty if there is none
 *   SHELL                                       -> SHELL, then STDERR..., ENDED with the text of
 *                                                  ssh_pump.h; code 1 if the connection was lost
 *
 * hvdrun reads reports as foreign bytes: the process may be in the hands of the host. */
#ifndef LAUNCHER_SSH_SSH_MESSAGE_H
#define LAUNCHER_SSH_SSH_MESSAGE_H

#include "launcher/ssh/ssh_wire.h"

/* The longest message: a key file of 64 KiB (ssh_key_file.c), and the rest. */
enum { SSH_MESSAGE_BYTES = 80 * 1024 };

enum ssh_order_type {
    SSH_ORDER_SHAKE,
    SSH_ORDER_LOGIN_AGENT,
    SSH_ORDER_LOGIN_FILE,
    SSH_ORDER_SIGNATURE,
    SSH_ORDER_SHELL,
    SSH_ORDERS
};

struct ssh_order {
    enum ssh_order_type type;
    struct ssh_bytes first, second; /* borrowed from the message */
};

enum ssh_report_type {
    SSH_REPORT_STATE, /* the host has sent its first line, or its banner */
    SSH_REPORT_SHAKEN,
    SSH_REPORT_SIGN,
    SSH_REPORT_TRIED,
    SSH_REPORT_SHELL,
    SSH_REPORT_STDERR,
    SSH_REPORT_ENDED,
    SSH_REPORTS
};

enum ssh_result {
    SSH_RESULT_OK,
    SSH_RESULT_LACKS,     /* libssh2 has none of the algorithms that we accept */
    SSH_RESULT_NO_COMMON, /* nor has the host one that libssh2 has */
    SSH_RESULT_REFUSED,   /* the key was not accepted */
    SSH_RESULT_ERROR,     /* libssh2's `code` */
    SSH_RESULTS
};

struct ssh_report {
    enum ssh_report_type type;
    enum ssh_result result;
    int code; /* libssh2's own, for messages */
    bool has_banner;
    bool is_lost;           /* the connection */
    bool is_dismissed;      /* it is lost with a message of the host */
    bool signs_sha2;        /* libssh2 can use RSA keys */
    bool is_confined;       /* the kernel filters the system calls of the process */
    char version[24];       /* of libssh2 */
    char noise[80];         /* the host's first line; any bytes */
    char lost[200];         /* why the connection is lost; printable, as all that follows */
    char problem[200];      /* libssh2's text about its last failure */
    struct ssh_bytes bytes; /* borrowed from the message; any bytes */
};

void ssh_order_encode(struct text_buffer *message, const struct ssh_order *order);
void ssh_report_encode(struct text_buffer *message, const struct ssh_report *report);

/* False if the message is malformed. Pure. */
bool ssh_order_decode(struct ssh_order *order, struct ssh_bytes message);
bool ssh_report_decode(struct ssh_report *report, struct ssh_bytes message);

/* Copies bytes as a text, with "?" for what is not printable ASCII; cut if they are too many.
 * Returns `text`. */
const char *ssh_message_text(char *text, size_t size, struct ssh_bytes bytes);

#endif
