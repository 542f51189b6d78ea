/* SPDX-License-Identifier: Apache-2.0 */
/* What an Authorization header says (http_access.h has its two forms), before it is believed.
 *
 * Refused with an HTTP status:
 *   400  a scheme of ours in another form: a field that is missing, unknown, there twice or without
 *        quotes, an owner of a key that is none, a counter that is no number of 64 bits as people
 *        write it
 *   401  another scheme; a key or proof that is not 64 hexadecimal digits and so cannot be right */
#ifndef RENDEZVOUS_HTTP_HTTP_CREDENTIALS_H
#define RENDEZVOUS_HTTP_HTTP_CREDENTIALS_H

#include "lib/base/auth.h"
#include "lib/base/key_owner.h"
#include "rendezvous/http/http_request.h"

#include <stdint.h>

enum http_scheme { HTTP_BEARER, HTTP_PROOF };

struct http_credentials {
    enum http_scheme scheme;
    struct key_owner owner;
    struct job_key key; /* Bearer's */

    uint64_t counter; /* these are the proof's */
    unsigned char body[DIGEST_SIZE];
    unsigned char proof[PROOF_SIZE];
};

/* 0, or the HTTP status of the refusal. To be wiped, either way. */
int http_credentials_parse(struct http_credentials *credentials, struct http_text text);
void http_credentials_wipe(struct http_credentials *credentials);

#endif
