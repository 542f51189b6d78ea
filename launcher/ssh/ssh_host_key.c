/* SPDX-License-Identifier: Apache-2.0 */
/* Host keys; see ssh_host_key.h. The texts of refusals are in ssh_host_key_refusal.c. */
#include "launcher/ssh/ssh_host_key_impl.h"

#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- types of keys ---- */

/* Those that libssh2 is asked for, and the others that every ssh of today checks. */
static const char *const supported[] = { "ssh-ed25519", "ecdsa-sha2-nistp256",
                                         "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", NULL };
static const char *const for_ssh[] = { "ssh-rsa", "sk-ssh-ed25519@openssh.com",
                                       "sk-ecdsa-sha2-nistp256@openssh.com", NULL };

static bool holds(const struct string_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], text) == 0)
            return true;
    return false;
}

/* The first type of the table that is known; NULL if there is none. */
static const char *first_known(const char *const *table, const struct string_list *known_types)
{
    while (*table && !holds(known_types, *table))
        table++;
    return *table;
}

static void put_types(struct text_buffer *buffer, const struct string_list *known, bool those_known)
{
    for (const char *const *type = supported; *type; type++)
        if (holds(known, *type) == those_known)
            text_buffer_printf(buffer, "%s%s", buffer->length > 0 ? "," : "", *type);
}

char *ssh_host_key_order(const struct string_list *known_types)
{
    struct text_buffer buffer = { 0 };
    put_types(&buffer, known_types, true);
    put_types(&buffer, known_types, false);
    return text_buffer_take(&buffer);
}

bool ssh_host_key_is_supported(const struct string_list *known_types)
{
    return first_known(supported, known_types) != NULL;
}

const char *ssh_host_key_type_for_ssh(const struct string_list *known_types)
{
    return first_known(for_ssh, known_types);
}

/* ---- the verdict ---- */

const char *ssh_host_key_name(const struct ssh_config *config, int *port)
{
    *port = config->host_key_alias ? 22 : config->port;
    return config->host_key_alias ? config->host_key_alias : config->host_name;
}

bool ssh_host_key_may_be_new(bool complete, enum strict_host_key strict, bool accept_new)
{
    return complete && (accept_new || strict != STRICT_YES);
}

enum ssh_host_key_answer ssh_host_key_decide(enum known_hosts_verdict verdict, bool complete,
                                             enum strict_host_key strict, bool accept_new)
{
    bool may_add = ssh_host_key_may_be_new(complete, strict, accept_new);
    if (verdict == KNOWN_HOSTS_MATCH)
        return SSH_HOST_KEY_TRUST;
    if (verdict == KNOWN_HOSTS_NEEDS_CA)
        return SSH_HOST_KEY_NEEDS_SSH;
    return verdict == KNOWN_HOSTS_UNKNOWN && may_add ? SSH_HOST_KEY_ADD : SSH_HOST_KEY_REFUSE;
}

/* ---- a new key ---- */

struct shown_key ssh_host_key_show(const struct ssh_host_key *key)
{
    struct shown_key shown;
    if (!known_hosts_blob_type(shown.type, sizeof shown.type, key->blob, key->nbytes))
        strcpy(shown.type, "unknown");
    known_hosts_fingerprint(shown.fingerprint, key->blob, key->nbytes);
    return shown;
}

const char *ssh_host_key_user_file(const char *path, char *text, size_t size)
{
    const char *home = getenv("HOME");
    size_t length = home ? strlen(home) : 0;
    if (length > 1 && strncmp(path, home, length) == 0 && path[length] == '/')
        snprintf(text, size, "~%s", path + length);
    else
        snprintf(text, size, "%s", path);
    return text;
}

void ssh_host_key_add(char *note, size_t size, const struct ssh_host_key *key)
{
    const struct ssh_config *config = key->config;
    struct shown_key shown = ssh_host_key_show(key);
    struct err err = { 0 };
    char file[200] = "a file";
    int port;
    const char *name = ssh_host_key_name(config, &port);
    if (config->nuser_files > 0) {
        ssh_host_key_user_file(config->known_hosts.items[0], file, sizeof file);
        known_hosts_add(config->known_hosts.items[0], name, port, config->hash_known_hosts,
                        key->blob, key->nbytes, &err);
    } else {
        fail(&err, HVD_ERR_INVALID, "UserKnownHostsFile is none");
    }
    snprintf(note, size, "host key %s %s accepted, %s %s%s%s", shown.type, shown.fingerprint,
             err.code == HVD_OK ? "added to" : "but not added to", file,
             err.code == HVD_OK ? "" : ": ", err.text);
}
