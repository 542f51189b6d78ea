/* SPDX-License-Identifier: Apache-2.0 */
/* Keys in the form of the ssh protocol ("blob"), RFC 4253 section 6.6: strings, each a big-endian
 * u32 length and its bytes. The first string names the type. A key of a line counts when its base64
 * can be read, the line and the blob name the same type, the type is in the table below, and the
 * blob has the fields of this type. */
#include "launcher/base/xalloc.h"
#include "launcher/ssh/known_hosts.h"
#include "launcher/ssh/known_hosts_line.h"

#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fields behind the type: k 32 bytes, c the curve that the type's name ends with, p a point on
 * it, n a number, s any text, * anything. */
static const struct key_type {
    const char *name, *fields;
    size_t point_bytes;
} key_types[] = {
    { "ssh-ed25519", "k", 0 },
    { "ecdsa-sha2-nistp256", "cp", 65 },
    { "ecdsa-sha2-nistp384", "cp", 97 },
    { "ecdsa-sha2-nistp521", "cp", 133 },
    { "ssh-rsa", "nn", 0 },
    { "ssh-dss", "nnnn", 0 },
    { "sk-ssh-ed25519@openssh.com", "ks", 0 },
    { "sk-ecdsa-sha2-nistp256@openssh.com", "cps", 65 },
    { "ssh-ed25519-cert-v01@openssh.com", "*", 0 },
    { "ecdsa-sha2-nistp256-cert-v01@openssh.com", "*", 0 },
    { "ecdsa-sha2-nistp384-cert-v01@openssh.com", "*", 0 },
    { "ecdsa-sha2-nistp521-cert-v01@openssh.com", "*", 0 },
    { "ssh-rsa-cert-v01@openssh.com", "*", 0 },
    { "ssh-dss-cert-v01@openssh.com", "*", 0 },
    { "sk-ssh-ed25519-cert-v01@openssh.com", "*", 0 },
    { "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com", "*", 0 },
};

static const struct key_type *find_type(struct slice name)
{
    for (size_t i = 0; i < sizeof key_types / sizeof *key_types; i++)
        if (strlen(key_types[i].name) == name.length &&
            memcmp(key_types[i].name, name.at, name.length) == 0)
            return &key_types[i];
    return NULL;
}

/* Removes a string from the front. */
static bool take_string(struct slice *blob, struct slice *string)
{
    if (blob->length < 4)
        return false;
    const unsigned char *size = (const unsigned char *)blob->at;
    size_t length =
        (size_t)size[0] << 24 | (size_t)size[1] << 16 | (size_t)size[2] << 8 | (size_t)size[3];
    if (length > blob->length - 4)
        return false;
    *string = (struct slice){ blob->at + 4, length };
    *blob = slice_between(slice_end(*string), slice_end(*blob));
    return true;
}

/* Positive, and without redundant leading bytes. */
static bool is_number(struct slice field)
{
    if (field.length == 0 || (*field.at & 0x80))
        return false;
    return *field.at != 0 || (field.length > 1 && (field.at[1] & 0x80));
}

static bool is_curve(struct slice field, const struct key_type *type)
{
    const char *name = strstr(type->name, "nistp");
    return name && field.length == strlen("nistp256") && memcmp(field.at, name, field.length) == 0;
}

static bool is_field(char kind, struct slice field, const struct key_type *type)
{
    switch (kind) {
    case 'k':
        return field.length == 32;
    case 'c':
        return is_curve(field, type);
    case 'p':
        return field.length == type->point_bytes && *field.at == 4;
    case 'n':
        return is_number(field);
    default:
        return true;
    }
}

static bool is_key_of(struct slice blob, const struct key_type *type)
{
    struct slice field;
    if (!take_string(&blob, &field) || find_type(field) != type)
        return false;
    for (const char *kind = type->fields; *kind; kind++) {
        if (*kind == '*')
            return true;
        if (!take_string(&blob, &field) || !is_field(*kind, field, type))
            return false;
    }
    return blob.length == 0;
}

unsigned char *known_key_decode(const struct known_line *line, size_t *nbytes, const char **type)
{
    const struct key_type *key_type = find_type(line->type);
    if (!key_type)
        return NULL;
    size_t room = line->key.length / 4 * 3 + 3;
    unsigned char *blob = xmalloc(room);
    const char *end = NULL;
    if (sodium_base642bin(blob, room, line->key.at, line->key.length, NULL, nbytes, &end,
                          sodium_base64_VARIANT_ORIGINAL) == 0 &&
        end == slice_end(line->key) &&
        is_key_of((struct slice){ (const char *)blob, *nbytes }, key_type)) {
        *type = key_type->name;
        return blob;
    }
    free(blob);
    return NULL;
}

bool known_hosts_blob_type(char *type, size_t size, const unsigned char *blob, size_t nbytes)
{
    struct slice rest = { (const char *)blob, nbytes }, name;
    if (size > 0)
        *type = '\0';
    if (!take_string(&rest, &name) || name.length == 0 || name.length >= size)
        return false;
    for (size_t i = 0; i < name.length; i++)
        if (name.at[i] <= ' ' || name.at[i] > '~')
            return false;
    memcpy(type, name.at, name.length);
    type[name.length] = '\0';
    return true;
}

void known_hosts_fingerprint(char text[FINGERPRINT_SIZE], const unsigned char *blob, size_t nbytes)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char base64[sodium_base64_ENCODED_LEN(sizeof hash, sodium_base64_VARIANT_ORIGINAL_NO_PADDING)];
    crypto_hash_sha256(hash, blob, nbytes);
    sodium_bin2base64(base64, sizeof base64, hash, sizeof hash,
                      sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    snprintf(text, FINGERPRINT_SIZE, "SHA256:%s", base64);
}
