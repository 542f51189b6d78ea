/* SPDX-License-Identifier: Apache-2.0 */
/* Turns YAML mappings into events; the text may be anything.
 *
 * Only the YAML that a configuration needs: one document, which is a mapping or nothing, nested at
 * most CONFIG_DEPTH_MAX deep, whose keys are texts. Anchors, aliases, merge keys that need them,
 * and tags are refused, so that a small text cannot expand; the reader keeps a path and no tree,
 * and does not recurse. UTF-8, with or without BOM. */
#ifndef SRC_HVDRUN_CONFIG_YAML_H
#define SRC_HVDRUN_CONFIG_YAML_H

#include "lib/base/status.h"

#include <stddef.h>

enum { CONFIG_DEPTH_MAX = 16, CONFIG_SIZE_MAX = 1 << 20 };

enum config_kind {
    CONFIG_KEY,     /* comes before its value; `value` is NULL */
    CONFIG_PLAIN,   /* a scalar without quotes: a number, a boolean, null, or a text */
    CONFIG_QUOTED,  /* a text */
    CONFIG_LIST,    /* the callback must refuse it */
    CONFIG_MAPPING, /* its keys follow, unless the callback refuses it */
};

/* Valid during the call. */
struct config_node {
    enum config_kind kind;
    const char *path;   /* "section.key" */
    const char *value;  /* of a scalar */
    const char *source; /* "FILE:LINE:COLUMN" of the key or the value */
};

/* Returns HVD_OK, or a status with `err` set, which ends the reading. */
typedef int config_node_fn(void *context, const struct config_node *node, struct err *err);

/* Calls `on_node` in the order of the text; `name` is the file's. Returns HVD_OK, the status of
 * `on_node`, or HVD_ERR_INVALID and one line that begins with "NAME:LINE:COLUMN". */
int config_yaml_read(const char *text, size_t length, const char *name, config_node_fn *on_node,
                     void *context, struct err *err);

#endif
