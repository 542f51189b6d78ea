/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing the output of `ssh -G`, "keyword value" in each line:
 *   go through the lines, set what the table of keywords knows, then expand the files' names.
 * Fails when a known keyword has a malformed value, or there is no host name: then the text is not
 * the output of ssh -G. */
#include "launcher/ssh/ssh_config.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/number.h"
#include "launcher/base/xalloc.h"
#include "launcher/ssh/ssh_config_expand.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { SSH_PORT = 22 };

/* The state while lines are read: the files of each keyword, unexpanded. */
struct reading {
    struct ssh_config config;
    char *host; /* as the user wrote it */
    struct string_list user_files, global_files, identity_files, certificates;
};

/* ---- values ---- */

static bool ssh_config_is_word(struct slice text, const char *word)
{
    return text.length == strlen(word) && strncasecmp(text.at, word, text.length) == 0;
}

static bool set_text(char **field, struct slice value)
{
    if (value.length == 0)
        return false;
    free(*field);
    *field = xstrndup(value.at, value.length);
    return true;
}

struct choice {
    const char *word;
    int value;
};

/* `choices` end with a NULL. */
static bool choose(int *field, struct slice value, const struct choice *choices)
{
    for (; choices->word; choices++) {
        if (!ssh_config_is_word(value, choices->word))
            continue;
        *field = choices->value;
        return true;
    }
    return false;
}

static bool set_flag(bool *field, struct slice value)
{
    static const struct choice flags[] = {
        { "yes", 1 }, { "true", 1 }, { "no", 0 }, { "false", 0 }, { NULL, 0 }
    };
    int flag = 0;
    if (!choose(&flag, value, flags))
        return false;
    *field = flag;
    return true;
}

static bool add_file(struct string_list *files, struct slice value)
{
    if (value.length > 0 && !ssh_config_is_word(value, "none"))
        string_list_add(files, value.at, value.length);
    return value.length > 0;
}

/* Names with blanks in them cannot be told from several names. */
static bool add_files(struct string_list *files, struct slice value)
{
    while (value.length > 0) {
        size_t length = 0;
        while (length < value.length && !is_blank(value.at[length]))
            length++;
        add_file(files, (struct slice){ value.at, length });
        value = slice_trim(slice_between(value.at + length, slice_end(value)));
    }
    return true;
}

/* "ProxyJump bastion": the configuration line, for people. */
static bool set_line(char **field, const char *keyword, struct slice value)
{
    if (value.length == 0 || ssh_config_is_word(value, "none"))
        return true;
    free(*field);
    *field = xasprintf("%s %.*s", keyword, (int)value.length, value.at);
    return true;
}

/* ---- keywords ---- */

static bool on_host(struct reading *reading, struct slice value)
{
    return set_text(&reading->host, value);
}

static bool on_hostname(struct reading *reading, struct slice value)
{
    return set_text(&reading->config.host_name, value);
}

static bool on_user(struct reading *reading, struct slice value)
{
    return set_text(&reading->config.user, value);
}

static bool on_port(struct reading *reading, struct slice value)
{
    return number_parse(&reading->config.port, value.at, value.length, 1, 65535) == NUMBER_OK;
}

static bool on_alias(struct reading *reading, struct slice value)
{
    return set_text(&reading->config.host_key_alias, value);
}

static bool on_identity_file(struct reading *reading, struct slice value)
{
    return add_file(&reading->identity_files, value);
}

static bool on_certificate_file(struct reading *reading, struct slice value)
{
    return add_file(&reading->certificates, value);
}

static bool on_user_known_hosts(struct reading *reading, struct slice value)
{
    return add_files(&reading->user_files, value);
}

static bool on_global_known_hosts(struct reading *reading, struct slice value)
{
    return add_files(&reading->global_files, value);
}

static bool on_strict(struct reading *reading, struct slice value)
{
    static const struct choice choices[] = {
        { "ask", STRICT_YES },
        { "yes", STRICT_YES },
        { "true", STRICT_YES },
        { "no", STRICT_NO },
        { "off", STRICT_NO },
        { "false", STRICT_NO },
        { "accept-new", STRICT_ACCEPT_NEW },
        { NULL, 0 },
    };
    int strict = STRICT_YES;
    bool known = choose(&strict, value, choices);
    reading->config.strict = (enum strict_host_key)strict;
    return known;
}

static bool on_hash(struct reading *reading, struct slice value)
{
    return set_flag(&reading->config.hash_known_hosts, value);
}

static bool on_identities_only(struct reading *reading, struct slice value)
{
    return set_flag(&reading->config.identities_only, value);
}

static bool on_agent(struct reading *reading, struct slice value)
{
    return set_text(&reading->config.identity_agent, value);
}

static bool on_proxy_jump(struct reading *reading, struct slice value)
{
    return set_line(&reading->config.proxy, "ProxyJump", value);
}

static bool on_proxy_command(struct reading *reading, struct slice value)
{
    return set_line(&reading->config.proxy, "ProxyCommand", value);
}

static bool on_revoked_host_keys(struct reading *reading, struct slice value)
{
    return set_line(&reading->config.ssh_only, "RevokedHostKeys", value);
}

static bool on_known_hosts_command(struct reading *reading, struct slice value)
{
    return set_line(&reading->config.ssh_only, "KnownHostsCommand", value);
}

static bool on_bind_address(struct reading *reading, struct slice value)
{
    return set_line(&reading->config.ssh_only, "BindAddress", value);
}

static bool on_bind_interface(struct reading *reading, struct slice value)
{
    return set_line(&reading->config.ssh_only, "BindInterface", value);
}

static bool on_family(struct reading *reading, struct slice value)
{
    static const struct choice choices[] = {
        { "any", AF_UNSPEC }, { "inet", AF_INET }, { "inet6", AF_INET6 }, { NULL, 0 }
    };
    return choose(&reading->config.family, value, choices);
}

static bool on_session_type(struct reading *reading, struct slice value)
{
    (void)value;
    reading->config.has_session_type = true;
    return true;
}

static const struct keyword {
    const char *name;
    bool (*set)(struct reading *reading, struct slice value); /* false: malformed value */
} keywords[] = {
    { "host", on_host },
    { "hostname", on_hostname },
    { "user", on_user },
    { "port", on_port },
    { "hostkeyalias", on_alias },
    { "identityfile", on_identity_file },
    { "certificatefile", on_certificate_file },
    { "userknownhostsfile", on_user_known_hosts },
    { "globalknownhostsfile", on_global_known_hosts },
    { "stricthostkeychecking", on_strict },
    { "hashknownhosts", on_hash },
    { "identitiesonly", on_identities_only },
    { "identityagent", on_agent },
    { "proxyjump", on_proxy_jump },
    { "proxycommand", on_proxy_command },
    { "revokedhostkeys", on_revoked_host_keys },
    { "knownhostscommand", on_known_hosts_command },
    { "bindaddress", on_bind_address },
    { "bindinterface", on_bind_interface },
    { "addressfamily", on_family },
    { "sessiontype", on_session_type },
};

/* ---- lines ---- */

static bool ssh_config_read_line(struct reading *reading, struct slice line)
{
    size_t length = 0;
    while (length < line.length && !is_blank(line.at[length]))
        length++;
    struct slice word = { line.at, length };
    struct slice value = slice_trim(slice_between(slice_end(word), slice_end(line)));
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (ssh_config_is_word(word, keywords[i].name))
            return !memchr(line.at, '\0', line.length) && keywords[i].set(reading, value);
    return true;
}

static int read_lines(struct reading *reading, struct slice rest, struct err *err)
{
    struct shown shown;
    for (int number = 1; rest.length > 0; number++) {
        const char *end = memchr(rest.at, '\n', rest.length);
        struct slice line = slice_trim(slice_between(rest.at, end ? end : slice_end(rest)));
        rest = slice_between(end ? end + 1 : slice_end(rest), slice_end(rest));
        if (!ssh_config_read_line(reading, line))
            return fail(err, HVD_ERR_PROTOCOL, "line %d of what ssh -G printed: '%s'", number,
                        show_token(&shown, line.at, line.length));
    }
    if (!reading->config.host_name)
        return fail(err, HVD_ERR_PROTOCOL, "ssh -G has printed no host name");
    return HVD_OK;
}

/* ---- from the lines to the configuration ---- */

static void expand_files(struct string_list *to, const struct string_list *from,
                         const struct ssh_words *words)
{
    for (size_t i = 0; i < from->count; i++)
        string_list_take(
            to, ssh_config_expand((struct slice){ from->items[i], strlen(from->items[i]) }, words));
}

/* "SSH_AUTH_SOCK", "none", "$NAME", or a path. */
static void choose_agent(struct ssh_config *config, const struct ssh_words *words)
{
    char *written = config->identity_agent;
    if (!written)
        return;
    const char *variable = *written == '$' && written[1] != '{' ? getenv(written + 1) : NULL;
    if (strcmp(written, "SSH_AUTH_SOCK") == 0)
        config->identity_agent = NULL;
    else if (strcasecmp(written, "none") == 0)
        config->identity_agent = xstrdup("");
    else if (*written == '$' && written[1] != '{')
        config->identity_agent = xstrdup(variable ? variable : "");
    else
        config->identity_agent =
            ssh_config_expand((struct slice){ written, strlen(written) }, words);
    free(written);
}

static void finish_reading(struct reading *reading)
{
    struct ssh_config *config = &reading->config;
    if (!config->user)
        config->user = ssh_config_local_user();
    struct ssh_words words = {
        .host = reading->host ? reading->host : config->host_name,
        .host_name = config->host_name,
        .alias = config->host_key_alias,
        .user = config->user,
        .port = config->port,
    };
    expand_files(&config->identity_files, &reading->identity_files, &words);
    expand_files(&config->certificates, &reading->certificates, &words);
    expand_files(&config->known_hosts, &reading->user_files, &words);
    config->nuser_files = config->known_hosts.count;
    expand_files(&config->known_hosts, &reading->global_files, &words);
    choose_agent(config, &words);
}

static void fini_reading(struct reading *reading)
{
    free(reading->host);
    string_list_fini(&reading->user_files);
    string_list_fini(&reading->global_files);
    string_list_fini(&reading->identity_files);
    string_list_fini(&reading->certificates);
}

int ssh_config_parse(struct ssh_config *config, const char *text, size_t length, struct err *err)
{
    struct reading reading = { .config = { .port = SSH_PORT, .strict = STRICT_YES } };
    int rc = read_lines(&reading, (struct slice){ text, length }, err);
    if (rc == HVD_OK)
        finish_reading(&reading);
    else
        ssh_config_fini(&reading.config);
    fini_reading(&reading);
    *config = reading.config;
    return rc;
}

void ssh_config_default(struct ssh_config *config, const char *host, const char *user)
{
    static const char text[] =
        "identityfile ~/.ssh/id_rsa\nidentityfile ~/.ssh/id_ecdsa\n"
        "identityfile ~/.ssh/id_ed25519\n"
        "userknownhostsfile ~/.ssh/known_hosts ~/.ssh/known_hosts2\n"
        "globalknownhostsfile /etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2\n";
    struct reading reading = { .config = { .port = SSH_PORT, .strict = STRICT_YES } };
    reading.config.host_name = xstrdup(host);
    reading.config.user = xstrdup(user);
    read_lines(&reading, (struct slice){ text, sizeof text - 1 }, NULL);
    finish_reading(&reading);
    fini_reading(&reading);
    *config = reading.config;
}

void ssh_config_fini(struct ssh_config *config)
{
    free(config->host_name);
    free(config->user);
    free(config->host_key_alias);
    free(config->identity_agent);
    free(config->proxy);
    free(config->ssh_only);
    free(config->unread);
    string_list_fini(&config->identity_files);
    string_list_fini(&config->certificates);
    string_list_fini(&config->known_hosts);
    *config = (struct ssh_config){ 0 };
}
