/* SPDX-License-Identifier: Apache-2.0 */
/* The main of a fuzz target without libFuzzer: takes every file that it is given, or else every one
 * in tests/fuzz/corpus/TARGET below $srcdir, where TARGET is the program's name without "fuzz_".
 * Prints TAP: one test, which an input that breaks a promise ends without a result; the last line
 * on stdout then names that input. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int inputs;

static void take(const char *path)
{
    printf("# %s\n", path);
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        err(1, "%s", path);
    size_t size = (size_t)ftell(file);
    uint8_t *data = malloc(size); /* exactly, so that a read beyond it is seen */
    rewind(file);
    if ((!data && size > 0) || fread(data, 1, size, file) != size)
        err(1, "%s", path);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    inputs++;
}

static int no_dot(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void take_folder(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, no_dot, alphasort);
    if (count < 0)
        err(1, "%s", folder);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        take(path);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    const char *target = strstr(program_invocation_short_name, "fuzz_"), *srcdir = getenv("srcdir");
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++)
        take(argv[i]);
    if (argc == 1 && target) {
        char folder[2048];
        snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", srcdir ? srcdir : ".",
                 target + strlen("fuzz_"));
        take_folder(folder);
    }
    printf("%sok 1 - the promises hold for %d inputs\n1..1\n", inputs > 0 ? "" : "not ", inputs);
    return 0;
}
