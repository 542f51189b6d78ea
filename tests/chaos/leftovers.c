/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing folders with what they held; see leftovers.h. */
#include "tests/chaos/leftovers.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_known(const struct leftovers *leftovers, char *path)
{
    return leftovers->nknown > 0 &&
           bsearch(&path, leftovers->known, leftovers->nknown, sizeof *leftovers->known, by_name);
}

/* Takes the path over. */
static void know(struct leftovers *leftovers, char *path)
{
    char **longer = realloc(leftovers->known, (leftovers->nknown + 1) * sizeof *leftovers->known);
    if (!longer)
        abort();
    leftovers->known = longer;
    leftovers->known[leftovers->nknown++] = path;
    qsort(leftovers->known, leftovers->nknown, sizeof *leftovers->known, by_name);
}

/* With `log` NULL nothing is told. */
static int look_in(struct leftovers *leftovers, const char *folder, FILE *log)
{
    int count = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char *path = NULL;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
            continue;
        if (is_known(leftovers, path)) {
            free(path);
            continue;
        }
        if (log)
            fprintf(log, "# left: %s\n", path);
        know(leftovers, path);
        count++;
    }
    closedir(dir);
    return count;
}

void leftovers_watch(struct leftovers *leftovers, const char *folder)
{
    if (leftovers->nfolders == LEFTOVERS_FOLDERS_MAX)
        return;
    leftovers->folders[leftovers->nfolders++] = folder;
    look_in(leftovers, folder, NULL);
}

int leftovers_look(struct leftovers *leftovers, FILE *log)
{
    int count = 0;
    for (int i = 0; i < leftovers->nfolders; i++)
        count += look_in(leftovers, leftovers->folders[i], log);
    return count;
}

void leftovers_fini(struct leftovers *leftovers)
{
    for (size_t i = 0; i < leftovers->nknown; i++)
        free(leftovers->known[i]);
    free(leftovers->known);
}

int leftovers_in(const char *folder, FILE *log)
{
    struct leftovers nothing = { 0 };
    int count = look_in(&nothing, folder, log);
    leftovers_fini(&nothing);
    return count;
}
