/* SPDX-License-Identifier: Apache-2.0 */
/* Entries that repeat become a host list; see host_tally.h. Names are kept in a tree, so that files
 * with an entry per slot cost no square of their length. */
#include "launcher/host_tally.h"

#include "launcher/xalloc.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What the tree holds. */
struct tally_name {
    const char *name; /* borrowed from the list */
    int index;        /* in the list */
};

static int compare_names(const void *a, const void *b)
{
    const struct tally_name *left = a, *right = b;
    return strcasecmp(left->name, right->name);
}

void host_tally_init(struct host_tally *tally, struct host_list *list)
{
    *tally = (struct host_tally){ .list = list };
}

void host_tally_fini(struct host_tally *tally)
{
    tdestroy(tally->names, free);
    tally->names = NULL;
}

static struct host_slots *find(const struct host_tally *tally, const char *name)
{
    struct tally_name key = { .name = name };
    void *found = tfind(&key, &tally->names, compare_names);
    return found ? &tally->list->hosts[(*(struct tally_name **)found)->index] : NULL;
}

static void remember_last(struct host_tally *tally)
{
    struct tally_name *name = xmalloc(sizeof *name);
    name->index = tally->list->count - 1;
    name->name = tally->list->hosts[name->index].name;
    if (!tsearch(name, &tally->names, compare_names))
        xalloc_failed();
}

static bool parse_name(struct host_spec *spec, struct slice name, struct host_fault *fault)
{
    if (!host_spec_parse(spec, name, fault))
        return false;
    if (spec->user.length > 0 || spec->slots > 0)
        return host_fault(fault, name.at, name, "bad character in host name", NULL);
    return true;
}

int host_tally_add(struct host_tally *tally, struct slice name, int slots,
                   const struct host_source *source, struct err *err)
{
    struct host_spec spec;
    struct host_fault fault;
    if (!parse_name(&spec, name, &fault))
        return host_source_fail(source, &fault, err);
    char *text = xstrndup(spec.name.at, spec.name.length);
    struct host_slots *host = find(tally, text);
    free(text);
    if (!host) {
        spec.slots = slots;
        if (host_list_add(tally->list, &spec, source, err) < 0)
            return HVD_ERR_INVALID;
        remember_last(tally);
    } else if (host->slots > HOST_SLOTS_MAX - slots) {
        host_fault(&fault, name.at, name, "too many slots of one host", "at most 65536");
        return host_source_fail(source, &fault, err);
    } else {
        host->slots += slots;
    }
    return HVD_OK;
}
