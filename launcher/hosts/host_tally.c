/* SPDX-License-Identifier: Apache-2.0 */
/* Entries that repeat become a host list; see host_tally.h. Names are kept in a tree, so that a
 * file with an entry per slot takes no quadratic time. */
#include "launcher/hosts/host_tally.h"

#include "launcher/base/xalloc.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* An entry of the tree. */
struct tally_name {
    char *name; /* owned; from host_name_fold() */
    int index;  /* in the list */
};

static int compare_names(const void *a, const void *b)
{
    const struct tally_name *left = a, *right = b;
    return strcmp(left->name, right->name);
}

static void free_name(void *node)
{
    struct tally_name *name = node;
    free(name->name);
    free(name);
}

void host_tally_init(struct host_tally *tally, struct host_list *list)
{
    *tally = (struct host_tally){ .list = list };
}

void host_tally_fini(struct host_tally *tally)
{
    tdestroy(tally->names, free_name);
    tally->names = NULL;
}

static struct host_slots *host_tally_find(const struct host_tally *tally, char *name)
{
    struct tally_name key = { .name = name };
    void *found = tfind(&key, &tally->names, compare_names);
    return found ? &tally->list->hosts[(*(struct tally_name **)found)->index] : NULL;
}

/* Adds the folded name of the list's last host to the tree, and takes ownership of it. */
static void remember_last(struct host_tally *tally, char *folded)
{
    struct tally_name *name = xmalloc(sizeof *name);
    *name = (struct tally_name){ folded, tally->list->count - 1 };
    if (!tsearch(name, &tally->names, compare_names))
        xalloc_failed();
}

/* Adds a new host, and takes ownership of its folded name. */
static int host_tally_add_host(struct host_tally *tally, const struct host_spec *spec, char *folded,
                               const struct host_source *source, struct err *err)
{
    int rc = host_list_add(tally->list, spec, source, err);
    if (rc < 0)
        free(folded);
    else
        remember_last(tally, folded);
    return rc;
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
    char *text = xstrndup(spec.name.at, spec.name.length), *folded = host_name_fold(text);
    struct host_slots *host = host_tally_find(tally, folded);
    free(text);
    if (!host) {
        spec.slots = slots;
        return host_tally_add_host(tally, &spec, folded, source, err);
    }
    free(folded);
    if (host->slots > HOST_SLOTS_MAX - slots) {
        host_fault(&fault, name.at, name, "too many slots of one host", "at most 65536");
        return host_source_fail(source, &fault, err);
    }
    host->slots += slots;
    return HVD_OK;
}
