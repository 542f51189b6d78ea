/* SPDX-License-Identifier: Apache-2.0 */
/* known_hosts in the file system: read, appended to, and compared with what ssh-keygen finds
 * there. Linked with -Wl,--wrap=write. */
#include "launcher/ssh/known_hosts.h"
#include "launcher/ssh/known_hosts_line.h"
#include "tests/support/descriptors.h"
#include "tests/support/host_keys.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char folder[64];
static char path[128];
static struct string_list warnings;
static struct err err;

/* Bytes that the next write() has room for. */
static size_t disk_space = SIZE_MAX;

/* What write() fails with; 0: it does not fail. */
static int write_error;

ssize_t __real_write(int fd, const void *data, size_t nbytes);
ssize_t __wrap_write(int fd, const void *data, size_t nbytes);

ssize_t __wrap_write(int fd, const void *data, size_t nbytes)
{
    if (write_error) {
        errno = write_error;
        return -1;
    }
    return __real_write(fd, data, nbytes < disk_space ? nbytes : disk_space);
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/known_hosts_files_test.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/known_hosts", folder);
}

static void remove_folder(void)
{
    string_list_fini(&warnings);
    unlink(path);
    rmdir(path);
    rmdir(folder);
}

static void write_file(const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
}

static struct known_hosts_found look(const char *const *paths, size_t npaths, const char *name,
                                     int port)
{
    struct host_key key = host_key(ED1);
    char *copies[4];
    for (size_t i = 0; i < npaths; i++)
        copies[i] = strdup(paths[i]);
    struct known_hosts *known = known_hosts_read(copies, npaths, &warnings);
    struct known_hosts_found found = known_hosts_check(known, name, port, key.blob, key.nbytes);
    ck_assert_int_eq(known_hosts_unread(known) == NULL, warnings.count == 0);
    for (size_t i = 0; i < npaths; i++) {
        if (found.path && strcmp(found.path, paths[i]) == 0)
            found.path = paths[i];
        free(copies[i]);
    }
    known_hosts_destroy(known);
    return found;
}

/* ---- reading ---- */

START_TEST(files_are_read_in_their_order)
{
    const char *paths[] = { "/nonexistent/a", path, "/dev/null", "/dev/null/x" };
    ck_assert_int_eq(look(paths, 0, "a", 22).verdict, KNOWN_HOSTS_UNKNOWN);
    write_file("# x\na " ED1, strlen("# x\na " ED1));
    struct known_hosts_found found = look(paths, 4, "a", 22);
    ck_assert_int_eq(found.verdict, KNOWN_HOSTS_MATCH);
    ck_assert_ptr_eq(found.path, path);
    ck_assert_int_eq(found.line, 2);
    write_file("", 0);
    ck_assert_int_eq(look(paths, 4, "a", 22).verdict, KNOWN_HOSTS_UNKNOWN);
    ck_assert_uint_eq(warnings.count, 0);
}
END_TEST

static void expect_warning(const char *reason)
{
    char expected[256];
    const char *paths[] = { path };
    snprintf(expected, sizeof expected, "%s is not used: %s", path, reason);
    ck_assert_int_eq(look(paths, 1, "a", 22).verdict, KNOWN_HOSTS_UNKNOWN);
    ck_assert_uint_eq(warnings.count, 1);
    ck_assert_str_eq(warnings.items[0], expected);
    snprintf(expected, sizeof expected, "%s cannot be read: %s", path, reason);
    struct known_hosts *known = known_hosts_read((char *[]){ path, folder }, 2, NULL);
    ck_assert_str_eq(known_hosts_unread(known), expected);
    known_hosts_destroy(known);
}

START_TEST(a_directory_is_a_warning)
{
    ck_assert_int_eq(mkdir(path, 0700), 0);
    expect_warning("Is a directory");
}
END_TEST

START_TEST(a_file_that_may_not_be_read_is_a_warning)
{
    if (geteuid() == 0)
        return; /* may read everything */
    write_file("a", 1);
    ck_assert_int_eq(chmod(path, 0), 0);
    expect_warning("Permission denied");
}
END_TEST

START_TEST(a_file_that_is_too_large_is_a_warning)
{
    write_file("a " ED1 "\n", strlen("a " ED1 "\n"));
    ck_assert_int_eq(truncate(path, (16 << 20) + 1), 0);
    expect_warning("larger than 16 MiB");
}
END_TEST

START_TEST(a_pipe_without_a_writer_is_empty)
{
    const char *paths[] = { path };
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(look(paths, 1, "a", 22).verdict, KNOWN_HOSTS_UNKNOWN);
}
END_TEST

/* ---- appending ---- */

static int add(const char *where, const char *name, int port, bool hashed)
{
    struct host_key key = host_key(ED1);
    return known_hosts_add(where, name, port, hashed, key.blob, key.nbytes, &err);
}

static void expect_file(const char *text)
{
    char found[1024];
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    ck_assert_str_eq(found, text);
}

START_TEST(a_host_is_appended_as_a_line)
{
    ck_assert_int_eq(add(path, "A", 22, false), HVD_OK);
    ck_assert_int_eq(add(path, "::1", 2222, false), HVD_OK);
    expect_file("a " ED1 "\n[::1]:2222 " ED1 "\n");
}
END_TEST

START_TEST(a_file_without_a_directory_in_its_name_is_made_where_the_process_is)
{
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert_msg(add("known_hosts", "a", 22, false) == HVD_OK, "%s", err.text);
    expect_file("a " ED1 "\n");
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(a_last_line_without_end_gets_one)
{
    write_file("# x", 3);
    ck_assert_int_eq(add(path, "a", 22, false), HVD_OK);
    expect_file("# x\na " ED1 "\n");
}
END_TEST

START_TEST(a_hashed_name_is_found_again_and_tells_nothing)
{
    const char *paths[] = { path };
    char text[512] = "";
    ck_assert_int_eq(add(path, "Secret", 22, true), HVD_OK);
    ck_assert_int_eq(add(path, "other", 2222, true), HVD_OK);
    ck_assert_int_eq(look(paths, 1, "secret", 22).line, 1);
    ck_assert_int_eq(look(paths, 1, "other", 2222).line, 2);
    FILE *file = fopen(path, "r");
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
    fclose(file);
    ck_assert_ptr_null(strcasestr(text, "secret"));
    ck_assert_int_eq(strncmp(text, "|1|", 3), 0);
}
END_TEST

START_TEST(file_and_directory_are_made_for_the_user_alone)
{
    char directory[100], file[128];
    struct stat status;
    mode_t before = umask(0);
    snprintf(directory, sizeof directory, "%s/.ssh", folder);
    snprintf(file, sizeof file, "%s/known_hosts", directory);
    ck_assert_int_eq(add(file, "a", 22, false), HVD_OK);
    umask(before);
    ck_assert_int_eq(stat(directory, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0700);
    ck_assert_int_eq(stat(file, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
    unlink(file);
    rmdir(directory);
}
END_TEST

START_TEST(a_line_that_is_written_in_part_is_removed_again)
{
    write_file("# x\n", 4);
    disk_space = 6;
    ck_assert_int_eq(add(path, "a", 22, false), HVD_ERR_SYSTEM);
    ck_assert_msg(strstr(err.text, "known_hosts: the disk is full"), "%s", err.text);
    ck_assert_ptr_null(strstr(err.text, "its last line is cut"));
    expect_file("# x\n");
    disk_space = SIZE_MAX;
    ck_assert_int_eq(add(path, "a", 22, false), HVD_OK);
    expect_file("# x\na " ED1 "\n");
}
END_TEST

START_TEST(what_cannot_be_appended_is_said)
{
    static const char *const names[] = { "",    "a b", "a,b", "a\n", "*",       "!a",
                                         "|1|", "@a",  "#a",  "[a]", "\xc3\xa4" };
    char where[200];
    for (size_t i = 0; i < COUNT(names); i++)
        ck_assert_int_eq(add(path, names[i], 22, false), HVD_ERR_INVALID);
    ck_assert_int_ne(access(path, F_OK), 0);
    snprintf(where, sizeof where, "%s/no/such/known_hosts", folder);
    ck_assert_int_eq(add(where, "a", 22, false), HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "no/such/known_hosts: No such file or directory"));
    write_error = ENOSPC;
    ck_assert_int_eq(add(path, "a", 22, false), HVD_ERR_SYSTEM);
    write_error = 0;
    ck_assert_msg(strstr(err.text, "known_hosts: No space left on device"), "%s", err.text);
    ck_assert_int_eq(known_hosts_add(path, "a", 22, false, NULL, 0, &err), HVD_ERR_INVALID);
}
END_TEST

START_TEST(nothing_is_added_to_a_pipe_or_a_device)
{
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(add(path, "a", 22, false), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "not a regular file");
    err.text[0] = '\0';
    ck_assert_int_eq(add("/dev/null", "a", 22, false), HVD_ERR_SYSTEM);
    ck_assert_str_eq(err.text, "not a regular file");
}
END_TEST

/* ---- beside ssh-keygen ---- */

static unsigned long long seed = 120;

static size_t below(size_t limit)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (size_t)(seed >> 33) % limit;
}

#define PICK(array) (array)[below(COUNT(array))]

static const char *const looked_for[] = {
    "a",
    "b",
    "ab",
    "abc",
    "node1",
    "node12",
    "a.example",
    "b.c.d",
    "[a]:2222",
    "::1",
    "[::1]:22",
    "[node1]:2222",
    "192.0.2.1",
    "[192.0.2.1]:1",
    "fe80::1%eth0",
};

/* Patterns with commas, a hashed name, or something that looks like one of these. */
static void make_names(char *names, size_t size)
{
    static const char *const pieces[] = {
        "a",        "b", "*", "?",     "!",   ",",        "node", "1",
        ".example", "[", "]", ":2222", "::1", "192.0.2.", "A",    "|",
    };
    if (below(4) == 0) {
        unsigned char salt[HOST_HASH_BYTES];
        char hashed[HASHED_NAME_SIZE];
        for (size_t i = 0; i < sizeof salt; i++)
            salt[i] = (unsigned char)below(256);
        known_name_hash(hashed, salt, PICK(looked_for));
        if (below(6) == 0)
            hashed[below(strlen(hashed))] = 'x';
        snprintf(names, size, "%s", hashed);
        return;
    }
    names[0] = '\0';
    for (size_t n = 1 + below(3); n > 0; n--) {
        if (below(3) == 0)
            strcat(names, PICK(looked_for));
        for (size_t m = below(4); m > 0; m--)
            strcat(names, PICK(pieces));
        if (n > 1)
            strcat(names, ",");
    }
}

/* Returns the length. A marker is followed by blanks: behind a tab ssh-keygen does not know it. */
static int make_line(char *line, size_t size)
{
    static const char *const markers[] = {
        "",   "",  "",          "", "@revoked ", "@cert-authority ", "@x ", "@revoked @revoked ",
        "  ", "#", "@revoked  "
    };
    static const char *const keys[] = {
        ED1,
        ED1,
        ED2,
        EC,
        RSA,
        "ssh-ed25519 AAAA",
        "ssh-ed25519",
        "",
        "ssh-future AAAAB3NzaC1yc2EAAAADAQABAAAAgQ==",
        "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIHlheYx81KRQsTpI8rWZt7R9o1D"
        "f5mIv3MRe38f6Evax",
        ED1 "=",
        ED2 " comment",
        EC "\t#",
        "1024 35 12345"
    };
    static const char *const blanks[] = { " ", "\t", "  ", " \t" };
    static const char *const ends[] = { "\n", "\n", "\r\n", " \n", "\n\n", " \r\n" };
    char names[512];
    make_names(names, sizeof names);
    return snprintf(line, size, "%s%s%s%s%s", PICK(markers), names, PICK(blanks), PICK(keys),
                    PICK(ends));
}

/* Lines with a key that can be read, "N REVOKED" or "N CA" or "N": as ssh-keygen prints them. */
static void find_ours(const char *text, size_t length, const char *name, char *found)
{
    static const char *const words[] = {
        [MARKER_NONE] = "", [MARKER_REVOKED] = "REVOKED", [MARKER_CA] = "CA"
    };
    struct slice rest = { text, length };
    struct known_line line;
    const char *type;
    size_t nbytes;
    for (int number = 1; rest.length > 0; number++) {
        if (!known_line_take(&rest, &line) || !known_names_match(line.names, name))
            continue;
        unsigned char *blob = known_key_decode(&line, &nbytes, &type);
        if (blob)
            found += sprintf(found, "%d %s\n", number, words[line.marker]);
        free(blob);
    }
}

static void find_theirs(const char *name, char *found)
{
    char command[300], line[2048];
    snprintf(command, sizeof command, "ssh-keygen -l -F '%s' -f %s 2>&1", name, path);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    while (fgets(line, sizeof line, pipe)) {
        const char *number = strstr(line, " found: line ");
        if (*line == '#' && number)
            found += sprintf(found, "%s", number + strlen(" found: line "));
    }
    pclose(pipe);
}

/* Files to ask about; "make known-hosts-beside-ssh" has more, from another seed. */
static int rounds(void)
{
    const char *more = getenv("KNOWN_HOSTS_ROUNDS");
    if (!more)
        return 24;
    seed = (unsigned long long)getpid();
    printf("# %s files of 60 lines, %zu hosts, seed %llu\n", more, COUNT(looked_for), seed);
    return atoi(more);
}

START_TEST(the_lines_found_are_those_that_ssh_keygen_finds)
{
    if (system("command -v ssh-keygen >/dev/null 2>&1") != 0)
        return;
    for (int round = 0, all = rounds(); round < all; round++) {
        char text[32768], ours[4096], theirs[4096];
        int length = 0, total = 0;
        for (int i = 0; i < 60; i++)
            length += make_line(text + length, sizeof text - (size_t)length);
        write_file(text, (size_t)length);
        for (size_t i = 0; i < COUNT(looked_for); i++) {
            *ours = *theirs = '\0';
            find_ours(text, (size_t)length, looked_for[i], ours);
            find_theirs(looked_for[i], theirs);
            ck_assert_msg(strcmp(ours, theirs) == 0, "%s in round %d\nours:\n%stheirs:\n%s",
                          looked_for[i], round, ours, theirs);
            total += *ours != '\0';
        }
        ck_assert_int_gt(total, 0);
    }
}
END_TEST

START_TEST(ssh_keygen_finds_what_was_appended)
{
    if (system("command -v ssh-keygen >/dev/null 2>&1") != 0)
        return;
    char theirs[4096] = "";
    ck_assert_int_eq(add(path, "a", 22, true), HVD_OK);
    ck_assert_int_eq(add(path, "a", 2222, true), HVD_OK);
    ck_assert_int_eq(add(path, "a", 2222, false), HVD_OK);
    find_theirs("a", theirs);
    ck_assert_str_eq(theirs, "1 \n");
    find_theirs("[a]:2222", theirs);
    ck_assert_str_eq(theirs, "2 \n3 \n");
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("known_hosts_files");
    TCase *reading = tcase_create("reading"), *appending = tcase_create("appending");
    descriptors_watch(reading);
    descriptors_watch(appending);
    TCase *beside = tcase_create("beside ssh-keygen");
    descriptors_watch(beside);
    tcase_add_test(reading, files_are_read_in_their_order);
    tcase_add_test(reading, a_directory_is_a_warning);
    tcase_add_test(reading, a_file_that_may_not_be_read_is_a_warning);
    tcase_add_test(reading, a_file_that_is_too_large_is_a_warning);
    tcase_add_test(reading, a_pipe_without_a_writer_is_empty);
    tcase_add_test(appending, a_host_is_appended_as_a_line);
    tcase_add_test(appending, a_file_without_a_directory_in_its_name_is_made_where_the_process_is);
    tcase_add_test(appending, a_last_line_without_end_gets_one);
    tcase_add_test(appending, a_hashed_name_is_found_again_and_tells_nothing);
    tcase_add_test(appending, file_and_directory_are_made_for_the_user_alone);
    tcase_add_test(appending, a_line_that_is_written_in_part_is_removed_again);
    tcase_add_test(appending, what_cannot_be_appended_is_said);
    tcase_add_test(appending, nothing_is_added_to_a_pipe_or_a_device);
    tcase_add_test(beside, the_lines_found_are_those_that_ssh_keygen_finds);
    tcase_add_test(beside, ssh_keygen_finds_what_was_appended);
    tcase_add_checked_fixture(reading, make_folder, remove_folder);
    tcase_add_checked_fixture(appending, make_folder, remove_folder);
    tcase_add_checked_fixture(beside, make_folder, remove_folder);
    tcase_set_timeout(beside, 120);
    suite_add_tcase(suite, reading);
    suite_add_tcase(suite, appending);
    suite_add_tcase(suite, beside);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
