/* SPDX-License-Identifier: Apache-2.0 */
/* Trusting a host; see ssh_trust.h. */
#include "launcher/ssh/ssh_trust.h"

#include "launcher/base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ssh_trust {
    const char *host;
    const struct ssh_config *config;
    bool accept_new, has_ssh;
    struct known_hosts *known;
    struct string_list types;
    bool types_are_own; /* not those of the plain name, where another port is asked */
};

static void read_files(struct ssh_trust *trust, struct string_list *warnings)
{
    const struct string_list *files = &trust->config->known_hosts;
    known_hosts_destroy(trust->known);
    trust->known = known_hosts_read(files->items, files->count, warnings);
}

struct ssh_trust *ssh_trust_create(const char *host, const struct ssh_config *config,
                                   bool accept_new, bool has_ssh, struct string_list *warnings)
{
    struct ssh_trust *trust = xcalloc(1, sizeof *trust);
    int port;
    const char *name = ssh_host_key_name(config, &port);
    trust->host = host;
    trust->config = config;
    trust->accept_new = accept_new;
    trust->has_ssh = has_ssh;
    read_files(trust, warnings);
    trust->types_are_own = known_hosts_types(trust->known, name, port, &trust->types);
    return trust;
}

void ssh_trust_destroy(struct ssh_trust *trust)
{
    if (!trust)
        return;
    known_hosts_destroy(trust->known);
    string_list_fini(&trust->types);
    free(trust);
}

const struct string_list *ssh_trust_types(const struct ssh_trust *trust)
{
    return &trust->types;
}

bool ssh_trust_may_be_new(const struct ssh_trust *trust)
{
    return ssh_host_key_may_be_new(!known_hosts_unread(trust->known), trust->config->strict,
                                   trust->accept_new);
}

const char *ssh_trust_type_for_ssh(const struct ssh_trust *trust)
{
    return trust->has_ssh && trust->types_are_own ? ssh_host_key_type_for_ssh(&trust->types) : NULL;
}

bool ssh_trust_needs_ssh(const struct ssh_trust *trust, char *text, size_t size)
{
    const char *type = ssh_trust_type_for_ssh(trust);
    if (!type || ssh_host_key_is_supported(&trust->types))
        return false;
    ssh_host_key_say_unsupported(text, size, type);
    return true;
}

/* The key differs from the known ones in its type, and the host may have one of theirs as well. */
static const char *ssh_trust_other_type(const struct ssh_trust *trust,
                                        const struct ssh_host_key *key,
                                        const struct known_hosts_found *found)
{
    char type[64];
    if (found->verdict != KNOWN_HOSTS_CHANGED ||
        !known_hosts_blob_type(type, sizeof type, key->blob, key->nbytes) ||
        strcmp(type, found->type) == 0)
        return NULL;
    return ssh_trust_type_for_ssh(trust);
}

static enum ssh_host_key_answer ssh_trust_look_up(const struct ssh_trust *trust,
                                                  struct ssh_host_key *key,
                                                  struct known_hosts_found *found)
{
    int port;
    const char *name = ssh_host_key_name(trust->config, &port);
    key->unread = known_hosts_unread(trust->known);
    *found = known_hosts_check(trust->known, name, port, key->blob, key->nbytes);
    return ssh_host_key_decide(found->verdict, !key->unread, trust->config->strict,
                               trust->accept_new);
}

enum ssh_host_key_answer ssh_trust_judge(struct ssh_trust *trust, const unsigned char *blob,
                                         size_t nbytes, char *text, size_t size)
{
    struct ssh_host_key key = {
        .host = trust->host, .config = trust->config, .blob = blob, .nbytes = nbytes
    };
    struct known_hosts_found found;
    text[0] = '\0';
    if (!blob) {
        snprintf(text, size, "libssh2 does not give it");
        return SSH_HOST_KEY_REFUSE;
    }
    enum ssh_host_key_answer answer = ssh_trust_look_up(trust, &key, &found);
    if (answer == SSH_HOST_KEY_ADD) {
        read_files(trust, NULL);
        answer = ssh_trust_look_up(trust, &key, &found);
    }
    const char *other =
        answer == SSH_HOST_KEY_REFUSE ? ssh_trust_other_type(trust, &key, &found) : NULL;
    if (other) {
        ssh_host_key_say_unsupported(text, size, other);
        return SSH_HOST_KEY_NEEDS_SSH;
    }
    if (answer == SSH_HOST_KEY_REFUSE || answer == SSH_HOST_KEY_NEEDS_SSH)
        ssh_host_key_refusal(text, size, &key, &found);
    else if (answer == SSH_HOST_KEY_ADD)
        ssh_host_key_add(text, size, &key);
    return answer;
}
