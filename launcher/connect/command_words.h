/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a command that reaches a host, as --remote-shell 'ssh -q %h' gives it: split at
 * blanks, 'quoted' and "quoted" parts kept together, nothing else as a shell would have it. Pure.
 *
 * %h is the host, %u the user or nothing, %% a percent. Without %h the host follows the words. A user
 * that is named becomes user@host there, unless the command has %u. */
#ifndef LAUNCHER_CONNECT_COMMAND_WORDS_H
#define LAUNCHER_CONNECT_COMMAND_WORDS_H

#include "launcher/base/string_list.h"
#include "lib/base/status.h"

/* Fills `words`, to begin with all zero, to be released in either case. `user` may be NULL. `source`
 * is what the command was given by, for messages. HVD_ERR_INVALID for a quote that is not closed,
 * another letter behind %, and no word at all; whatever the host is, so that an option can be
 * checked with any. */
int command_words_make(struct string_list *words, const char *command, const char *source,
                       const char *host, const char *user, struct err *err);

#endif
