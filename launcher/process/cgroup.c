/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups; see cgroup.h.
 * Ranks are born into the group (CLONE_INTO_CGROUP, in spawn.c): moving a process into one can take
 * the kernel 10 ms. */
#include "launcher/process/cgroup.h"

#include "launcher/base/text_buffer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

/* The number of groups that an agent looks at, on average, for those that others have left. */
enum { STALE_LOOKED_AT = 64 };

/* Is `word` in the list, which is separated by commas? */
static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* Parses the text behind " - ": "cgroup2 SOURCE OPTIONS" or "cgroup SOURCE rw,memory". */
static bool is_hierarchy(const char *line, const char *controller)
{
    char type[16], options[512];
    const char *behind = strstr(line, " - ");
    if (!behind || strncmp(behind + 3, "cgroup", 6) != 0 || /* most are others */
        sscanf(behind + 3, "%15s %*s %511s", type, options) != 2)
        return false;
    return controller ? strcmp(type, "cgroup") == 0 && has_word(options, controller)
                      : strcmp(type, "cgroup2") == 0;
}

/* "ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS [TAGS...] - ..."; lines of any length. ROOT is the
 * mounted part of the hierarchy. */
static bool find_mount(FILE *mountinfo, const char *controller, char *root, char *point)
{
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    while (!found && getline(&line, &size, mountinfo) > 0)
        found = is_hierarchy(line, controller) && strlen(line) < PATH_SIZE &&
                sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) == 2;
    free(line);
    return found && !strchr(root, '\\') && !strchr(point, '\\');
}

/* "0::/path" of v2, "4:cpu,memory:/path" of v1. */
static bool is_membership(const char *line, const char *controller, char *path)
{
    char controllers[512];
    if (!controller)
        return sscanf(line, "0::%4095[^\n]", path) == 1;
    return sscanf(line, "%*d:%511[^:]:%4095[^\n]", controllers, path) == 2 &&
           has_word(controllers, controller);
}

static bool find_membership(FILE *membership, const char *controller, char *path)
{
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    while (!found && getline(&line, &size, membership) > 0)
        found = strlen(line) < PATH_SIZE && is_membership(line, controller, path);
    free(line);
    return found && !strstr(path, "/..");
}

bool cgroup_find_controller(char *path, size_t size, FILE *mountinfo, FILE *membership,
                            const char *controller)
{
    char root[PATH_SIZE], point[PATH_SIZE], own[PATH_SIZE];
    if (!find_mount(mountinfo, controller, root, point) ||
        !find_membership(membership, controller, own))
        return false;
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(own, root, length) != 0 || (own[length] != '/' && own[length] != '\0'))
        return false;
    int written = snprintf(path, size, "%s%s", point, own + length);
    return written > 0 && (size_t)written < size;
}

bool cgroup_find(char *path, size_t size, FILE *mountinfo, FILE *membership)
{
    return cgroup_find_controller(path, size, mountinfo, membership, NULL);
}

/* Reads to the end; false if that fails. */
static bool read_all(int fd, struct text_buffer *text)
{
    enum { READ_AT_ONCE = 16 * 1024 };
    ssize_t n;
    do {
        n = read(fd, text_buffer_reserve(text, READ_AT_ONCE), READ_AT_ONCE);
        text->length += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    return n == 0;
}

/* A stream with a copy, from its beginning; or NULL. */
static FILE *open_copy(const struct text_buffer *text)
{
    FILE *copy = fmemopen(NULL, text->length + 1, "w+");
    if (!copy)
        return NULL;
    fwrite(text->data, 1, text->length, copy);
    rewind(copy);
    return copy;
}

FILE *cgroup_open_text(const char *path)
{
    struct text_buffer text = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    FILE *copy = read_all(fd, &text) ? open_copy(&text) : NULL;
    close(fd);
    text_buffer_fini(&text);
    return copy;
}

/* The directory of this process's own group, or -1. */
static int open_own_group(void)
{
    char path[PATH_SIZE];
    FILE *mountinfo = cgroup_open_text("/proc/self/mountinfo");
    FILE *membership = cgroup_open_text("/proc/self/cgroup");
    bool found = mountinfo && membership && cgroup_find(path, sizeof path, mountinfo, membership);
    if (mountinfo)
        fclose(mountinfo);
    if (membership)
        fclose(membership);
    return found ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

/* The namespace of our process ids: processes of other namespaces share /sys/fs/cgroup. */
static unsigned long own_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) < 0 ? 0 : (unsigned long)status.st_ino;
}

void cgroup_make(struct cgroup *group)
{
    *group = (struct cgroup){ 0 };
    int parent = open_own_group();
    if (parent < 0)
        return;
    if (getrandom(&group->number, sizeof group->number, GRND_NONBLOCK) < 0)
        group->number = 0;
    snprintf(group->name, sizeof group->name, "hvd-%d-%lu-%08x", (int)getpid(), own_namespace(),
             group->number);
    int directory = -1;
    if (mkdirat(parent, group->name, 0755) == 0)
        directory = openat(parent, group->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory > 0 && faccessat(directory, "cgroup.kill", W_OK, 0) == 0) {
        group->directory = directory;
        group->parent = parent;
        return;
    }
    if (directory >= 0) {
        close(directory);
        unlinkat(parent, group->name, AT_REMOVEDIR);
    }
    close(parent);
}

static void kill_group(int directory)
{
    int fd = openat(directory, "cgroup.kill", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t ignored = write(fd, "1", 1);
    (void)ignored;
    close(fd);
}

void cgroup_kill(const struct cgroup *group)
{
    if (group->directory)
        kill_group(group->directory);
}

/* Handles a group of the agent `owner`. */
typedef void group_fn(int parent, const char *name, pid_t owner, pid_t wanted);

static void for_each_group(int parent, group_fn *act, pid_t wanted)
{
    unsigned long own = own_namespace();
    int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        int owner;
        unsigned long namespace;
        if (sscanf(entry->d_name, "hvd-%d-%lu-", &owner, &namespace) == 2 && owner > 0 &&
            namespace == own)
            act(parent, entry->d_name, owner, wanted);
    }
    closedir(directory);
}

/* rmdir() removes only an empty group. */
static void remove_stale(int parent, const char *name, pid_t owner, pid_t wanted)
{
    (void)wanted;
    if (kill(owner, 0) < 0 && errno == ESRCH)
        unlinkat(parent, name, AT_REMOVEDIR);
}

/* A machine that plays a thousand hosts has a thousand groups: if each agent looked at all of them,
 * the agents would look a million times. Where there are more groups than STALE_LOOKED_AT, also of
 * others, the random number of its own group decides whether an agent looks, so that each agent
 * looks at about as many. */
static bool looks_for_stale(const struct cgroup *group)
{
    struct stat status;
    if (fstat(group->parent, &status) < 0)
        return true;
    return group->number % (unsigned)(1 + status.st_nlink / STALE_LOOKED_AT) == 0;
}

void cgroup_remove(struct cgroup *group)
{
    if (!group->directory)
        return;
    close(group->directory);
    unlinkat(group->parent, group->name, AT_REMOVEDIR);
    if (looks_for_stale(group))
        for_each_group(group->parent, remove_stale, 0);
    close(group->parent);
    *group = (struct cgroup){ 0 };
}

static void kill_if_wanted(int parent, const char *name, pid_t owner, pid_t wanted)
{
    int directory = owner == wanted ? openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (directory < 0)
        return;
    kill_group(directory);
    close(directory);
}

static void remove_if_wanted(int parent, const char *name, pid_t owner, pid_t wanted)
{
    if (owner == wanted)
        unlinkat(parent, name, AT_REMOVEDIR);
}

static void act_on_groups_of(pid_t agent, group_fn *act)
{
    int parent = open_own_group();
    if (parent < 0)
        return;
    for_each_group(parent, act, agent);
    close(parent);
}

void cgroup_kill_of(pid_t agent)
{
    act_on_groups_of(agent, kill_if_wanted);
}

void cgroup_remove_of(pid_t agent)
{
    act_on_groups_of(agent, remove_if_wanted);
}
