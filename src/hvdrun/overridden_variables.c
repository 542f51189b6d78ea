/* SPDX-License-Identifier: Apache-2.0 */
/* Noting variables that are overridden; see overridden_variables.h. A variable that has the same
 * value for the ranks as the option is not noted, nor is one that is set but empty. */
#include "src/hvdrun/overridden_variables.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/xalloc.h"
#include "launcher/hosts/host_environment.h"
#include "lib/base/env_names.h"
#include "src/hvdrun/launcher_choice.h"

#include <stdlib.h>
#include <string.h>

/* `value` is the one that counts; NULL: it is not known, and another one. */
static void note_overridden(struct string_list *notes, const char *variable, const char *value,
                            const char *by)
{
    const char *given = getenv(variable);
    struct shown shown, source;
    if (!given || !*given || (value && strcmp(given, value) == 0))
        return;
    string_list_take(notes,
                     xasprintf("$%s: '%s' gives way to %s", variable,
                               show_token(&shown, given, strlen(given)), show_source(&source, by)));
}

/* The option that names hosts, or NULL. */
static const char *names_hosts(const struct options_seen *seen)
{
    static const char *const names[] = { "--hosts", "--hostfile", "--host-discovery-script" };
    const char *given = NULL;
    for (size_t i = 0; !given && i < sizeof names / sizeof *names; i++)
        given = options_given(&hvdrun_option_table, seen, names[i]);
    return given;
}

void overridden_variables_note(struct hvdrun_options *options, const struct options_seen *seen)
{
    const char *allocation = host_environment_variable(getenv), *hosts = names_hosts(seen);
    for (int i = 0; i < hvdrun_option_table.count; i++) {
        const struct option_row *row = &hvdrun_option_table.rows[i];
        if (seen->name[i] && row->sets)
            note_overridden(&options->notes, row->sets,
                            string_list_variable(&options->set, row->sets), seen->name[i]);
        else if (seen->name[i] && row->variable)
            note_overridden(&options->notes, row->variable, NULL, seen->name[i]);
    }
    if (options->launcher != LAUNCHER_AUTO)
        note_overridden(&options->notes, ENV_REMOTE_SHELL, NULL,
                        options_given(&hvdrun_option_table, seen, "--launcher"));
    if (allocation && hosts)
        note_overridden(&options->notes, allocation + 1, NULL, hosts);
}
