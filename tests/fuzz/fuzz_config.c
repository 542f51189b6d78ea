/* SPDX-License-Identifier: Apache-2.0 */
/* --config-file: YAML that anybody wrote.
 *
 *   u8: bit 0 the command line has said some of it already; then the text
 *
 * Whatever it is: it is read, or refused by one line of printable ASCII that begins with the file's
 * name and is not too long; the same each time. Of what was read no variable is set twice, and what
 * the command line has said stays. */
#include "launcher/base/bad_input.h"
#include "src/hvdrun/config_file.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *const words[] = {
    "-np", "2", "--cycle-time-ms", "3.5", "--no-autotune", "true", NULL
};

static void check_set(const struct string_list *set)
{
    for (size_t i = 0; i < set->count; i++) {
        size_t length = strcspn(set->items[i], "=") + 1;
        PROMISE(length > 1 && set->items[i][length - 1] == '=');
        for (size_t other = 0; other < i; other++)
            PROMISE(strncmp(set->items[i], set->items[other], length) != 0);
    }
}

static void check_kept(const struct hvdrun_options *options)
{
    const char *cycle = string_list_variable(&options->set, "HOROVOD_CYCLE_TIME");
    const char *autotune = string_list_variable(&options->set, "HOROVOD_AUTOTUNE");
    PROMISE(options->np == 2);
    PROMISE(cycle && strcmp(cycle, "3.5") == 0);
    PROMISE(autotune && strcmp(autotune, "0") == 0);
}

static int take(const char *text, size_t length, bool said, struct err *err)
{
    struct hvdrun_options options = { .np = 0 };
    struct options_seen seen = { .rest = NULL };
    if (said)
        PROMISE(options_parse_words(&hvdrun_option_table, &options, &seen, (char **)words, err) ==
                HVD_OK);
    int rc = config_file_apply_text(&options, &seen, text, length, "f.yaml", err);
    if (rc < 0) {
        PROMISE(rc == HVD_ERR_INVALID && err->code == rc && strlen(err->text) <= BAD_INPUT_MAX);
        fuzz_check_line(err->text, "f.yaml:");
    }
    check_set(&options.set);
    if (said)
        check_kept(&options);
    for (size_t i = 0; i < options.notes.count; i++)
        fuzz_check_line(options.notes.items[i], "f.yaml:");
    hvdrun_options_fini(&options);
    return rc;
}

/* The file says what its text says. */
static void check_file(const char *text, size_t length, int rc)
{
    char path[32];
    struct hvdrun_options options = { .config_file = path };
    struct options_seen seen = { .rest = NULL };
    int fd = memfd_create("config", MFD_CLOEXEC);
    PROMISE(fd >= 0 && write(fd, text, length) == (ssize_t)length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    PROMISE(config_file_apply(&options, &seen, NULL) == rc);
    hvdrun_options_fini(&options);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    struct err first = { .code = HVD_OK }, second = { .code = HVD_OK };
    bool said = fuzz_u8(&input) & 1;
    size_t length;
    char *text = (char *)fuzz_rest(&input, &length);
    int rc = take(text, length, said, &first);
    PROMISE(take(text, length, said, &second) == rc);
    PROMISE(strcmp(first.text, second.text) == 0);
    if (!said)
        check_file(text, length, rc);
    free(text);
    return 0;
}
