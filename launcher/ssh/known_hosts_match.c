/* SPDX-License-Identifier: Apache-2.0 */
/* Does the NAMES field of a line stand for a host?
 *   a hashed name is hashed again with its salt and compared,
 *   of a list each pattern is tried: one that matches is enough, unless one with "!" matches, too.
 * Malformed names match nothing: a hash of another kind, bad base64, a pattern longer than OpenSSH
 * accepts. */
#include "launcher/ssh/hmac_sha1.h"
#include "launcher/ssh/known_hosts_line.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* With a longer pattern OpenSSH treats the whole list as not matching. */
enum { PATTERN_MAX = 1022 };

static void hash_name(unsigned char hash[HOST_HASH_BYTES],
                      const unsigned char salt[HOST_HASH_BYTES], const char *name)
{
    hmac_sha1(hash, salt, HOST_HASH_BYTES, name, strlen(name));
}

void known_name_hash(char text[HASHED_NAME_SIZE], const unsigned char salt[HOST_HASH_BYTES],
                     const char *name)
{
    enum {
        BASE64_SIZE = sodium_base64_ENCODED_LEN(HOST_HASH_BYTES, sodium_base64_VARIANT_ORIGINAL)
    };
    char salt_text[BASE64_SIZE], hash_text[BASE64_SIZE];
    unsigned char hash[HOST_HASH_BYTES];
    hash_name(hash, salt, name);
    sodium_bin2base64(salt_text, sizeof salt_text, salt, HOST_HASH_BYTES,
                      sodium_base64_VARIANT_ORIGINAL);
    sodium_bin2base64(hash_text, sizeof hash_text, hash, sizeof hash,
                      sodium_base64_VARIANT_ORIGINAL);
    snprintf(text, HASHED_NAME_SIZE, "|1|%s|%s", salt_text, hash_text);
}

static bool known_hosts_match_decode(unsigned char bytes[HOST_HASH_BYTES], struct slice text)
{
    size_t nbytes = 0;
    const char *end = NULL;
    return sodium_base642bin(bytes, HOST_HASH_BYTES, text.at, text.length, NULL, &nbytes, &end,
                             sodium_base64_VARIANT_ORIGINAL) == 0 &&
           end == slice_end(text) && nbytes == HOST_HASH_BYTES;
}

/* |1|SALT|HASH */
static bool match_hashed(struct slice names, const char *name)
{
    unsigned char salt[HOST_HASH_BYTES], wanted[HOST_HASH_BYTES], hash[HOST_HASH_BYTES];
    if (names.length < 3 || memcmp(names.at, "|1|", 3) != 0)
        return false;
    struct slice rest = slice_between(names.at + 3, slice_end(names));
    const char *bar = memchr(rest.at, '|', rest.length);
    if (!bar || !known_hosts_match_decode(salt, slice_between(rest.at, bar)) ||
        !known_hosts_match_decode(wanted, slice_between(bar + 1, slice_end(rest))))
        return false;
    hash_name(hash, salt, name);
    return memcmp(hash, wanted, sizeof hash) == 0;
}

static char to_lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

/* When the text behind a "*" does not fit, the star takes one byte more; only the last star must be
 * remembered. */
static bool match_pattern(struct slice pattern, const char *name)
{
    const char *star_name = NULL;
    size_t at = 0, star = 0;
    while (*name) {
        if (at < pattern.length && pattern.at[at] == '*') {
            star = ++at;
            star_name = name;
        } else if (at < pattern.length &&
                   (pattern.at[at] == '?' || to_lower(pattern.at[at]) == *name)) {
            at++;
            name++;
        } else if (star_name) {
            at = star;
            name = ++star_name;
        } else {
            return false;
        }
    }
    while (at < pattern.length && pattern.at[at] == '*')
        at++;
    return at == pattern.length;
}

bool known_names_match(struct slice names, const char *name)
{
    bool matched = false;
    if (names.length > 0 && *names.at == '|')
        return match_hashed(names, name);
    for (const char *at = names.at, *end = slice_end(names); at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct slice pattern = slice_between(at, comma ? comma : end);
        bool negated = pattern.length > 0 && *pattern.at == '!';
        pattern = slice_between(pattern.at + negated, slice_end(pattern));
        if (pattern.length > PATTERN_MAX)
            return false;
        bool found = match_pattern(pattern, name);
        if (found && negated)
            return false;
        matched |= found;
        at = comma ? comma + 1 : end;
    }
    return matched;
}
