/* SPDX-License-Identifier: Apache-2.0 */
/* Quoting words for display; see shell_words.h. */
#include "launcher/base/shell_words.h"

#include "launcher/base/text_buffer.h"

#include <string.h>

static const char plain[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

/* 'don'\''t' */
static void put_quoted(struct text_buffer *line, const char *word)
{
    text_buffer_put(line, "'", 1);
    while (*word && line->length <= SHELL_WORDS_MAX) {
        size_t length = strcspn(word, "'");
        text_buffer_put(line, word, length);
        word += length;
        if (*word) {
            text_buffer_put_string(line, "'\\''");
            word++;
        }
    }
    text_buffer_put(line, "'", 1);
}

static void put_word(struct text_buffer *line, const char *word)
{
    if (*word && word[strspn(word, plain)] == '\0')
        text_buffer_put_string(line, word);
    else
        put_quoted(line, word);
}

char *shell_words(char *const *words)
{
    struct text_buffer line = { 0 };
    for (int i = 0; words[i] && line.length <= SHELL_WORDS_MAX; i++) {
        if (i > 0)
            text_buffer_put(&line, " ", 1);
        put_word(&line, words[i]);
    }
    char *text = text_buffer_take(&line);
    if (strlen(text) > SHELL_WORDS_MAX)
        memcpy(text + SHELL_WORDS_MAX - 3, "...", 4);
    return text;
}
