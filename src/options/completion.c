/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for bash and zsh:
 *   the options as data of the shell, out of the table; then, the same for every table, a function
 *   that knows how a command line of ours is read.
 * Never fails. */
#include "src/options/completion.h"

#include "launcher/base/text_buffer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef void put_name_fn(struct text_buffer *script, const struct option_row *row,
                         const char *name);

/* Calls `put` for each name in the table. */
static void put_names(struct text_buffer *script, const struct option_table *table,
                      put_name_fn *put)
{
    for (int i = 0; i < table->count; i++)
        for (int j = 0; j < OPTION_NAMES && table->rows[i].names[j]; j++)
            put(script, &table->rows[i], table->rows[i].names[j]);
}

static const char *const offer_names[] = {
    [OFFER_NOTHING] = "nothing",     [OFFER_CHOICES] = "choices",
    [OFFER_FILES] = "files",         [OFFER_DIRECTORIES] = "directories",
    [OFFER_HOSTS] = "hosts",         [OFFER_INTERFACES] = "interfaces",
    [OFFER_VARIABLES] = "variables",
};

static void put_bash_name(struct text_buffer *script, const struct option_row *row,
                          const char *name)
{
    text_buffer_printf(script, " %s", name);
    (void)row;
}

/* "    --hosts) offer=hosts ;;" */
static void put_bash_value(struct text_buffer *script, const struct option_row *row,
                           const char *name)
{
    if (!row->metavar)
        return;
    text_buffer_printf(script, "    %s) offer=%s", name, offer_names[row->offer]);
    if (row->choices)
        text_buffer_printf(script, " choices='%s'", row->choices);
    text_buffer_put_string(script, " ;;\n");
}

static const char bash_start[] =
    "# Completion of hvdrun(1) for bash; made by hvdrun --completion bash.\n"
    "\n"
    "# What the value of an option may be: sets offer and choices; fails if it takes none.\n"
    "_hvdrun_value() {\n"
    "    choices=\n"
    "    case $1 in\n";

/* readline cuts words at "=" and ":" and replaces the last piece only. */
static const char bash_end[] =
    "    *) return 1 ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "# The words up to the cursor as hvdrun gets them.\n"
    "_hvdrun_words() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} rest i\n"
    "    words=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        rest=${line#\"${line%%[![:space:]]*}\"}\n"
    "        if ((i > 0)) && [[ $rest == \"$line\" && -n $rest ]]; then\n"
    "            words[${#words[@]}-1]+=${COMP_WORDS[i]}\n"
    "        else\n"
    "            words+=(\"${COMP_WORDS[i]}\")\n"
    "        fi\n"
    "        line=${rest#\"${COMP_WORDS[i]}\"}\n"
    "    done\n"
    "}\n"
    "\n"
    "# Completes $1, the end of the current word, with the words that compgen makes of the rest.\n"
    "_hvdrun_offer() {\n"
    "    local end=$1 last=${COMP_WORDS[COMP_CWORD]} candidate\n"
    "    shift\n"
    "    [[ $last == [=:] ]] && last=\n"
    "    last=${last%\"$end\"}\n"
    "    while IFS= read -r candidate; do\n"
    "        COMPREPLY+=(\"$last$candidate\")\n"
    "    done < <(compgen \"$@\" -- \"$end\")\n"
    "}\n"
    "\n"
    "_hvdrun_complete_value() {\n"
    "    case $offer in\n"
    "    choices) _hvdrun_offer \"$1\" -W \"$choices\" ;;\n"
    "    files) compopt -o filenames 2>/dev/null; _hvdrun_offer \"$1\" -f ;;\n"
    "    directories) compopt -o filenames 2>/dev/null; _hvdrun_offer \"$1\" -d ;;\n"
    "    hosts) _hvdrun_offer \"${1##*,}\" -A hostname ;;\n"
    "    interfaces)\n"
    "        _hvdrun_offer \"${1##*[,=]}\" -W "
    "\"$(sed -n 's/^ *\\([^:]*\\):.*/\\1/p' /proc/net/dev 2>/dev/null)\" ;;\n"
    "    variables) _hvdrun_offer \"$1\" -e ;;\n"
    "    esac\n"
    "    case $offer in hosts | interfaces | variables) compopt -o nospace 2>/dev/null ;; esac\n"
    "}\n"
    "\n"
    "_hvdrun() {\n"
    "    local words offer choices current i\n"
    "    COMPREPLY=()\n"
    "    _hvdrun_words\n"
    "    current=${words[${#words[@]}-1]}\n"
    "    for ((i = 1; i < ${#words[@]} - 1; i++)); do\n"
    "        [[ ${words[i]} == -?* && ${words[i]} != -- ]] || break\n"
    "        _hvdrun_value \"${words[i]}\" && ((i++))\n"
    "    done\n"
    "    if ((i == ${#words[@]})); then\n"
    "        _hvdrun_complete_value \"$current\"\n"
    "    elif ((i < ${#words[@]} - 1)); then\n"
    "        [[ ${words[i]} == -- ]] && ((i++))\n"
    "        _hvdrun_command \"$i\"\n"
    "    elif [[ $current == -*=* ]]; then\n"
    "        _hvdrun_value \"${current%%=*}\" && _hvdrun_complete_value \"${current#*=}\"\n"
    "    elif [[ $current == -* ]]; then\n"
    "        _hvdrun_offer \"$current\" -W \"$_hvdrun_options\"\n"
    "    else\n"
    "        _hvdrun_command \"$i\"\n"
    "    fi\n"
    "}\n"
    "\n"
    "# Completes the command that begins at word $1, as if it stood alone where that can be done.\n"
    "_hvdrun_command() {\n"
    "    local at=$1 first\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    if ((at == ${#words[@]} - 1)); then\n"
    "        _hvdrun_offer \"$current\" -c\n"
    "        [[ $current == */* || ${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=() && "
    "_hvdrun_offer \"$current\" -f\n"
    "        return\n"
    "    fi\n"
    "    for ((first = 1; first < COMP_CWORD; first++)); do\n"
    "        [[ ${COMP_WORDS[first]} == \"${words[at]}\" ]] && break\n"
    "    done\n"
    "    if declare -F _command_offset >/dev/null && ((first < COMP_CWORD)); then\n"
    "        _command_offset \"$first\"\n"
    "    else\n"
    "        _hvdrun_offer \"$current\" -f\n"
    "    fi\n"
    "}\n"
    "\n"
    "complete -F _hvdrun hvdrun\n";

static char *bash_script(const struct option_table *table)
{
    struct text_buffer script = { 0 };
    text_buffer_put_string(&script, bash_start);
    put_names(&script, table, put_bash_value);
    text_buffer_put_string(&script, bash_end);
    text_buffer_put_string(&script, "_hvdrun_options='");
    put_names(&script, table, put_bash_name);
    text_buffer_put_string(&script, "'\n");
    return text_buffer_take(&script);
}

/* Text inside '...:...[...]' of zsh. */
static void put_escaped(struct text_buffer *script, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            text_buffer_put_string(script, "'\\'");
        else if (strchr("[]:\\", *text))
            text_buffer_put_string(script, "\\");
        text_buffer_put(script, text, 1);
    }
}

static const char *const zsh_actions[] = {
    [OFFER_NOTHING] = " ",
    [OFFER_CHOICES] = NULL,
    [OFFER_FILES] = "_files",
    [OFFER_DIRECTORIES] = "_files -/",
    [OFFER_HOSTS] = "_sequence _hosts",
    [OFFER_INTERFACES] = "_sequence _net_interfaces",
    [OFFER_VARIABLES] = "_parameters -g \"*export*\"",
};

static bool is_letter_option(const char *name)
{
    return strlen(name) == 2;
}

/* "  '*--hosts=[help]:HOST:_hosts' \": a value behind "=" or in the next word. */
static void put_zsh_name(struct text_buffer *script, const struct option_row *row, const char *name)
{
    bool again = row->kind == OPTION_LIST;
    text_buffer_printf(script, "    '%s%s%s[", again ? "*" : "", name,
                       !row->metavar            ? ""
                       : is_letter_option(name) ? "+"
                                                : "=");
    char *text = option_explain(row);
    put_escaped(script, text);
    free(text);
    text_buffer_put_string(script, "]");
    if (row->metavar) {
        text_buffer_put_string(script, ":");
        put_escaped(script, row->metavar);
        text_buffer_put_string(script, ":");
        if (row->offer == OFFER_CHOICES)
            text_buffer_printf(script, "(%s)", row->choices);
        else
            text_buffer_put_string(script, zsh_actions[row->offer]);
    }
    text_buffer_put_string(script, "' \\\n");
}

static char *zsh_script(const struct option_table *table)
{
    struct text_buffer script = { 0 };
    text_buffer_put_string(&script,
                           "#compdef hvdrun\n"
                           "# Completion of hvdrun(1) for zsh; made by hvdrun --completion zsh.\n"
                           "\n"
                           "_arguments -A '-*' \\\n");
    put_names(&script, table, put_zsh_name);
    text_buffer_put_string(&script, "    '(-)1:command: _command_names -e' \\\n"
                                    "    '*::arguments: _normal'\n");
    return text_buffer_take(&script);
}

char *completion_script(const struct option_table *table, const char *shell)
{
    return strcasecmp(shell, "zsh") == 0 ? zsh_script(table) : bash_script(table);
}
