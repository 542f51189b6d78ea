/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of one host, so narrow that no name can turn into an option or a shell command later:
 *
 *   host  := dns-name | ipv4 | "[" ipv6 [ "%" zone ] "]"
 *   label := [A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?      at most 253 bytes in all
 *   user  := [A-Za-z0-9._-]{1,64}, no "-" in front
 *   spec  := [ user "@" ] host [ ":" slots ] */
#ifndef LAUNCHER_HOSTS_HOST_SPEC_H
#define LAUNCHER_HOSTS_HOST_SPEC_H

#include "launcher/base/slice.h"

#include <stdbool.h>

struct host_spec {
    struct slice user; /* empty if there is none */
    struct slice name; /* without brackets */
    int slots;         /* 0 if not given */
};

/* A mistake and its position. */
struct host_fault {
    char problem[80];
    struct slice token; /* to be quoted */
    const char *hint;   /* or NULL */
    const char *at;     /* the first wrong byte, inside the text */
};

/* Parses all of `text`, which has no blanks around it. The slices point into it. */
bool host_spec_parse(struct host_spec *spec, struct slice text, struct host_fault *fault);

/* Reads a count of slots, 1..HOST_SLOTS_MAX. */
bool host_slots_parse(int *slots, struct slice text);

/* Always false, so that `return host_fault(...)` passes it on. */
bool host_fault(struct host_fault *fault, const char *at, struct slice token, const char *problem,
                const char *hint);

#endif
