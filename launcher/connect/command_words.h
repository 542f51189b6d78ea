/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a command that reaches a host, as --remote-shell 'ssh -q %h' gives it: split at
 * blanks, 'quoted' and "quoted" parts kept together, no other shell syntax. Pure.
 *
 * %h is the host, %u the user or nothing, %% a percent. Without %h the host follows the words. A
 * named user becomes user@host there, unless the command has %u. */
#ifndef LAUNCHER_CONNECT_COMMAND_WORDS_H
#define LAUNCHER_CONNECT_COMMAND_WORDS_H

#include "launcher/base/string_list.h"
#include "lib/base/status.h"

/* Fills `words`, which must be all zero before; the caller releases it in either case. `user` may
 * be NULL. `source` is the origin of the command, for messages. HVD_ERR_INVALID for a quote that is
 * not closed, another letter behind %, and an empty command. The host does not matter for failures,
 * so that an option can be checked with any host. */
int command_words_make(struct string_list *words, const char *command, const char *source,
                       const char *host, const char *user, struct err *err);

#endif
