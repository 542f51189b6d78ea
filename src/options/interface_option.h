/* SPDX-License-Identifier: Apache-2.0 */
/* The value of --network-interfaces:
 *
 *   value := item [ "," item ]...      item := [ HOST "=" ] ( NAME | ADDRESS | ADDRESS "/" BITS )
 *
 * An item with a host counts on that host. An item without a host counts on all hosts that have no
 * item of their own. The host itself finds the interfaces that match an item
 * (lib/base/interfaces.h). */
#ifndef SRC_OPTIONS_INTERFACE_OPTION_H
#define SRC_OPTIONS_INTERFACE_OPTION_H

#include "launcher/base/string_list.h"
#include "lib/base/status.h"

/* An option_check_fn for one value. */
int check_interfaces(const char *value, const char *source, struct err *err);

/* The choice for a host out of all values: its own items, else those for all, with commas between;
 * NULL if there are none. The caller frees it. `host` as in host_list.h, without brackets. */
char *interface_option_for(const struct string_list *values, const char *host);

/* Appends the named hosts, without brackets, so that the caller can check that they exist. */
void interface_option_hosts(struct string_list *hosts, const struct string_list *values);

#endif
