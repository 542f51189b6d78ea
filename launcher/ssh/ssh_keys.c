/* SPDX-License-Identifier: Apache-2.0 */
/* Keys in their order; see ssh_keys.h. */
#include "launcher/ssh/ssh_keys.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/xalloc.h"
#include "launcher/ssh/ssh_agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ssh_bytes public_of(const struct ssh_key *key)
{
    return (struct ssh_bytes){ (const unsigned char *)key->public.data, key->public.length };
}

static struct ssh_key *ssh_keys_append(struct ssh_keys *keys)
{
    keys->items = xreallocarray(keys->items, keys->count + 1, sizeof *keys->items);
    keys->items[keys->count] = (struct ssh_key){ 0 };
    return &keys->items[keys->count++];
}

void ssh_key_set_outcome(struct ssh_key *key, const char *outcome)
{
    if (!outcome)
        return;
    free(key->outcome);
    key->outcome = xstrdup(outcome);
}

/* Since 1.11 libssh2 signs with SHA-2 by an RSA key. */
static bool libssh2_knows(const struct ssh_keys *keys, enum ssh_key_kind kind)
{
    return kind == SSH_KEY_USABLE || (kind == SSH_KEY_RSA && keys->signs_sha2);
}

static void set_kind(const struct ssh_keys *keys, struct ssh_key *key, enum ssh_key_kind kind)
{
    key->kind = kind;
    if (!libssh2_knows(keys, kind))
        ssh_key_set_outcome(key, ssh_key_kind_problem(kind));
}

/* ---- files ---- */

/* "~/.ssh/id_ed25519" */
static char *short_path(const char *path)
{
    const char *home = getenv("HOME");
    size_t length = home ? strlen(home) : 0;
    if (length > 1 && strncmp(path, home, length) == 0 && path[length] == '/')
        return xasprintf("~%s", path + length);
    return xstrdup(path);
}

static void judge_file(const struct ssh_keys *keys, struct ssh_key *key, int rc,
                       const struct err *err)
{
    key->kind = SSH_KEY_GARBAGE;
    if (rc < 0)
        ssh_key_set_outcome(key, err->text);
    else
        set_kind(keys, key, key->file.kind);
}

/* "~/.ssh/id_ed25519-cert.pub", which ssh uses beside ~/.ssh/id_ed25519; NULL if it is not
 * there. */
static char *find_certificate(const char *path)
{
    char *file = xasprintf("%s-cert.pub", path);
    char *name = access(file, R_OK) == 0 ? short_path(file) : NULL;
    free(file);
    return name;
}

int ssh_keys_add_files(struct ssh_keys *keys, const char *const *paths, size_t npaths,
                       bool must_exist, struct err *err)
{
    for (size_t i = 0; i < npaths; i++) {
        struct err problem = { 0 };
        struct ssh_key_file file;
        int rc = ssh_key_file_read(&file, paths[i], &problem);
        if (rc == HVD_ERR_INVALID) {
            ssh_key_file_fini(&file);
            if (must_exist)
                return fail(err, HVD_ERR_INVALID, "identity file %s: %s", paths[i], problem.text);
            continue;
        }
        struct ssh_key *key = ssh_keys_append(keys);
        keys->nfiles++;
        key->name = short_path(paths[i]);
        key->file = file;
        key->certificate = find_certificate(paths[i]);
        text_buffer_put(&key->public, file.public.data, file.public.length);
        judge_file(keys, key, rc, &problem);
    }
    return HVD_OK;
}

/* ---- the agent ---- */

/* The public half of a file may be unknown, that is, empty. */
static struct ssh_key *find_public(struct ssh_keys *keys, struct ssh_bytes public)
{
    for (size_t i = 0; i<keys->count &&public.length> 0; i++)
        if (ssh_bytes_equal(public_of(&keys->items[i]), public))
            return &keys->items[i];
    return NULL;
}

/* Counts the keys that libssh2 can use. */
static size_t count_usable(const struct ssh_keys *keys)
{
    size_t usable = 0;
    for (size_t i = 0; i < keys->count; i++)
        usable += !keys->items[i].outcome && !keys->items[i].skipped;
    return usable;
}

/* Files must have a turn before the host hangs up. */
static bool is_one_too_many(const struct ssh_keys *agent, const struct ssh_keys *files)
{
    size_t usable = count_usable(agent);
    return usable >= SSH_AGENT_KEYS_TRIED || usable + count_usable(files) >= SSH_KEYS_TRIED;
}

/* False if the key is left out. */
static bool add_agent_key(struct ssh_keys *agent, const struct ssh_keys *files,
                          struct ssh_bytes public, struct ssh_bytes comment)
{
    struct ssh_reader reader = { public.data, public.length, false };
    struct shown shown;
    enum ssh_key_kind kind = ssh_key_type_kind(ssh_get_string(&reader));
    if (libssh2_knows(files, kind) && is_one_too_many(agent, files)) {
        agent->nuntried++;
        return false;
    }
    struct ssh_key *key = ssh_keys_append(agent);
    key->in_agent = true;
    text_buffer_put(&key->public, public.data, public.length);
    show_token(&shown, (const char *)comment.data, comment.length);
    key->name = xstrdup(shown.text);
    set_kind(files, key, kind);
    return true;
}

/* Adds the keys that are in files if `named`, or those that are not. */
static void add_agent_keys(struct ssh_keys *agent, struct ssh_keys *files, struct ssh_bytes answer,
                           bool named)
{
    struct ssh_reader reader;
    uint32_t count = ssh_agent_read_keys(&reader, answer);
    for (uint32_t i = 0; i < count && !reader.failed; i++) {
        struct ssh_bytes public, comment;
        ssh_agent_read_key(&reader, &public, &comment);
        if (reader.failed)
            break;
        struct ssh_key *file = find_public(files, public);
        if ((file != NULL) != named)
            continue;
        if (file)
            file->skipped = true; /* the agent's copy of the key is tried instead */
        if (!add_agent_key(agent, files, public, comment) && file)
            file->skipped = false;
    }
}

int ssh_keys_add_agent(struct ssh_keys *keys, struct ssh_bytes answer, bool only_files)
{
    struct ssh_reader reader;
    struct ssh_keys agent = { 0 };
    uint32_t count = ssh_agent_read_keys(&reader, answer);
    if (reader.failed)
        return -1;
    add_agent_keys(&agent, keys, answer, true);
    if (!only_files)
        add_agent_keys(&agent, keys, answer, false);
    for (size_t i = 0; i < keys->count; i++)
        *ssh_keys_append(&agent) = keys->items[i];
    free(keys->items);
    keys->items = agent.items;
    keys->count = agent.count;
    keys->nuntried = agent.nuntried;
    return (int)(count & INT32_MAX);
}

/* ---- one key after another ---- */

struct ssh_key *ssh_keys_next(struct ssh_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        if (!keys->items[i].outcome && !keys->items[i].skipped)
            return &keys->items[i];
    return NULL;
}

static size_t put_key(const struct ssh_keys *keys, const struct ssh_key *key, char *text,
                      size_t size)
{
    int n = snprintf(text, size, "%s%s%s: %s", key->in_agent ? "agent's key '" : "", key->name,
                     key->in_agent ? "'" : "", key->outcome ? key->outcome : "not tried");
    if (key->kind == SSH_KEY_RSA && key->outcome && !key->refused && (size_t)n < size)
        n += snprintf(text + n, size - (size_t)n,
                      " (libssh2 %s signs with SHA-1 only; 1.11 and later with SHA-2)",
                      keys->libssh2);
    return (size_t)n;
}

/* The first key that the host has refused, or NULL. */
static const struct ssh_key *find_refused(const struct ssh_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        if (keys->items[i].refused)
            return &keys->items[i];
    return NULL;
}

/* The first key of a kind that messages mention, or NULL. */
static const struct ssh_key *find_kind(const struct ssh_keys *keys, enum ssh_key_kind kind)
{
    for (size_t i = 0; i < keys->count; i++)
        if (!keys->items[i].skipped && keys->items[i].file.kind == kind)
            return &keys->items[i];
    return NULL;
}

void ssh_keys_mend(const struct ssh_keys *keys, const char *target, char *text, size_t size)
{
    const struct ssh_key *refused = find_refused(keys);
    const struct ssh_key *encrypted = find_kind(keys, SSH_KEY_ENCRYPTED);
    text[0] = '\0';
    if (refused && refused->in_agent)
        snprintf(text, size, "ssh-copy-id %s", target);
    else if (refused)
        snprintf(text, size, "ssh-copy-id -i %s %s", refused->name, target);
    else if (encrypted)
        snprintf(text, size, "eval $(ssh-agent); ssh-add %s", encrypted->name);
    else if (!find_kind(keys, SSH_KEY_USABLE)) /* one of these may be open to others, or unread */
        snprintf(text, size, "ssh-keygen -t ed25519 && ssh-copy-id %s", target);
}

void ssh_keys_describe(const struct ssh_keys *keys, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < keys->count && used < size; i++) {
        const struct ssh_key *key = &keys->items[i];
        if (key->skipped)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s", used > 0 ? "; " : "");
        if (used < size)
            used += put_key(keys, key, text + used, size - used);
    }
    if (keys->nuntried > 0 && used < size)
        used += (size_t)snprintf(text + used, size - used, "; the agent's other keys (%zu) untried",
                                 keys->nuntried);
    if (used >= size && size > 4)
        memcpy(text + size - 4, "...", 4);
}

/* ---- what only the external ssh can do ---- */

/* A certificate is of use if its private key is: in the agent (then the file is skipped), or in a
 * file that is not locked. */
static bool has_certificate(const struct ssh_key *key)
{
    return key->certificate && (key->skipped || key->kind == SSH_KEY_USABLE ||
                                key->kind == SSH_KEY_RSA || key->kind == SSH_KEY_HARDWARE);
}

static bool key_needs_ssh(const struct ssh_keys *keys, const struct ssh_key *key, char *text,
                          size_t size)
{
    if (has_certificate(key))
        snprintf(text, size, "certificate %s: libssh2 cannot use it", key->certificate);
    else if (key->skipped || libssh2_knows(keys, key->kind))
        return false;
    else if (key->kind == SSH_KEY_CERTIFICATE)
        snprintf(text, size, "certificate '%s': libssh2 cannot use it", key->name);
    else if (key->kind == SSH_KEY_HARDWARE)
        snprintf(text, size, "key %s: libssh2 cannot ask a hardware token", key->name);
    else if (key->kind == SSH_KEY_RSA)
        snprintf(text, size,
                 "RSA key %s: libssh2 %s signs with SHA-1 only, 1.11 and later with SHA-2",
                 key->name, keys->libssh2);
    else
        return false;
    return true;
}

bool ssh_keys_need_ssh(const struct ssh_keys *keys, const struct string_list *certificates,
                       char *text, size_t size)
{
    for (size_t i = 0; i < keys->count; i++)
        if (key_needs_ssh(keys, &keys->items[i], text, size))
            return true;
    for (size_t i = 0; i < certificates->count; i++) {
        if (access(certificates->items[i], R_OK) < 0)
            continue;
        snprintf(text, size, "certificate %s: libssh2 cannot use it", certificates->items[i]);
        return true;
    }
    return false;
}

void ssh_keys_fini(struct ssh_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        ssh_key_file_fini(&keys->items[i].file);
        text_buffer_fini(&keys->items[i].public);
        free(keys->items[i].name);
        free(keys->items[i].certificate);
        free(keys->items[i].outcome);
    }
    free(keys->items);
    *keys = (struct ssh_keys){ 0 };
}
