/* SPDX-License-Identifier: Apache-2.0 */
/* Do two names lead to one file, which need not exist yet?
 *   of a path, what is there by its real name, and behind it the rest as it is written
 * A path for which that fails is not compared: creating its file will fail. A link that leads to
 * nothing is not followed. */
#include "src/hvdrun/report_path.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/xalloc.h"
#include "launcher/output/output_files.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static char *resolve_path(const char *path);

/* The real path of `name` in the folder that is the first `length` bytes of `path`. */
static char *place_in_folder(const char *path, size_t length, const char *name)
{
    char *folder = length > 0 ? xstrndup(path, length) : xstrdup(*path == '/' ? "/" : ".");
    char *place = resolve_path(folder), *slash = place ? strrchr(place, '/') : NULL;
    free(folder);
    if (!place || strcmp(name, ".") == 0)
        return place;
    if (strcmp(name, "..") == 0) {
        slash[slash == place] = '\0';
        return place;
    }
    char *below = xasprintf("%s%s%s", place, slash[1] ? "/" : "", name);
    free(place);
    return below;
}

/* The path from the root, without links as far as it exists; the caller frees it. NULL: unknown. */
static char *resolve_path(const char *path)
{
    char *real = realpath(path, NULL);
    if (real || !*path || strcmp(path, ".") == 0 || strcmp(path, "/") == 0)
        return real;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t start = length;
    while (start > 0 && path[start - 1] != '/')
        start--;
    char *name = xstrndup(path + start, length - start);
    char *place = place_in_folder(path, start > 0 ? start - 1 : 0, name);
    free(name);
    return place;
}

/* Is `path` a parent of `place`, or equal to it? */
static bool leads_to(const char *path, const char *place)
{
    size_t length = strlen(path);
    return strncmp(path, place, length) == 0 && (place[length] == '/' || place[length] == '\0');
}

/* The first file of a rank that is `report`, or below it; NULL: none. The caller frees it. */
static char *rank_file_in(const char *report, const char *directory, int nranks)
{
    static const char *const streams[] = { "stdout", "stderr" };
    for (int i = 0; i < 2 * nranks; i++) {
        char *path = output_file_path(directory, i / 2, nranks, streams[i % 2]);
        if (leads_to(report, path))
            return path;
        free(path);
    }
    return NULL;
}

int report_path_check(const char *report, const char *directory, int nranks, struct err *err)
{
    struct shown path, file;
    char *report_place = resolve_path(report), *directory_place = resolve_path(directory);
    char *taken = report_place && directory_place
                      ? rank_file_in(report_place, directory_place, nranks)
                      : NULL;
    int rc = HVD_OK;
    if (taken)
        rc = bad_input(err, "--report", "in the way of --output-filename: '%s' (%s will be there)",
                       show_token(&path, report, strlen(report)), show_source(&file, taken));
    free(taken);
    free(report_place);
    free(directory_place);
    return rc;
}
