/* SPDX-License-Identifier: Apache-2.0 */
/* Where the ranks of a job meet, as text; see contact.h. */
#include "lib/pmi/contact.h"

#include <stdio.h>
#include <string.h>

static const char version[] = "hvd1", failed[] = "failed";

static bool contact_has_room(const char *text, const char *address)
{
    return strlen(text) + 1 + strlen(address) < PROCESS_MANAGER_VALUE_MAX;
}

static bool may_be_in_a_name(char c)
{
    return c > ' ' && c < 0x7f && c != ',' && c != ';' && c != '=';
}

void contact_format(char text[PROCESS_MANAGER_VALUE_MAX], const struct contact *contact, int status)
{
    char key[JOB_KEY_HEX_SIZE] = "-", host[CONTACT_HOST_SIZE];
    if (status < 0)
        snprintf(key, sizeof key, "%s", failed);
    else if (contact->has_key)
        job_key_format(&contact->key, key);
    snprintf(host, sizeof host, "%s", *contact->host ? contact->host : "?");
    for (char *at = host; *at; at++)
        *at = may_be_in_a_name(*at) ? *at : '?';
    snprintf(text, PROCESS_MANAGER_VALUE_MAX, "%s,%s,%s", version, key, host);
    explicit_bzero(key, sizeof key);
    for (int i = 0; i < contact->addresses.count && status == HVD_OK; i++) {
        const char *address = contact->addresses.text[i];
        if (strncmp(address, "unix:", 5) == 0 || !contact_has_room(text, address))
            continue;
        strcat(text, ",");
        strcat(text, address);
    }
}

/* The text up to the next ',', which `*at` is moved behind. False when there is no more, or it does
 * not fit or is empty or has what no field may have. */
static bool contact_field(const char **at, char *out, size_t size)
{
    if (!*at)
        return false;
    size_t length = strcspn(*at, ",");
    bool good = length > 0 && length < size;
    for (size_t i = 0; good && i < length; i++)
        good = may_be_in_a_name((*at)[i]);
    if (good)
        snprintf(out, size, "%.*s", (int)length, *at);
    *at = (*at)[length] ? *at + length + 1 : NULL;
    return good;
}

static bool contact_key(struct contact *contact, const char *text)
{
    contact->has_key = strcmp(text, "-") != 0 && strcmp(text, failed) != 0;
    return !contact->has_key || job_key_decode(&contact->key, text, strlen(text));
}

int contact_parse(struct contact *contact, const char *text, struct err *err)
{
    char found[8], key[JOB_KEY_HEX_SIZE];
    *contact = (struct contact){ 0 };
    bool good = contact_field(&text, found, sizeof found);
    if (good && strcmp(found, version) != 0)
        return fail(err, HVD_ERR_PROTOCOL, "rank 0 has another version of libhvd");
    good = good && contact_field(&text, key, sizeof key) && contact_key(contact, key) &&
           contact_field(&text, contact->host, sizeof contact->host);
    if (good && strcmp(key, failed) == 0)
        return fail(err, HVD_ERR_PEER_LOST, "rank 0 on %s cannot serve the rendezvous",
                    contact->host);
    struct join_addresses *addresses = &contact->addresses;
    while (good && text && addresses->count < JOIN_ADDRESSES_MAX)
        good = contact_field(&text, addresses->text[addresses->count++], JOIN_ADDRESS_MAX);
    explicit_bzero(key, sizeof key);
    if (good && addresses->count > 0 && !text)
        return HVD_OK;
    job_key_wipe(&contact->key);
    return fail(err, HVD_ERR_PROTOCOL, "what rank 0 has published is no place to meet");
}
