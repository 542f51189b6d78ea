/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that processes share without a name: what it promises to those who map it, which
 * descriptors of others are refused, and that nothing is left of it. Linked with
 * -Wl,--wrap=madvise,--wrap=fallocate. */
#include "lib/memory/segment.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, ANY = 1 << 30 };

static struct segment make(size_t size)
{
    struct segment segment;
    struct err err;
    ck_assert_int_eq(segment_create(&segment, size, &err), HVD_OK);
    return segment;
}

/* Blocks of 512 bytes that lie in memory. */
static long blocks(int fd)
{
    struct stat status;
    ck_assert_int_eq(fstat(fd, &status), 0);
    return (long)status.st_blocks;
}

START_TEST(a_segment_has_whole_pages_of_zeros)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t asked[] = { 0, 1, page, page + 1, MIB + 1 };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct segment segment = make(asked[i]);
        ck_assert_uint_ge(segment.size, asked[i]);
        ck_assert_uint_eq(segment.size % page, 0);
        ck_assert_int_eq(segment.memory[0] | segment.memory[segment.size - 1], 0);
        segment_close(&segment);
        ck_assert_int_eq(segment.fd, -1);
        segment_close(&segment);
    }
}
END_TEST

START_TEST(its_size_is_sealed_and_a_program_that_is_executed_does_not_get_it)
{
    struct segment segment = make(MIB);
    ck_assert_int_eq(ftruncate(segment.fd, 0), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(ftruncate(segment.fd, 2 * MIB), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(fcntl(segment.fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    ck_assert_int_ne(fcntl(segment.fd, F_GETFD) & FD_CLOEXEC, 0);
    segment_close(&segment);
}
END_TEST

START_TEST(its_descriptor_is_none_of_the_standard_streams)
{
    int kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    close(STDIN_FILENO);
    struct segment segment = make(MIB);
    ck_assert_int_gt(segment.fd, STDERR_FILENO);
    ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
    ck_assert_int_ne(fcntl(segment.fd, F_GETFD) & FD_CLOEXEC, 0);
    segment_close(&segment);
    dup2(kept, STDIN_FILENO);
    close(kept);
}
END_TEST

/* Does this process have any of them mapped? */
static bool is_mapped(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    bool found = false;
    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof line, maps))
        found = found || strstr(line, "/memfd:hvd");
    fclose(maps);
    return found;
}

/* Other programs of the machine may make names there meanwhile: it is what lies behind the
 * descriptor that tells. */
START_TEST(it_has_no_name)
{
    struct segment segment = make(MIB);
    struct stat status;
    ck_assert_int_eq(fstat(segment.fd, &status), 0);
    ck_assert_uint_eq(status.st_nlink, 0);
    struct stat shm;
    if (stat("/dev/shm", &shm) == 0)
        ck_assert_uint_ne(status.st_dev, shm.st_dev);
    segment_close(&segment);
}
END_TEST

static int memfd(unsigned int flags, off_t size, int seals)
{
    int fd = memfd_create("test", flags);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, size), 0);
    if (seals)
        ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

enum { GOOD_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

/* Descriptors that a peer might send instead. */
static int unsealed(void)
{
    return memfd(MFD_CLOEXEC | MFD_ALLOW_SEALING, MIB, 0);
}

static int not_to_be_sealed(void)
{
    return memfd(MFD_CLOEXEC, MIB, 0);
}

static int free_to_shrink(void)
{
    return memfd(MFD_CLOEXEC | MFD_ALLOW_SEALING, MIB, F_SEAL_GROW | F_SEAL_SEAL);
}

static int free_to_grow(void)
{
    return memfd(MFD_CLOEXEC | MFD_ALLOW_SEALING, MIB, F_SEAL_SHRINK | F_SEAL_SEAL);
}

static int with_seals_to_come(void)
{
    return memfd(MFD_CLOEXEC | MFD_ALLOW_SEALING, MIB, F_SEAL_SHRINK | F_SEAL_GROW);
}

static int not_to_be_written(void)
{
    return memfd(MFD_CLOEXEC | MFD_ALLOW_SEALING, MIB, GOOD_SEALS | F_SEAL_WRITE);
}

static int too_small(void)
{
    return memfd(MFD_CLOEXEC | MFD_ALLOW_SEALING, MIB / 2, GOOD_SEALS);
}

static int too_large(void)
{
    return memfd(MFD_CLOEXEC | MFD_ALLOW_SEALING, 2 * MIB, GOOD_SEALS);
}

static int not_of_whole_pages(void)
{
    return memfd(MFD_CLOEXEC | MFD_ALLOW_SEALING, MIB + 1, GOOD_SEALS);
}

static int a_file(void)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    int fd = dup(fileno(file));
    fclose(file);
    ck_assert_int_eq(ftruncate(fd, MIB), 0);
    return fd;
}

static int a_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int a_device(void)
{
    return open("/dev/zero", O_RDWR | O_CLOEXEC);
}

static const struct {
    const char *what;
    int (*open)(void);
} strange[] = {
    { "unsealed", unsealed },
    { "not to be sealed", not_to_be_sealed },
    { "free to shrink", free_to_shrink },
    { "free to grow", free_to_grow },
    { "with seals to come", with_seals_to_come },
    { "not to be written", not_to_be_written },
    { "too small", too_small },
    { "too large", too_large },
    { "not of whole pages", not_of_whole_pages },
    { "a file", a_file },
    { "a socket", a_socket },
    { "a device", a_device },
};

START_TEST(what_is_no_sealed_memory_of_the_right_size_is_refused_and_stays_the_callers)
{
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        struct segment segment;
        struct err err;
        int fd = strange[i].open();
        ck_assert_int_ge(fd, 0);
        int rc = segment_adopt(&segment, fd, MIB, 2 * MIB - 4096, &err);
        ck_assert_msg(rc == HVD_ERR_PROTOCOL, "%s: %d", strange[i].what, rc);
        ck_assert_ptr_null(segment.memory);
        ck_assert_int_eq(segment.fd, -1);
        ck_assert_int_eq(close(fd), 0);
    }
    struct segment segment;
    ck_assert_int_eq(segment_adopt(&segment, -1, 0, ANY, NULL), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(two_mappings_show_the_same_bytes)
{
    struct segment mine = make(MIB), other;
    struct err err;
    ck_assert_int_eq(segment_adopt(&other, dup(mine.fd), MIB, MIB, &err), HVD_OK);
    ck_assert_ptr_ne(other.memory, mine.memory);
    ck_assert_uint_eq(other.size, mine.size);
    memset(mine.memory, 'm', MIB);
    other.memory[MIB - 1] = 'o';
    ck_assert_int_eq(other.memory[0], 'm');
    ck_assert_int_eq(mine.memory[MIB - 1], 'o');
    segment_close(&mine);
    ck_assert_int_eq(other.memory[1], 'm');
    segment_close(&other);
}
END_TEST

static void send_descriptor(int through, int fd)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = { .head = { CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS } };
    struct iovec byte = { "", 1 };
    struct msghdr message = {
        .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    ck_assert_int_eq(sendmsg(through, &message, 0), 1);
}

static int receive_descriptor(int through)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    char byte;
    struct iovec part = { &byte, 1 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    int fd;
    if (recvmsg(through, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
        return -1;
    memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
    return fd;
}

/* Makes a segment, hands it over, and dies without a word. */
static void make_and_die(int through)
{
    struct segment segment = make(MIB);
    memset(segment.memory, 'x', MIB);
    send_descriptor(through, segment.fd);
    raise(SIGKILL);
}

START_TEST(it_outlives_a_process_that_dies_and_is_gone_after_the_last)
{
    int pair[2], status;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    pid_t maker = fork();
    if (maker == 0)
        make_and_die(pair[1]);
    ck_assert_int_eq(waitpid(maker, &status, 0), maker);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    int fd = receive_descriptor(pair[0]);
    struct segment segment;
    struct err err;
    ck_assert_int_eq(segment_adopt(&segment, fd, MIB, MIB, &err), HVD_OK);
    ck_assert_int_eq(segment.memory[MIB - 1], 'x');
    ck_assert(is_mapped());
    segment_close(&segment);
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
    ck_assert(!is_mapped());
    close(pair[0]);
    close(pair[1]);
}
END_TEST

START_TEST(pages_come_when_touched_or_asked_for_and_go_although_another_has_them_mapped)
{
    long all = MIB / 512;
    struct segment mine = make(MIB), other;
    struct err err;
    ck_assert_int_eq(segment_adopt(&other, dup(mine.fd), MIB, MIB, &err), HVD_OK);
    ck_assert_int_eq(blocks(mine.fd), 0);
    ck_assert_int_eq(segment_populate(&mine, 1, MIB - 2, &err), HVD_OK);
    ck_assert_int_eq(blocks(mine.fd), all);
    memset(mine.memory, 'x', MIB);
    ck_assert_int_eq(other.memory[MIB / 2], 'x');
    segment_drop(&mine, 0, MIB / 2 + 1);
    ck_assert_int_eq(blocks(mine.fd), all / 2);
    ck_assert_int_eq(other.memory[0] | mine.memory[MIB / 2 - 1], 0);
    ck_assert_int_eq(mine.memory[MIB / 2], 'x');
    segment_drop(&mine, MIB / 2 + 1, 4096);
    ck_assert_int_eq(mine.memory[MIB / 2], 'x');
    segment_close(&other);
    segment_close(&mine);
}
END_TEST

/* Returns what the limit was. */
static rlim_t limit(__rlimit_resource_t resource, rlim_t value)
{
    struct rlimit now;
    ck_assert_int_eq(getrlimit(resource, &now), 0);
    rlim_t before = now.rlim_cur;
    now.rlim_cur = value;
    ck_assert_int_eq(setrlimit(resource, &now), 0);
    return before;
}

/* ---- kernels before 5.14 ---- */

enum { PIECE = 2 * MIB };

int __real_madvise(void *address, size_t length, int advice);
int __wrap_madvise(void *address, size_t length, int advice);
int __real_fallocate(int fd, int mode, off_t offset, off_t length);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t length);

static bool cannot_populate;
static int ncalls, interrupted, refused; /* calls of fallocate(), and which of them fail so */
static off_t longest;

int __wrap_madvise(void *address, size_t length, int advice)
{
    if (cannot_populate && advice == MADV_POPULATE_WRITE) {
        errno = EINVAL;
        return -1;
    }
    return __real_madvise(address, length, advice);
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t length)
{
    ncalls++;
    longest = length > longest ? length : longest;
    if (ncalls == interrupted || ncalls == refused) {
        errno = ncalls == interrupted ? EINTR : ENOSPC;
        return -1;
    }
    return __real_fallocate(fd, mode, offset, length);
}

static void forget_calls(void)
{
    cannot_populate = true;
    longest = 0;
    ncalls = interrupted = refused = 0;
}

START_TEST(where_pages_cannot_be_populated_just_they_are_allocated_piece_by_piece)
{
    const long page = sysconf(_SC_PAGESIZE);
    struct segment segment = make(8 * MIB);
    struct err err;
    forget_calls();
    interrupted = 2;
    ck_assert_int_eq(segment_populate(&segment, 3 * MIB + 1, 5 * MIB - 1, &err), HVD_OK);
    ck_assert_int_eq(blocks(segment.fd), 5 * MIB / 512);
    ck_assert_int_eq(ncalls, 4);
    ck_assert_int_eq(longest, PIECE);
    ck_assert_int_eq(segment_populate(&segment, (size_t)page, 1, &err), HVD_OK);
    ck_assert_int_eq(blocks(segment.fd), (5 * MIB + page) / 512);
    segment_close(&segment);
}
END_TEST

START_TEST(where_pages_cannot_be_allocated_either_that_is_an_error)
{
    struct segment segment = make(8 * MIB);
    struct err err;
    forget_calls();
    refused = 2;
    ck_assert_int_eq(segment_populate(&segment, 0, 8 * MIB, &err), HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "8388608 bytes of shared memory"));
    ck_assert_int_eq(ncalls, 2);
    segment_close(&segment);
}
END_TEST

START_TEST(a_limit_of_the_process_is_an_error_and_no_signal)
{
    const size_t too_many[] = { SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 60 };
    struct segment segment;
    struct err err;
    for (size_t i = 0; i < sizeof too_many / sizeof *too_many; i++)
        ck_assert_int_eq(segment_create(&segment, too_many[i], &err), HVD_ERR_SYSTEM);
    limit(RLIMIT_FSIZE, MIB);
    ck_assert_int_eq(segment_create(&segment, MIB + 1, &err), HVD_ERR_SYSTEM);
    ck_assert_ptr_null(segment.memory);
    segment = make(MIB);
    segment_close(&segment);
    int next = dup(0);
    rlim_t before = limit(RLIMIT_NOFILE, (rlim_t)next);
    close(next);
    for (int fd = 0; fd < next; fd++)
        ck_assert(fcntl(fd, F_GETFD) >= 0 || dup2(0, fd) == fd);
    ck_assert_int_eq(segment_create(&segment, MIB, &err), HVD_ERR_SYSTEM);
    limit(RLIMIT_NOFILE, before);
    ck_assert_str_eq(err.text, "create shared memory: Too many open files");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("segment");
    TCase *tcase = tcase_create("segment");
    descriptors_watch(tcase);
    tcase_add_test(tcase, a_segment_has_whole_pages_of_zeros);
    tcase_add_test(tcase, its_size_is_sealed_and_a_program_that_is_executed_does_not_get_it);
    tcase_add_test(tcase, its_descriptor_is_none_of_the_standard_streams);
    tcase_add_test(tcase, it_has_no_name);
    tcase_add_test(tcase,
                   what_is_no_sealed_memory_of_the_right_size_is_refused_and_stays_the_callers);
    tcase_add_test(tcase, two_mappings_show_the_same_bytes);
    tcase_add_test(tcase, it_outlives_a_process_that_dies_and_is_gone_after_the_last);
    tcase_add_test(tcase,
                   pages_come_when_touched_or_asked_for_and_go_although_another_has_them_mapped);
    tcase_add_test(tcase, where_pages_cannot_be_populated_just_they_are_allocated_piece_by_piece);
    tcase_add_test(tcase, where_pages_cannot_be_allocated_either_that_is_an_error);
    tcase_add_test(tcase, a_limit_of_the_process_is_an_error_and_no_signal);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
