/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a refused host key, after "HOST: host key: ": what is wrong with the key, and the
 * command that mends it. A key is unknown, has changed, has another type than the known one, is
 * revoked, or is vouched for by a certificate authority only. A known_hosts file that could not be
 * read is named, because it may have the key. */
#include "launcher/ssh/ssh_host_key_impl.h"

#include "launcher/base/xalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
        ssh_host_key_user_file(path, file, sizeof file);
        make_directory(first, sizeof first, path, file);
        snprintf(text, size, "%sssh-keyscan %s-t %s %s >> %s", first, port, short_type(type),
                 key->config->host_name, file);
    }
}

static void say_unknown(char *text, size_t size, const struct ssh_host_key *key,
                        const struct known_hosts_found *found)
{
    char line[600];
    struct shown_key shown = ssh_host_key_show(key);
    (void)found;
    if (key->unread) {
        snprintf(text, size, "not in the files that can be read: %s %s", shown.type,
                 shown.fingerprint);
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
    struct shown_key shown = ssh_host_key_show(key);
    mend(line, sizeof line, key, shown.type);
    snprintf(text, size, "not the one in %s:%d, which is %s: %s %s; if it is right: %s",
             found->path, found->line, found->type, shown.type, shown.fingerprint, line);
}

/* The command that removes the known key; `path` is the file that has it. */
static void ssh_host_key_refusal_forget(char *text, size_t size, const struct ssh_host_key *key,
                                        const char *path)
{
    char shown[200], file[240] = "";
    int port;
    const char *name = ssh_host_key_name(key->config, &port);
    ssh_host_key_user_file(path, shown, sizeof shown);
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
    struct shown_key shown = ssh_host_key_show(key);
    if (found->type && strcmp(found->type, shown.type) != 0) {
        say_other_type(text, size, key, found);
        return;
    }
    char line[600];
    ssh_host_key_refusal_forget(line, sizeof line, key, found->path);
    snprintf(
        text, size,
        "HAS CHANGED: %s %s is not the one in %s:%d. Somebody may be listening in, or the host "
        "is another one now; if that is right: %s",
        shown.type, shown.fingerprint, found->path, found->line, line);
}

static void say_revoked(char *text, size_t size, const struct ssh_host_key *key,
                        const struct known_hosts_found *found)
{
    struct shown_key shown = ssh_host_key_show(key);
    snprintf(text, size, "REVOKED: %s %s, by %s:%d", shown.type, shown.fingerprint, found->path,
             found->line);
}

static void say_needs_ca(char *text, size_t size, const struct ssh_host_key *key,
                         const struct known_hosts_found *found)
{
    (void)key;
    snprintf(text, size,
             "vouched for by a certificate authority only (%s:%d), which libssh2 cannot check",
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
    size_t length = strlen(text);
    if (key->unread && found->verdict != KNOWN_HOSTS_REVOKED)
        snprintf(text + length, size - length, "; %s", key->unread);
}

void ssh_host_key_say_unsupported(char *text, size_t size, const char *type)
{
    snprintf(text, size, "known as %s, which libssh2 cannot check", type);
}
