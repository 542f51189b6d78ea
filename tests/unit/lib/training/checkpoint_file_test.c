/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints as files: written and read back, laid out as they are drawn; cut off, damaged or made
 * up, and then refused. checkpoint_fault_test has disks that fail. */
#include "lib/training/checkpoint_file.h"

#include "lib/training/checkpoint_layout.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- a file of some entries ---- */

static const float six[6] = { 1, -2, 3.5f, 0, 5, 6 };
static const double rate = 0.125;
static const uint8_t flags[2] = { 1, 0 };

static const void *const data[] = { six, flags, NULL, &rate, &rate };
static struct checkpoint_entry entries[] = {
    { CHECKPOINT_TENSOR, HVD_FLOAT32, 2, { 2, 3 }, "six", 0, 0 },
    { CHECKPOINT_TENSOR, HVD_BOOL, 1, { 2 }, "flags", 0, 0 },
    { CHECKPOINT_TENSOR, HVD_INT64, 3, { 4, 0, 5 }, "nothing", 0, 0 },
    { CHECKPOINT_TENSOR, HVD_FLOAT64, 0, { 0 }, "rate", 0, 0 },
    { CHECKPOINT_SCALAR, HVD_FLOAT64, 0, { 0 }, "rate", 0, 0 },
};
enum { ENTRIES = sizeof entries / sizeof *entries };

static char directory[64], path[96];
static unsigned char *bytes; /* of the file */
static size_t size;
static struct err err;
static struct checkpoint_file file;

static int give(void *arg, size_t entry, uint64_t at, void *out, size_t nbytes, struct err *error)
{
    (void)arg, (void)error;
    memcpy(out, (const char *)data[entry] + at, nbytes);
    return HVD_OK;
}

static int save(size_t count)
{
    return checkpoint_file_write(path, entries, count, give, NULL, &err);
}

static void load(void)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    ck_assert_int_eq(fstat(fd, &status), 0);
    size = (size_t)status.st_size;
    free(bytes);
    bytes = malloc(size + 1);
    ck_assert_int_eq(read(fd, bytes, size), (ssize_t)size);
    close(fd);
}

static void put_back(size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
    close(fd);
}

static int look(void)
{
    int rc = checkpoint_file_open(&file, path, &err);
    ck_assert(rc == HVD_OK || (file.entries == NULL && file.fd == -1));
    checkpoint_file_close(&file);
    return rc;
}

static void check_text(const char *expected)
{
    ck_assert_msg(strncmp(err.text, path, strlen(path)) == 0, "%s", err.text);
    ck_assert_str_eq(err.text + strlen(path), expected);
}

static void set_up(void)
{
    snprintf(directory, sizeof directory, "/tmp/hvd-checkpoint-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/last", directory);
    for (int i = 0; i < ENTRIES; i++)
        ck_assert(checkpoint_entry_measure(&entries[i]));
    ck_assert_int_eq(save(ENTRIES), HVD_OK);
    load();
}

static void tear_down(void)
{
    free(bytes);
    bytes = NULL;
    unlink(path);
    ck_assert_int_eq(rmdir(directory), 0); /* no temporary file is left */
}

/* ---- what works ---- */

static void check_entry(size_t i)
{
    char read_back[64];
    const struct checkpoint_entry *wanted = &entries[i], *entry = &file.entries[i];
    ck_assert_int_eq(entry->kind, wanted->kind);
    ck_assert_int_eq(entry->dtype, wanted->dtype);
    ck_assert_int_eq(entry->ndims, wanted->ndims);
    ck_assert_mem_eq(entry->dims, wanted->dims, sizeof wanted->dims);
    ck_assert_str_eq(entry->name, wanted->name);
    ck_assert_uint_eq(entry->nbytes, wanted->nbytes);
    ck_assert_int_eq(checkpoint_file_read(&file, i, 0, read_back, wanted->nbytes, &err), HVD_OK);
    if (wanted->nbytes > 0)
        ck_assert_mem_eq(read_back, data[i], wanted->nbytes);
}

START_TEST(what_is_written_is_read)
{
    ck_assert_int_eq(save(ENTRIES), HVD_OK); /* over the old one */
    ck_assert_int_eq(checkpoint_file_open(&file, path, &err), HVD_OK);
    ck_assert_uint_eq(file.count, ENTRIES);
    for (size_t i = 0; i < ENTRIES; i++)
        check_entry(i);
    checkpoint_file_close(&file);
}
END_TEST

START_TEST(a_checkpoint_may_be_empty)
{
    ck_assert_int_eq(save(0), HVD_OK);
    ck_assert_int_eq(look(), HVD_OK);
    ck_assert_uint_eq(file.count, 0);
}
END_TEST

START_TEST(the_layout_is_the_drawn_one)
{
    static const unsigned char drawn[] = {
        'H',  'V',  'D',  'C',  'K', 'P', 'T', 2,             /* magic, version */
        107,  0,    0,    0,    0,   0,   0,   0,             /* size */
        27,   0,    0,    0,    1,   0,   0,   0,             /* list, entries */
        0,    7,    2,    0,                                  /* tensor, float32, ndims */
        2,    0,    0,    0,    0,   0,   0,   0,             /* dims */
        3,    0,    0,    0,    0,   0,   0,   0,             /* dims */
        3,    0,    0,    0,    's', 'i', 'x',                /* name */
        0,    0,    0x80, 0x3f, 0,   0,   0,   0xc0, 0,    0, /* data */
        0x60, 0x40, 0,    0,    0,   0,   0,   0,    0xa0, 0x40, 0, 0, 0xc0, 0x40,
    };
    unsigned char digest[32];
    ck_assert_int_eq(save(1), HVD_OK);
    load();
    ck_assert_uint_eq(size, sizeof drawn + 32);
    ck_assert_mem_eq(bytes, drawn, sizeof drawn);
    crypto_generichash(digest, sizeof digest, bytes, sizeof drawn, NULL, 0);
    ck_assert_mem_eq(bytes + sizeof drawn, digest, sizeof digest);
}
END_TEST

enum { MANY = 700001 }; /* floats: more than two buffers, and no multiple of one */
static float *many;

static int give_many(void *arg, size_t entry, uint64_t at, void *out, size_t nbytes,
                     struct err *error)
{
    (void)arg, (void)entry, (void)error;
    memcpy(out, (const char *)many + at, nbytes);
    return HVD_OK;
}

START_TEST(large_tensors_pass_through_a_small_buffer)
{
    struct checkpoint_entry large = { .dtype = HVD_FLOAT32, .ndims = 1, .dims = { MANY } };
    float *read_back = calloc(MANY, sizeof *read_back);
    many = calloc(MANY, sizeof *many);
    for (int i = 0; i < MANY; i++)
        many[i] = (float)i;
    strcpy(large.name, "many");
    ck_assert(checkpoint_entry_measure(&large));
    ck_assert_int_eq(checkpoint_file_write(path, &large, 1, give_many, NULL, &err), HVD_OK);
    ck_assert_int_eq(checkpoint_file_open(&file, path, &err), HVD_OK);
    ck_assert_int_eq(checkpoint_file_read(&file, 0, 0, read_back, 400, &err), HVD_OK);
    ck_assert_int_eq(checkpoint_file_read(&file, 0, 400, read_back + 100, large.nbytes - 400, &err),
                     HVD_OK);
    ck_assert_mem_eq(read_back, many, MANY * sizeof *many);
    checkpoint_file_close(&file);
    free(many);
    free(read_back);
}
END_TEST

START_TEST(a_link_is_followed)
{
    char link[112];
    struct stat status;
    snprintf(link, sizeof link, "%s/link", directory);
    ck_assert_int_eq(symlink("last", link), 0);
    ck_assert_int_eq(checkpoint_file_write(link, entries, 1, give, NULL, &err), HVD_OK);
    ck_assert_int_eq(lstat(link, &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
    ck_assert_int_eq(checkpoint_file_open(&file, path, &err), HVD_OK);
    ck_assert_uint_eq(file.count, 1);
    checkpoint_file_close(&file);
    unlink(link);
}
END_TEST

START_TEST(a_file_that_is_replaced_keeps_its_permissions)
{
    struct stat status;
    ck_assert_int_eq(save(1), HVD_OK);
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert_int_eq(save(2), HVD_OK);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq((int)(status.st_mode & 07777), 0600);
}
END_TEST

START_TEST(a_path_without_a_directory_is_here)
{
    ck_assert_int_eq(chdir(directory), 0);
    ck_assert_int_eq(checkpoint_file_write("here", entries, 1, give, NULL, &err), HVD_OK);
    ck_assert_int_eq(checkpoint_file_open(&file, "here", &err), HVD_OK);
    checkpoint_file_close(&file);
    ck_assert_int_eq(unlink("here"), 0);
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

/* ---- temporary files ---- */

static int names_count(void)
{
    int count = 0;
    DIR *there = opendir(directory);
    while (readdir(there))
        count++;
    closedir(there);
    return count - 2; /* . and .. */
}

static int give_and_die(void *arg, size_t entry, uint64_t at, void *out, size_t nbytes,
                        struct err *error)
{
    (void)arg, (void)entry, (void)at, (void)out, (void)nbytes, (void)error;
    return raise(SIGKILL);
}

static void kill_a_writer(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(checkpoint_file_write(path, entries, 1, give_and_die, NULL, &err));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(WTERMSIG(status), SIGKILL);
}

/* Returns how many there were. */
static int remove_temporary_files(void)
{
    int count = 0;
    DIR *there = opendir(directory);
    for (struct dirent *entry; (entry = readdir(there));)
        if (strstr(entry->d_name, ".tmp-"))
            count += unlinkat(dirfd(there), entry->d_name, 0) == 0;
    closedir(there);
    return count;
}

/* Where the kernel does not tell its boot id, the writer may be on another host. */
START_TEST(what_a_killed_writer_left_is_removed_by_the_next)
{
    bool is_known = access("/proc/sys/kernel/random/boot_id", R_OK) == 0;
    for (int i = 0; i < 2; i++) {
        kill_a_writer();
        ck_assert_int_eq(names_count(), is_known ? 2 : 2 + i);
    }
    ck_assert_int_eq(save(ENTRIES), HVD_OK);
    ck_assert_int_eq(remove_temporary_files(), is_known ? 0 : 2);
}
END_TEST

/* While another process writes the same checkpoint, from beginning to end. */
static int give_amid_another(void *arg, size_t entry, uint64_t at, void *out, size_t nbytes,
                             struct err *error)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(save(ENTRIES) != HVD_OK);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(names_count(), 2);
    return give(arg, entry, at, out, nbytes, error);
}

START_TEST(a_writer_that_lives_keeps_its_file)
{
    ck_assert_int_eq(checkpoint_file_write(path, entries, 1, give_amid_another, NULL, &err),
                     HVD_OK);
    ck_assert_int_eq(names_count(), 1);
    ck_assert_int_eq(checkpoint_file_open(&file, path, &err), HVD_OK);
    ck_assert_uint_eq(file.count, 1);
    checkpoint_file_close(&file);
}
END_TEST

static void (*before_rename)(void);

/* In place of the C library's. */
int rename(const char *from, const char *to)
{
    if (before_rename)
        before_rename();
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static void save_in_another(void)
{
    int status;
    before_rename = NULL;
    pid_t pid = fork();
    if (pid == 0)
        _exit(save(ENTRIES) != HVD_OK);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(names_count(), 2);
}

START_TEST(a_writer_keeps_its_file_until_it_is_renamed)
{
    before_rename = save_in_another;
    ck_assert_msg(save(1) == HVD_OK, "%s", err.text);
    ck_assert_int_eq(names_count(), 1);
    ck_assert_int_eq(checkpoint_file_open(&file, path, &err), HVD_OK);
    ck_assert_uint_eq(file.count, 1);
    checkpoint_file_close(&file);
}
END_TEST

/* Makes a file that was last written to two days ago, or just now. */
static void leave(const char *name, bool old)
{
    char full[160];
    const struct timespec times[2] = { { time(NULL) - 2 * 86400, 0 },
                                       { time(NULL) - 2 * 86400, 0 } };
    snprintf(full, sizeof full, "%s/%s", directory, name);
    int fd = open(full, O_WRONLY | O_CREAT, 0666);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(old ? futimens(fd, times) : 0, 0);
    close(fd);
}

static bool take_away(const char *name)
{
    char full[160];
    snprintf(full, sizeof full, "%s/%s", directory, name);
    return unlink(full) == 0;
}

START_TEST(only_old_files_of_other_hosts_and_of_this_name_are_removed)
{
    static const char *const others[] = { "last.tmp-12345678",
                                          "last.tmp-fedcba98-0000000",
                                          "last.tmp-fedcba98-0000000g",
                                          "last.tmp-fedcba98-000000000",
                                          "last.tmp-fedcba98-00000000.gz",
                                          "last2.tmp-fedcba98-00000000",
                                          "xlast.tmp-fedcba98-00000000" };
    leave("last.tmp-fedcba98-00000001", true);
    leave("last.tmp-fedcba98-00000002", false);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        leave(others[i], true);
    ck_assert_int_eq(save(ENTRIES), HVD_OK);
    ck_assert(!take_away("last.tmp-fedcba98-00000001"));
    ck_assert(take_away("last.tmp-fedcba98-00000002"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(take_away(others[i]), "%s", others[i]);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(a_file_that_is_cut_off_anywhere_is_refused)
{
    char expected[96];
    for (size_t length = 0; length < size; length++) {
        put_back(length);
        ck_assert_int_eq(look(), HVD_ERR_INVALID);
        if (length < CHECKPOINT_SIZE_MIN)
            snprintf(expected, sizeof expected, ": is cut off: %zu bytes, expected at least %d",
                     length, CHECKPOINT_SIZE_MIN);
        else
            snprintf(expected, sizeof expected, ": is cut off: %zu bytes, expected %zu", length,
                     size);
        check_text(expected);
    }
}
END_TEST

START_TEST(a_file_that_goes_on_is_refused)
{
    char expected[96];
    put_back(size + 1);
    ck_assert_int_eq(look(), HVD_ERR_INVALID);
    snprintf(expected, sizeof expected, ": is too long: %zu bytes, expected %zu", size + 1, size);
    check_text(expected);
}
END_TEST

START_TEST(a_flipped_bit_is_found_wherever_it_is)
{
    for (size_t at = 0; at < size; at++) {
        bytes[at] ^= (unsigned char)(1 << at % 8);
        put_back(size);
        ck_assert_int_eq(look(), HVD_ERR_INVALID);
        if (at < 7)
            check_text(": is no checkpoint");
        if (at >= CHECKPOINT_HEAD_SIZE)
            check_text(": is damaged: its digest differs");
        bytes[at] ^= (unsigned char)(1 << at % 8);
    }
}
END_TEST

/* With a digest that is right: a byte at an offset, and what it becomes. */
static const struct {
    size_t offset;
    unsigned char value;
    const char *text;
} made_up[] = {
    { 7, 1, ": is a checkpoint of version 1, expected version 2" },
    { 15, 255, NULL }, /* size */
    { 16, 255, ": is damaged: its list cannot be in it" },
    { 19, 255, ": is damaged: its list cannot be in it" },
    { 20, 4, ": is damaged: its list is not what is in it" },
    { 20, 6, ": is damaged: entry 5 of its list cannot be" },
    { 23, 255, ": is damaged: its list cannot be in it" },
    { 24, 2, ": is damaged: entry 0 of its list cannot be" },    /* kind */
    { 24, 1, ": is damaged: entry 0 of its list cannot be" },    /* a scalar has no dims */
    { 25, 11, ": is damaged: entry 0 of its list cannot be" },   /* dtype */
    { 26, 9, ": is damaged: entry 0 of its list cannot be" },    /* ndims */
    { 27, 1, ": is damaged: entry 0 of its list cannot be" },    /* zero */
    { 28, 1, ": is damaged: its list is not what is in it" },    /* dim: there are more data */
    { 28, 100, ": is damaged: entry 0 of its list cannot be" },  /* dim: there are fewer */
    { 34, 255, ": is damaged: entry 0 of its list cannot be" },  /* dim: large */
    { 35, 255, ": is damaged: entry 0 of its list cannot be" },  /* dim: negative */
    { 44, 0, ": is damaged: entry 0 of its list cannot be" },    /* no name */
    { 44, 201, ": is damaged: entry 0 of its list cannot be" },  /* a long name */
    { 47, 255, ": is damaged: entry 0 of its list cannot be" },  /* beyond the list */
    { 48, '\0', ": is damaged: entry 0 of its list cannot be" }, /* NUL in it */
};

START_TEST(what_cannot_be_is_refused_with_a_right_digest_too)
{
    unsigned char old = bytes[made_up[_i].offset];
    bytes[made_up[_i].offset] = made_up[_i].value;
    crypto_generichash(bytes + size - 32, 32, bytes, size - 32, NULL, 0);
    put_back(size);
    ck_assert_int_eq(look(), HVD_ERR_INVALID);
    if (made_up[_i].text)
        check_text(made_up[_i].text);
    bytes[made_up[_i].offset] = old;
}
END_TEST

START_TEST(what_is_no_file_is_no_checkpoint)
{
    ck_assert_int_eq(checkpoint_file_open(&file, directory, &err), HVD_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, ": is no checkpoint, not even a plain file"));
    unlink(path);
    ck_assert_int_eq(look(), HVD_ERR_SYSTEM);
    check_text(": cannot be read: No such file or directory");
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* nobody at its other end */
    ck_assert_int_eq(look(), HVD_ERR_INVALID);
    check_text(": is no checkpoint, not even a plain file");
}
END_TEST

/* Many floats, of which two blocks are behind the one that the reader holds. */
static void open_many(void)
{
    struct checkpoint_entry large = { .dtype = HVD_FLOAT32, .ndims = 1, .dims = { MANY } };
    many = calloc(MANY, sizeof *many);
    strcpy(large.name, "many");
    ck_assert(checkpoint_entry_measure(&large));
    ck_assert_int_eq(checkpoint_file_write(path, &large, 1, give_many, NULL, &err), HVD_OK);
    ck_assert_int_eq(checkpoint_file_open(&file, path, &err), HVD_OK);
}

static void close_many(void)
{
    checkpoint_file_close(&file);
    free(many);
}

START_TEST(a_file_that_shrinks_while_it_is_read_is_an_error)
{
    char read_back[8];
    open_many();
    ck_assert_int_eq(truncate(path, 1 << 20), 0);
    ck_assert_int_eq(checkpoint_file_read(&file, 0, 1 << 20, read_back, 8, &err), HVD_ERR_SYSTEM);
    check_text(": became shorter while it was read");
    close_many();
}
END_TEST

/* Also for what has not been changed, but lies in the same block. */
START_TEST(a_file_that_is_changed_after_the_check_gives_out_nothing_of_that)
{
    static const uint64_t changed = (2 << 20) + 77;
    size_t untouched = 0;
    char *read_back = malloc(MANY * sizeof *many);
    memset(read_back, 0x55, MANY * sizeof *many);
    open_many();
    int fd = open(path, O_WRONLY);
    ck_assert_int_eq(pwrite(fd, "x", 1, (off_t)(file.entries[0].offset + changed)), 1);
    ck_assert_int_eq(checkpoint_file_read(&file, 0, 0, read_back, MANY * sizeof *many, &err),
                     HVD_ERR_SYSTEM);
    check_text(": was changed while it was read");
    size_t given = (2 << 20) - (size_t)file.entries[0].offset;
    ck_assert_mem_eq(read_back, many, given);
    for (size_t i = given; i < MANY * sizeof *many; i++)
        untouched += read_back[i] == 0x55;
    ck_assert_uint_eq(untouched, MANY * sizeof *many - given);
    ck_assert_int_eq(pwrite(fd, "", 1, (off_t)(file.entries[0].offset + changed)), 1);
    ck_assert_int_eq(checkpoint_file_read(&file, 0, changed, read_back, 1, &err), HVD_OK);
    close(fd);
    close_many();
    free(read_back);
}
END_TEST

START_TEST(long_paths_and_control_characters_leave_room_for_the_message)
{
    char strange[600] = "/nowhere/\n";
    memset(strange + 10, 'x', 500);
    ck_assert_int_eq(checkpoint_file_open(&file, strange, &err), HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "...xxx"));
    ck_assert_ptr_nonnull(strstr(err.text, "xxx: cannot be read: "));
    ck_assert_int_eq(checkpoint_file_open(&file, "/nowhere/\n", &err), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "/nowhere/?: cannot be read: No such file or directory");
}
END_TEST

START_TEST(where_nothing_can_be_nothing_is_written)
{
    char nowhere[112];
    snprintf(nowhere, sizeof nowhere, "%s/missing/last", directory);
    ck_assert_int_eq(checkpoint_file_write(nowhere, entries, 1, give, NULL, &err), HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(
        strstr(err.text, "/missing/last: cannot write the checkpoint: No such file or directory"));
    ck_assert_int_eq(checkpoint_file_write(directory, entries, 1, give, NULL, &err),
                     HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "there is something that is no file"));
    ck_assert_int_eq(checkpoint_file_write("/dev/null", entries, 1, give, NULL, &err),
                     HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "/dev/null: cannot write the checkpoint: there is something that is "
                               "no file");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_is_written_is_read,
        a_checkpoint_may_be_empty,
        the_layout_is_the_drawn_one,
        large_tensors_pass_through_a_small_buffer,
        a_link_is_followed,
        a_file_that_is_replaced_keeps_its_permissions,
        a_path_without_a_directory_is_here,
        what_a_killed_writer_left_is_removed_by_the_next,
        a_writer_that_lives_keeps_its_file,
        a_writer_keeps_its_file_until_it_is_renamed,
        only_old_files_of_other_hosts_and_of_this_name_are_removed,
        a_file_that_is_cut_off_anywhere_is_refused,
        a_file_that_goes_on_is_refused,
        a_flipped_bit_is_found_wherever_it_is,
        what_is_no_file_is_no_checkpoint,
        a_file_that_shrinks_while_it_is_read_is_an_error,
        a_file_that_is_changed_after_the_check_gives_out_nothing_of_that,
        long_paths_and_control_characters_leave_room_for_the_message,
        where_nothing_can_be_nothing_is_written,
    };
    Suite *suite = suite_create("checkpoint_file");
    TCase *cases = tcase_create("checkpoint_file");
    descriptors_watch(cases);
    suite_add_tcase(suite, cases);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(cases, tests[i]);
    tcase_add_loop_test(cases, what_cannot_be_is_refused_with_a_right_digest_too, 0,
                        sizeof made_up / sizeof *made_up);
    return unit_run(suite);
}
