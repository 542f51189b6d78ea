/* SPDX-License-Identifier: Apache-2.0 */
/* Checking the dashes at the beginning of a word; see option_dash.h. */
#include "src/options/option_dash.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/text_buffer.h"

#include <stdlib.h>
#include <string.h>

/* The dashes in UTF-8, and the ASCII text for each: text processors make an em dash of two '-'. */
static const struct dash {
    const char *bytes, *meant, *name;
} dashes[] = {
    { "-", "-", NULL },
    { "\u2010", "-", "a hyphen (U+2010)" },
    { "\u2011", "-", "a non-breaking hyphen (U+2011)" },
    { "\u2012", "-", "a figure dash (U+2012)" },
    { "\u2013", "-", "an en dash (U+2013)" },
    { "\u2014", "--", "an em dash (U+2014)" },
    { "\u2015", "--", "a horizontal bar (U+2015)" },
    { "\u2212", "-", "a minus sign (U+2212)" },
    { "\ufe58", "--", "a small em dash (U+FE58)" },
    { "\ufe63", "-", "a small hyphen (U+FE63)" },
    { "\uff0d", "-", "a full-width hyphen (U+FF0D)" },
};

/* The dash at the beginning of a text, or NULL. */
static const struct dash *dash_at(const char *text)
{
    for (size_t i = 0; i < sizeof dashes / sizeof *dashes; i++)
        if (strncmp(text, dashes[i].bytes, strlen(dashes[i].bytes)) == 0)
            return &dashes[i];
    return NULL;
}

int option_dash_check(const char *word, struct err *err)
{
    struct text_buffer meant = { 0 };
    const struct dash *dash, *other = NULL;
    for (; (dash = dash_at(word)); word += strlen(dash->bytes)) {
        text_buffer_put_string(&meant, dash->meant);
        other = other || !dash->name ? other : dash;
    }
    text_buffer_put_string(&meant, word);
    char *text = text_buffer_take(&meant);
    struct shown shown;
    int rc = HVD_OK;
    if (other && *word)
        rc = bad_input(err, NULL, "'%s' is written with %s instead of '%s'",
                       show_token(&shown, text, strlen(text)), other->name, other->meant);
    free(text);
    return rc;
}
