/* SPDX-License-Identifier: Apache-2.0 */
/* Host keys; see ssh_host_key.h. */
#include "launcher/ssh/ssh_host_key.h"

#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- algorithms ---- */

static const char *const host_keys[] = { "ssh-ed25519", "ecdsa-sha2-nistp256",
                                         "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521" };

static const struct {
    int method;
    const char *names;
} methods[] = {
    { LIBSSH2_METHOD_KEX,
      "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,"
      "ecdh-sha2-nistp521,diffie-hellman-group-exchange-sha256,diffie-hellman-group16-sha512,"
      "diffie-hellman-group18-sha512,diffie-hellman-group14-sha256" },
    { LIBSSH2_METHOD_CRYPT_CS, "aes128-ctr,aes256-ctr,aes192-ctr" },
    { LIBSSH2_METHOD_CRYPT_SC, "aes128-ctr,aes256-ctr,aes192-ctr" },
    { LIBSSH2_METHOD_MAC_CS, "hmac-sha2-256,hmac-sha2-512" },
    { LIBSSH2_METHOD_MAC_SC, "hmac-sha2-256,hmac-sha2-512" },
};

static bool holds(const struct string_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], text) == 0)
            return true;
    return false;
}

static void put_kinds(struct text_buffer *buffer, const struct string_list *known, bool those_known)
{
    for (size_t i = 0; i < sizeof host_keys / sizeof *host_keys; i++)
        if (holds(known, host_keys[i]) == those_known)
            text_buffer_printf(buffer, "%s%s", buffer->length > 0 ? "," : "", host_keys[i]);
}

char *ssh_host_key_order(const struct string_list *known_types)
{
    struct text_buffer buffer = { 0 };
    put_kinds(&buffer, known_types, true);
    put_kinds(&buffer, known_types, false);
    return text_buffer_take(&buffer);
}

int ssh_host_key_prefer(LIBSSH2_SESSION *ssh, const struct string_list *known_types,
                        struct err *err)
{
    char *order = ssh_host_key_order(known_types);
    int rc = libssh2_session_method_pref(ssh, LIBSSH2_METHOD_HOSTKEY, order);
    free(order);
    for (size_t i = 0; rc == 0 && i < sizeof methods / sizeof *methods; i++)
        rc = libssh2_session_method_pref(ssh, methods[i].method, methods[i].names);
    if (rc == 0)
        return HVD_OK;
    return fail(err, HVD_ERR_SYSTEM, "libssh2 %s lacks algorithms; use --remote-shell 'ssh %%h'",
                libssh2_version(0));
}

/* ---- the verdict ---- */

const char *ssh_host_key_name(const struct ssh_config *config, int *port)
{
    *port = config->host_key_alias ? 22 : config->port;
    return config->host_key_alias ? config->host_key_alias : config->host_name;
}

enum ssh_host_key_answer ssh_host_key_decide(enum known_hosts_verdict verdict, bool complete,
                                             enum strict_host_key strict, bool accept_new)
{
    bool may_add = complete && (accept_new || strict != STRICT_YES);
    if (verdict == KNOWN_HOSTS_MATCH)
        return SSH_HOST_KEY_TRUST;
    return verdict == KNOWN_HOSTS_UNKNOWN && may_add ? SSH_HOST_KEY_ADD : SSH_HOST_KEY_REFUSE;
}

/* ---- texts, behind "HOST: host key: " ---- */

struct shown_key {
    char type[64], fingerprint[FINGERPRINT_SIZE];
};

static struct shown_key show_key(const struct ssh_host_key *key)
{
    struct shown_key shown;
    if (!known_hosts_blob_type(shown.type, sizeof shown.type, key->blob, key->nbytes))
        strcpy(shown.type, "unknown");
    known_hosts_fingerprint(shown.fingerprint, key->blob, key->nbytes);
    return shown;
}

/* "ed25519" of "ssh-ed25519", in the form of ssh-keyscan -t. */
static const char *short_type(const char *type)
{
    if (strncmp(type, "ecdsa-", 6) == 0)
        return "ecdsa";
    return strncmp(type, "ssh-", 4) == 0 ? type + 4 : type;
}

/* The file to which the user's keys are added; NULL if added keys are not kept. */
static const char *kept_in(const struct ssh_config *config)
{
    const char *path = config->nuser_files > 0 ? config->known_hosts.items[0] : NULL;
    return path && strcmp(path, "/dev/null") != 0 ? path : NULL;
}

/* "~/.ssh/known_hosts" */
static const char *user_file(const char *path, char *text, size_t size)
{
    const char *home = getenv("HOME");
    size_t length = home ? strlen(home) : 0;
    if (length > 1 && strncmp(path, home, length) == 0 && path[length] == '/')
        snprintf(text, size, "~%s", path + length);
    else
        snprintf(text, size, "%s", path);
    return text;
}

/* "mkdir -p -m 700 ~/.ssh && " if the file's directory does not exist, else "". `shown` is the
 * file's name for people. */
static void make_directory(char *text, size_t size, const char *path, const char *shown)
{
    char *directory = xstrdup(path), *end = strrchr(directory, '/');
    text[0] = '\0';
    if (end && end > directory) {
        *end = '\0';
        if (access(directory, F_OK) < 0 && errno == ENOENT)
            snprintf(text, size, "mkdir -p -m 700 %.*s && ", (int)(strrchr(shown, '/') - shown),
                     shown);
    }
    free(directory);
}

/* The command to type. With an alias, ssh-keyscan would write the wrong name. */
static void mend(char *text, size_t size, const struct ssh_host_key *key, const char *type)
{
    char file[200], first[240], port[24] = "";
    const char *path = kept_in(key->config);
    if (key->config->port != 22)
        snprintf(port, sizeof port, "-p %d ", key->config->port);
    if (!path) {
        snprintf(text, size, "set ssh's UserKnownHostsFile, which is %s",
                 key->config->nuser_files > 0 ? "/dev/null" : "none");
    } else if (key->config->host_key_alias) {
        snprintf(text, size, "connect once with: ssh %s", key->host);
    } else {
        user_file(path, file, sizeof file);
        make_directory(first, sizeof first, path, file);
        snprintf(text, size, "%sssh-keyscan %s-t %s %s >> %s", first, port, short_type(type),
                 key->config->host_name, file);
    }
}

/* The key may be known, but a file could not be read. */
static void say_unread(char *text, size_t size, const struct ssh_host_key *key)
{
    struct shown_key shown = show_key(key);
    snprintf(text, size,
             "unknown (a known_hosts file could not be read): %s %s; make that file readable first "
             "(--verbose names it)",
             shown.type, shown.fingerprint);
}

static void say_unknown(char *text, size_t size, const struct ssh_host_key *key,
                        const struct known_hosts_found *found)
{
    char line[600];
    struct shown_key shown = show_key(key);
    (void)found;
    if (key->incomplete) {
        say_unread(text, size, key);
        return;
    }
    mend(line, sizeof line, key, shown.type);
    snprintf(text, size, "unknown: %s %s; if it is right: %s (or %s)", shown.type,
             shown.fingerprint, line,
             key->config->host_key_alias || !kept_in(key->config)
                 ? "--ssh-accept-new"
                 : "connect once with ssh, or --ssh-accept-new");
}

/* As far as we know the key has not changed, but only keys of other types are known. */
static void say_other_type(char *text, size_t size, const struct ssh_host_key *key,
                           const struct known_hosts_found *found)
{
    char line[600];
    struct shown_key shown = show_key(key);
    mend(line, sizeof line, key, shown.type);
    snprintf(text, size, "not the one in %s:%d, which is %s%s: %s %s; if it is right: %s",
             found->path, found->line, found->type,
             strcmp(found->type, "ssh-rsa") == 0 ? " and of no use to libssh2" : "", shown.type,
             shown.fingerprint, line);
}

/* The command that removes the known key; `path` is the file that has it. */
static void ssh_host_key_forget(char *text, size_t size, const struct ssh_host_key *key,
                                const char *path)
{
    char shown[200], file[240] = "";
    int port;
    const char *name = ssh_host_key_name(key->config, &port);
    user_file(path, shown, sizeof shown);
    if (strcmp(shown, "~/.ssh/known_hosts") != 0)
        snprintf(file, sizeof file, " -f %s", shown);
    if (port == 22)
        snprintf(text, size, "ssh-keygen -R %s%s", name, file);
    else
        snprintf(text, size, "ssh-keygen -R '[%s]:%d'%s", name, port, file);
}

static void say_changed(char *text, size_t size, const struct ssh_host_key *key,
                        const struct known_hosts_found *found)
{
    struct shown_key shown = show_key(key);
    if (found->type && strcmp(found->type, shown.type) != 0) {
        say_other_type(text, size, key, found);
        return;
    }
    char line[600];
    ssh_host_key_forget(line, sizeof line, key, found->path);
    snprintf(
        text, size,
        "HAS CHANGED: %s %s is not the one in %s:%d. Somebody may be listening in, or the host "
        "is another one now; if that is right: %s",
        shown.type, shown.fingerprint, found->path, found->line, line);
}

static void say_revoked(char *text, size_t size, const struct ssh_host_key *key,
                        const struct known_hosts_found *found)
{
    struct shown_key shown = show_key(key);
    snprintf(text, size, "REVOKED: %s %s, by %s:%d", shown.type, shown.fingerprint, found->path,
             found->line);
}

static void say_needs_ca(char *text, size_t size, const struct ssh_host_key *key,
                         const struct known_hosts_found *found)
{
    (void)key;
    snprintf(text, size,
             "vouched for by a certificate authority only (%s:%d), which libssh2 cannot check; use "
             "--remote-shell 'ssh %%h'",
             found->path ? found->path : "known_hosts", found->line);
}

void ssh_host_key_refusal(char *text, size_t size, const struct ssh_host_key *key,
                          const struct known_hosts_found *found)
{
    static void (*const say[])(char *, size_t, const struct ssh_host_key *,
                               const struct known_hosts_found *) = {
        [KNOWN_HOSTS_MATCH] = NULL,
        [KNOWN_HOSTS_UNKNOWN] = say_unknown,
        [KNOWN_HOSTS_CHANGED] = say_changed,
        [KNOWN_HOSTS_REVOKED] = say_revoked,
        [KNOWN_HOSTS_NEEDS_CA] = say_needs_ca,
    };
    say[found->verdict](text, size, key, found);
}

void ssh_host_key_add(char *note, size_t size, const struct ssh_host_key *key)
{
    const struct ssh_config *config = key->config;
    struct shown_key shown = show_key(key);
    struct err err = { 0 };
    char file[200] = "a file";
    int port;
    const char *name = ssh_host_key_name(config, &port);
    if (config->nuser_files > 0) {
        user_file(config->known_hosts.items[0], file, sizeof file);
        known_hosts_add(config->known_hosts.items[0], name, port, config->hash_known_hosts,
                        key->blob, key->nbytes, &err);
    } else {
        fail(&err, HVD_ERR_INVALID, "UserKnownHostsFile is none");
    }
    snprintf(note, size, "host key %s %s accepted, %s %s%s%s", shown.type, shown.fingerprint,
             err.code == HVD_OK ? "added to" : "but not added to", file,
             err.code == HVD_OK ? "" : ": ", err.text);
}
