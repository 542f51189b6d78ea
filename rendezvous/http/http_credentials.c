/* SPDX-License-Identifier: Apache-2.0 */
/* Reading Authorization; see http_credentials.h. */
#include "rendezvous/http/http_credentials.h"

#include <string.h>
#include <strings.h>

enum { OK = 0, UNREADABLE = 400, WRONG = 401 };

static bool take_char(struct http_text *text, char c)
{
    bool there = text->length > 0 && *text->data == c;
    if (there)
        http_text_skip(text, 1);
    return there;
}

static int set_job(struct http_credentials *credentials, struct http_text id)
{
    return key_owner_parse(&credentials->owner, id.data, id.length) ? OK : UNREADABLE;
}

/* Digits only, without leading zeros. */
static int set_counter(struct http_credentials *credentials, struct http_text text)
{
    uint64_t value = 0;
    bool valid = text.length >= 1 && (text.data[0] != '0' || text.length == 1);
    for (size_t i = 0; valid && i < text.length; i++) {
        unsigned digit = (unsigned)(unsigned char)text.data[i] - '0';
        valid = digit <= 9 && !__builtin_mul_overflow(value, 10, &value) &&
                !__builtin_add_overflow(value, digit, &value);
    }
    credentials->counter = value;
    return valid ? OK : UNREADABLE;
}

/* Keys, digests and proofs have the same size. */
static bool http_credentials_decode(unsigned char out[32], struct http_text hex)
{
    struct job_key bytes;
    bool valid = job_key_decode(&bytes, hex.data, hex.length);
    if (valid)
        memcpy(out, bytes.bytes, sizeof bytes.bytes);
    job_key_wipe(&bytes);
    return valid;
}

static int set_body(struct http_credentials *credentials, struct http_text hex)
{
    return http_credentials_decode(credentials->body, hex) ? OK : UNREADABLE;
}

static int set_proof(struct http_credentials *credentials, struct http_text hex)
{
    return http_credentials_decode(credentials->proof, hex) ? OK : WRONG;
}

static const struct field {
    const char *name;
    int (*set)(struct http_credentials *credentials, struct http_text value);
} fields[] = {
    { "job", set_job },
    { "counter", set_counter },
    { "body", set_body },
    { "proof", set_proof },
};
enum { FIELDS = sizeof fields / sizeof *fields };

static int field_index(struct http_text name)
{
    for (int i = 0; i < FIELDS; i++)
        if (name.length == strlen(fields[i].name) &&
            memcmp(name.data, fields[i].name, name.length) == 0)
            return i;
    return -1;
}

/* One NAME="VALUE"; `*seen` has a bit for each. */
static int parse_field(struct http_credentials *credentials, struct http_text *text, unsigned *seen)
{
    struct http_text name, value;
    http_text_skip_blanks(text);
    if (!http_text_take_until(text, '=', &name) || !take_char(text, '"') ||
        !http_text_take_until(text, '"', &value))
        return UNREADABLE;
    int index = field_index(name);
    if (index < 0 || (*seen & 1u << index))
        return UNREADABLE;
    *seen |= 1u << index;
    http_text_skip_blanks(text);
    return fields[index].set(credentials, value);
}

static int parse_proof(struct http_credentials *credentials, struct http_text text)
{
    unsigned seen = 0;
    int refused = OK;
    do {
        int rc = parse_field(credentials, &text, &seen);
        if (rc == UNREADABLE)
            return rc;
        if (rc != OK)
            refused = rc;
    } while (take_char(&text, ','));
    return text.length == 0 && seen == (1u << FIELDS) - 1 ? refused : UNREADABLE;
}

static int parse_bearer(struct http_credentials *credentials, struct http_text text)
{
    struct http_text id = { text.data, 0 };
    bool named = http_text_take_until(&text, ':', &id);
    if ((named && id.length == 0) || text.length == 0 || memchr(text.data, ' ', text.length))
        return UNREADABLE;
    int rc = set_job(credentials, id);
    if (rc != OK)
        return rc;
    return job_key_decode(&credentials->key, text.data, text.length) ? OK : WRONG;
}

static const struct {
    const char *name; /* and a space */
    enum http_scheme scheme;
    int (*parse)(struct http_credentials *credentials, struct http_text text);
} schemes[] = {
    { "Bearer ", HTTP_BEARER, parse_bearer },
    { "HVD1 ", HTTP_PROOF, parse_proof },
};

int http_credentials_parse(struct http_credentials *credentials, struct http_text text)
{
    *credentials = (struct http_credentials){ 0 };
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t length = strlen(schemes[i].name);
        if (text.length < length || strncasecmp(text.data, schemes[i].name, length) != 0)
            continue;
        credentials->scheme = schemes[i].scheme;
        http_text_skip(&text, length);
        http_text_skip_blanks(&text);
        return schemes[i].parse(credentials, text);
    }
    return WRONG;
}

void http_credentials_wipe(struct http_credentials *credentials)
{
    explicit_bzero(credentials, sizeof *credentials);
}
