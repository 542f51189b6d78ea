/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the kernel whether files can be read or written; see rank_files.h. For a file that is to
 * be written and does not exist yet, the folder is checked. */
#include "src/hvdrun/rank_files.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/xalloc.h"
#include "lib/base/env_names.h"
#include "lib/base/settings.h"
#include "src/hvdrun/rank_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0 or an errno. */
static int may(const char *path, int mode)
{
    return faccessat(AT_FDCWD, path, mode, AT_EACCESS) < 0 ? errno : 0;
}

static int may_make(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? xstrndup(path, (size_t)(slash - path + 1)) : xstrdup(".");
    int code = may(folder, W_OK | X_OK);
    free(folder);
    return code;
}

/* 0 or an errno. */
static int rank_files_may_use(const char *path, int mode)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return errno == ENOENT && mode == W_OK ? may_make(path) : errno;
    return S_ISDIR(status.st_mode) ? EISDIR : may(path, mode);
}

struct rank_file {
    const char *variable;
    const char *path; /* may be empty */
    int mode;         /* R_OK or W_OK */
};

static void rank_files_check_one(const struct rank_file *file, const char *source,
                                 struct string_list *warnings)
{
    struct shown shown, shown_source;
    int code = *file->path ? rank_files_may_use(file->path, file->mode) : 0;
    if (code != 0)
        string_list_take(
            warnings,
            xasprintf("%s%s: rank 0 cannot %s it as it is now: '%s': %s", source ? "" : "$",
                      source ? show_source(&shown_source, source) : file->variable,
                      file->mode == R_OK ? "read" : "write",
                      show_token(&shown, file->path, strlen(file->path)), strerror(code)));
}

void rank_files_check(const struct string_list *set, const struct string_list *set_by,
                      struct string_list *warnings)
{
    struct settings settings;
    struct err err = { 0 };
    if (rank_settings_read(&settings, set, &err) < 0)
        return;
    const struct rank_file files[] = {
        { ENV_TUNING, settings.tuning, R_OK },
        { ENV_TIMELINE, settings.timeline, W_OK },
        { ENV_AUTOTUNE_LOG, settings.autotune ? settings.autotune_log : "", W_OK },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *source = string_list_variable(set_by, files[i].variable);
        rank_files_check_one(&files[i], source && *source ? source : NULL, warnings);
    }
}

bool rank_files_any(const struct string_list *set)
{
    return rank_settings_variable(set, ENV_TUNING) || rank_settings_variable(set, ENV_TIMELINE) ||
           rank_settings_variable(set, ENV_AUTOTUNE_LOG);
}
