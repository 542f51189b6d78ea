/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a command for a host; see command_words.h. */
#include "launcher/connect/command_words.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/slice.h"
#include "launcher/base/text_buffer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct command {
    const char *text, *source;
    const char *host, *user; /* `user` is "" if the target names none */
    bool has_host, has_user; /* the command has %h, %u */
};

static int command_words_refuse(const struct command *command, const char *problem, struct err *err)
{
    struct shown shown;
    return bad_input(err, command->source, "%s: '%s'", problem,
                     show_token(&shown, command->text, strlen(command->text)));
}

static void command_words_put_host(const struct command *command, struct text_buffer *word)
{
    if (*command->user && !command->has_user)
        text_buffer_printf(word, "%s@", command->user);
    text_buffer_put_string(word, command->host);
}

/* Appends the value of a letter behind a percent. */
static int put_value(const struct command *command, char letter, struct text_buffer *word,
                     struct err *err)
{
    if (letter == 'h')
        command_words_put_host(command, word);
    else if (letter == 'u')
        text_buffer_put_string(word, command->user);
    else if (letter == '%')
        text_buffer_put_string(word, "%");
    else
        return command_words_refuse(command, "expected %h, %u or %% where a percent is", err);
    return HVD_OK;
}

/* Reads one word. `*at` is its first byte, and afterwards the byte behind the word. */
static int read_word(const struct command *command, const char **at, struct text_buffer *word,
                     struct err *err)
{
    char quote = '\0';
    for (; **at && (quote || !is_blank(**at)); ++*at) {
        char byte = **at;
        if (quote ? byte == quote : byte == '\'' || byte == '"') {
            quote = quote ? '\0' : byte;
        } else if (byte == '%') {
            int rc = put_value(command, *++*at, word, err);
            if (rc < 0)
                return rc;
        } else {
            text_buffer_put(word, &byte, 1);
        }
    }
    return quote ? command_words_refuse(command, "a quote is not closed", err) : HVD_OK;
}

/* Has the text %h or %u, not counting those inside %%? */
static bool has_letter(const char *text, char letter)
{
    for (; (text = strchr(text, '%')) && text[1]; text += 2)
        if (text[1] == letter)
            return true;
    return false;
}

static int read_words(const struct command *command, struct string_list *words, struct err *err)
{
    const char *at = command->text;
    for (;;) {
        while (is_blank(*at))
            at++;
        if (!*at)
            return HVD_OK;
        struct text_buffer word;
        text_buffer_init(&word);
        int rc = read_word(command, &at, &word, err);
        string_list_take(words, text_buffer_take(&word));
        if (rc < 0)
            return rc;
    }
}

int command_words_make(struct string_list *words, const char *command_text, const char *source,
                       const char *host, const char *user, struct err *err)
{
    struct command command = { .text = command_text,
                               .source = source,
                               .host = host,
                               .user = user ? user : "",
                               .has_host = has_letter(command_text, 'h'),
                               .has_user = has_letter(command_text, 'u') };
    int rc = read_words(&command, words, err);
    if (rc < 0)
        return rc;
    if (words->count == 0 || !*words->items[0])
        return command_words_refuse(&command, "expected a command that reaches a host", err);
    if (!command.has_host) {
        struct text_buffer word;
        text_buffer_init(&word);
        command_words_put_host(&command, &word);
        string_list_take(words, text_buffer_take(&word));
    }
    return HVD_OK;
}
