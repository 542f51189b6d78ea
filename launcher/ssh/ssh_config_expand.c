/* SPDX-License-Identifier: Apache-2.0 */
/* Expanding a path:
 *   ~ or ~user in front, then from left to right %x and ${NAME}; the result is not expanded again.
 * Nothing fails: a word that stands for nothing here stays as it is, and names a file that does not
 * exist. As in OpenSSH, home comes from the user database, not from $HOME. */
#include "launcher/ssh/ssh_config_expand.h"

#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PASSWD_BYTES = 1 << 16, HOST_NAME_BYTES = 256 };

/* A field of the user database, owned by the caller; `name` NULL is this user. NULL if there is no
 * such user. */
static char *ssh_config_expand_look_up(const char *name, char *(*field)(const struct passwd *entry))
{
    struct passwd entry, *found = NULL;
    char *bytes = xmalloc(PASSWD_BYTES);
    if (name)
        getpwnam_r(name, &entry, bytes, PASSWD_BYTES, &found);
    else
        getpwuid_r(getuid(), &entry, bytes, PASSWD_BYTES, &found);
    char *text = found ? xstrdup(field(found)) : NULL;
    free(bytes);
    return text;
}

static char *ssh_config_expand_name_of(const struct passwd *entry)
{
    return entry->pw_name;
}

static char *home_of(const struct passwd *entry)
{
    return entry->pw_dir;
}

/* Falls back to the environment, for a container without an entry for this user. */
static char *look_up_self(char *(*field)(const struct passwd *entry), const char *variable)
{
    char *text = ssh_config_expand_look_up(NULL, field);
    const char *instead = getenv(variable);
    if (text)
        return text;
    return instead && *instead ? xstrdup(instead) : NULL;
}

char *ssh_config_local_user(void)
{
    char *user = look_up_self(ssh_config_expand_name_of, "USER");
    return user ? user : xasprintf("%u", (unsigned)getuid());
}

char *ssh_config_home(void)
{
    char *home = look_up_self(home_of, "HOME");
    return home ? home : xstrdup("/");
}

static char *own_host_name(char end)
{
    char name[HOST_NAME_BYTES] = "";
    const char ends[] = { end, '\0' };
    if (gethostname(name, sizeof name - 1) < 0)
        return NULL;
    return xstrndup(name, strcspn(name, ends));
}

/* The value of %x, owned by the caller; or NULL. */
static char *word_of(char key, const struct ssh_words *words)
{
    switch (key) {
    case '%':
        return xstrdup("%");
    case 'd':
        return ssh_config_home();
    case 'h':
        return xstrdup(words->host_name);
    case 'i':
        return xasprintf("%u", (unsigned)getuid());
    case 'k':
        return xstrdup(words->alias ? words->alias : words->host);
    case 'L':
        return own_host_name('.');
    case 'l':
        return own_host_name('\0');
    case 'n':
        return xstrdup(words->host);
    case 'p':
        return xasprintf("%d", words->port);
    case 'r':
        return xstrdup(words->user);
    case 'u':
        return ssh_config_local_user();
    default:
        return NULL;
    }
}

static void put_owned(struct text_buffer *out, char *text)
{
    text_buffer_put_string(out, text);
    free(text);
}

/* Removes and expands "~" or "~user" at the front, if followed by "/" or nothing. */
static void expand_tilde(struct text_buffer *out, struct slice *text)
{
    if (text->length == 0 || *text->at != '~')
        return;
    const char *slash = memchr(text->at, '/', text->length);
    struct slice user = slice_between(text->at + 1, slash ? slash : slice_end(*text));
    char *name = xstrndup(user.at, user.length);
    char *home = *name ? ssh_config_expand_look_up(name, home_of) : ssh_config_home();
    free(name);
    if (!home)
        return;
    put_owned(out, home);
    *text = slice_between(slice_end(user), slice_end(*text));
}

/* The length of the expanded "%x" or "${NAME}"; 0 for none. */
static size_t expand_word(struct text_buffer *out, struct slice text, const struct ssh_words *words)
{
    char *word = NULL;
    size_t length = 2;
    if (text.length >= 2 && *text.at == '%')
        word = word_of(text.at[1], words);
    if (text.length >= 3 && memcmp(text.at, "${", 2) == 0) {
        const char *brace = memchr(text.at, '}', text.length);
        char *name = brace ? xstrndup(text.at + 2, (size_t)(brace - text.at) - 2) : NULL;
        word = name ? xstrdup(getenv(name)) : NULL;
        length = brace ? (size_t)(brace + 1 - text.at) : 0;
        free(name);
    }
    if (!word)
        return 0;
    put_owned(out, word);
    return length;
}

char *ssh_config_expand(struct slice text, const struct ssh_words *words)
{
    struct text_buffer out = { 0 };
    expand_tilde(&out, &text);
    while (text.length > 0) {
        size_t length = expand_word(&out, text, words);
        if (length == 0)
            text_buffer_put(&out, text.at, length = 1);
        text = slice_between(text.at + length, slice_end(text));
    }
    return text_buffer_take(&out);
}
