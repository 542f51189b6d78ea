/* SPDX-License-Identifier: Apache-2.0 */
/* From a unix socket to shared memory: what becomes of it when a side does not want it or cannot,
 * and what a side says that cannot be. Linked with
 * -Wl,--wrap=memfd_create,--wrap=sendmsg,--wrap=mmap and
 * -Wl,--wrap=segment_is_promised,--wrap=segment_populate. */
#include "lib/link/link_upgrade.h"

#include "lib/base/auth.h"
#include "lib/base/descriptor.h"
#include "lib/base/wire.h"
#include "lib/link/link_shm_impl.h"
#include "lib/link/socket.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);

bool __wrap_segment_is_promised(void);
int __wrap_segment_populate(const struct segment *segment, size_t offset, size_t size,
                            struct err *why);

/* What is refused in this test, with EPERM; a system that has no memory left says ENOMEM. */
static bool no_memfd, no_passing, no_mapping, no_descriptor, no_memory;

/* The system promises memory that it has, and these bytes of the segment have been allocated. */
static bool promised;
static unsigned char allocated[sizeof(struct shm_memory)];

bool __wrap_segment_is_promised(void)
{
    return no_memory || promised;
}

int __wrap_segment_populate(const struct segment *segment, size_t offset, size_t size,
                            struct err *why)
{
    (void)segment;
    if (!no_memory) {
        ck_assert_uint_le(offset, sizeof allocated);
        ck_assert_uint_le(size, sizeof allocated - offset);
        memset(allocated + offset, 1, size);
        return HVD_OK;
    }
    return fail_errno(why, HVD_ERR_SYSTEM, ENOMEM, "shared memory");
}

int __wrap_memfd_create(const char *name, unsigned flags)
{
    if (!no_memfd)
        return __real_memfd_create(name, flags);
    errno = EPERM;
    return -1;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (!no_passing || message->msg_controllen == 0)
        return __real_sendmsg(fd, message, flags);
    errno = EPERM;
    return -1;
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (!no_mapping || fd < 0)
        return __real_mmap(at, size, protection, flags, fd, offset);
    errno = EPERM;
    return MAP_FAILED;
}

enum { INITIATOR, ACCEPTOR };

static struct link_upgrade sides[2];
static struct link *links[2];
static int fds[2];
static struct err err;

static void forbid_descriptors(bool forbid)
{
    int next = fcntl(fds[0], F_DUPFD_CLOEXEC, 3);
    close(next);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ forbid ? (rlim_t)next : 4096, 4096 });
}

/* ends[ACCEPTOR] is for who plays the other side by hand, when that is the case. */
static void open_pair(void)
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    memset(links, 0, sizeof links);
    for (int side = 0; side < 2; side++)
        sides[side] = (struct link_upgrade){ .segment.fd = -1, .passed = -1 };
}

static void close_pair(void)
{
    for (int side = 0; side < 2; side++) {
        link_upgrade_fini(&sides[side]);
        if (links[side])
            link_close(links[side]);
        else
            descriptor_close(fds[side]);
    }
}

static void setup(void)
{
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 4096, 4096 });
    ck_assert_int_eq(auth_init(NULL), HVD_OK);
    no_memfd = no_passing = no_mapping = no_descriptor = no_memory = promised = false;
    open_pair();
}

static void teardown(void)
{
    close_pair();
}

/* Both sides until both are done. What is refused is so for the acceptor alone, once it is to
 * map. */
static void agree(enum transport initiator, enum transport acceptor)
{
    bool refuse_mapping = no_mapping;
    int done[2] = { 0, 0 };
    no_mapping = false;
    link_upgrade_initiate(&sides[INITIATOR], fds[INITIATOR], initiator);
    no_mapping = refuse_mapping;
    link_upgrade_accept(&sides[ACCEPTOR], fds[ACCEPTOR], acceptor);
    for (int i = 0; i < 100 && !(done[0] && done[1]); i++)
        for (int side = 0; side < 2; side++) {
            forbid_descriptors(no_descriptor && side == ACCEPTOR);
            done[side] = link_upgrade_move(&sides[side], fds[side], &err);
            ck_assert_msg(done[side] >= 0, "%s", err.text);
        }
    forbid_descriptors(false);
    ck_assert(done[0] && done[1]);
}

static void make_links(void)
{
    for (int side = 0; side < 2; side++) {
        links[side] = link_upgrade_finish(&sides[side], fds[side], &err);
        ck_assert_ptr_nonnull(links[side]);
    }
}

static void check_direction(int from, int to)
{
    char text[6] = "";
    size_t heard = 0;
    struct iovec part = { (void *)"hello", 5 };
    ck_assert_int_eq(link_try_send(links[from], &part, 1, &err), 5);
    for (int i = 0; i < 1000 && heard < 5; i++) {
        ssize_t nbytes = link_try_receive(links[to], text + heard, 5 - heard, &err);
        ck_assert_msg(nbytes >= 0, "%s", err.text);
        heard += (size_t)nbytes;
    }
    ck_assert_str_eq(text, "hello");
}

static void check_links(const char *type)
{
    make_links();
    ck_assert_str_eq(transport_name(links[0]->type->transport), type);
    ck_assert_str_eq(transport_name(links[1]->type->transport), type);
    check_direction(INITIATOR, ACCEPTOR);
    check_direction(ACCEPTOR, INITIATOR);
    ck_assert_int_eq(link_check(links[0], &err), HVD_OK);
}

START_TEST(two_that_can_share_memory)
{
    agree(TRANSPORT_AUTO, TRANSPORT_SHM);
    ck_assert_str_eq(sides[0].why, "");
    ck_assert_str_eq(sides[1].why, "");
    ck_assert_int_eq(sides[0].peer.pid, getpid());
    ck_assert_mem_eq(sides[0].peer.token_bytes, link_shm_own_token(), SHM_TOKEN_SIZE);
    ck_assert_mem_eq(sides[1].peer.token_bytes, link_shm_own_token(), SHM_TOKEN_SIZE);
    check_links("shm");
}
END_TEST

/* Everything but the rest of each ring, which is allocated when the ring grows. */
START_TEST(what_is_used_from_the_beginning_is_allocated_first_and_no_more)
{
    size_t rings = offsetof(struct shm_memory, rings), count = 0;
    promised = true;
    link_upgrade_initiate(&sides[INITIATOR], fds[INITIATOR], TRANSPORT_AUTO);
    ck_assert(sides[INITIATOR].shares);
    for (size_t at = 0; at < sizeof allocated; at++)
        count += allocated[at];
    for (size_t i = 0; i < 2; i++)
        ck_assert_ptr_null(
            memchr(allocated + rings + i * sizeof(struct shm_ring), 0, SHM_RING_FIRST));
    ck_assert_uint_eq(count, sizeof allocated - 2 * (sizeof(struct shm_ring) - SHM_RING_FIRST));
    ck_assert_int_eq(allocated[0], 1);
    ck_assert_int_eq(allocated[sizeof allocated - 1], 1);
}
END_TEST

/* Each of these leaves the socket, and both know why. */
static const struct {
    const char *name;
    enum transport initiator, acceptor;
    bool *refused;
    const char *initiators_why, *acceptors_why;
} refusals[] = {
    { "the initiator does not want it", TRANSPORT_UNIX, TRANSPORT_AUTO, NULL,
      "HVD_TRANSPORT wants none", "its HVD_TRANSPORT wants none" },
    { "the acceptor does not want it", TRANSPORT_AUTO, TRANSPORT_UNIX, NULL,
      "its HVD_TRANSPORT wants none", "HVD_TRANSPORT wants none" },
    { "nobody wants it", TRANSPORT_UNIX, TRANSPORT_UNIX, NULL, "HVD_TRANSPORT wants none",
      "HVD_TRANSPORT wants none" },
    { "there is no such memory", TRANSPORT_AUTO, TRANSPORT_AUTO, &no_memfd,
      "create shared memory: Operation not permitted", "it cannot create any" },
    { "there is no memory for it, and none is promised", TRANSPORT_AUTO, TRANSPORT_AUTO, &no_memory,
      "shared memory: Cannot allocate memory", "it cannot create any" },
    { "it cannot be passed", TRANSPORT_AUTO, TRANSPORT_AUTO, &no_passing,
      "pass a descriptor: Operation not permitted", "it could not pass or get the descriptor" },
    { "it cannot be mapped", TRANSPORT_AUTO, TRANSPORT_SHM, &no_mapping, "it cannot map it",
      "shared memory: Operation not permitted" },
    { "the acceptor has no descriptor left", TRANSPORT_AUTO, TRANSPORT_AUTO, &no_descriptor,
      "it could not pass or get the descriptor", "its descriptor has not come" },
};

START_TEST(two_that_cannot_keep_the_socket_and_know_why)
{
    if (refusals[_i].refused)
        *refusals[_i].refused = true;
    agree(refusals[_i].initiator, refusals[_i].acceptor);
    ck_assert_str_eq(sides[0].why, refusals[_i].initiators_why);
    ck_assert_msg(strstr(sides[1].why, refusals[_i].acceptors_why), "%s: %s", refusals[_i].name,
                  sides[1].why);
    check_links("unix");
}
END_TEST

/* ---- by hand ---- */

struct words {
    const char *magic;
    uint16_t version, yes;
    uint64_t size;
    uint32_t reason, zero;
};

static void encode(unsigned char bytes[UPGRADE_SIZE], const struct words *words)
{
    static unsigned char token[SHM_TOKEN_SIZE];
    struct wire_writer writer = { .data = bytes, .capacity = UPGRADE_SIZE };
    memset(bytes, 0, UPGRADE_SIZE);
    wire_put_bytes(&writer, words->magic, 4);
    wire_put_u16(&writer, words->version);
    wire_put_u16(&writer, words->yes);
    wire_put_u64(&writer, words->size);
    wire_put_u64(&writer, (uintptr_t)token);
    wire_put_bytes(&writer, token, SHM_TOKEN_SIZE);
    wire_put_u32(&writer, words->reason);
    wire_put_u32(&writer, words->zero);
}

/* What the one under test says to it: 1 and a link of this type, or a status. */
static int say(int side, const unsigned char *bytes, size_t length, int passed)
{
    int other = 1 - side;
    ssize_t sent = passed < 0 ? socket_send(fds[other], bytes, length, &err)
                              : socket_send_descriptor(fds[other], bytes, length, passed, &err);
    ck_assert_int_eq(sent, (ssize_t)length);
    return link_upgrade_move(&sides[side], fds[side], &err);
}

static struct segment segment_of(size_t size)
{
    struct segment segment;
    ck_assert_int_eq(segment_create(&segment, size, &err), HVD_OK);
    return segment;
}

#define GOOD "HVDS", UPGRADE_VERSION, 1
#define WHOLE 0 /* stands for the right size */

static const struct {
    struct words words;
    int status;
    const char *why; /* when the status is 1 */
} offers[] = {
    { { GOOD, WHOLE, 0, 0 }, 1, "" },
    { { "HVDD", UPGRADE_VERSION, 1, WHOLE, 0, 0 }, HVD_ERR_PROTOCOL, NULL },
    { { "HVDS", UPGRADE_VERSION, 2, WHOLE, 0, 0 }, HVD_ERR_PROTOCOL, NULL },
    { { GOOD, WHOLE, 0, 1 }, HVD_ERR_PROTOCOL, NULL },
    { { "HVDS", UPGRADE_VERSION + 1, 1, WHOLE, 0, 1 }, 1, "it has another version" },
    { { "HVDS", 0, 7, WHOLE, 0, 0 }, 1, "it has another version" },
    { { "HVDS", 1, 1, WHOLE, 0, 0 }, 1, "it has another version" },
    { { GOOD, 1, 0, 0 }, 1, "shared memory of 1 bytes" },
    { { GOOD, UINT64_MAX, 0, 0 }, 1, "shared memory of 18446744073709551615 bytes" },
    { { "HVDS", UPGRADE_VERSION, 0, 0, UPGRADE_NO_SEGMENT, 0 }, 1, "it cannot create any" },
    { { "HVDS", UPGRADE_VERSION, 0, 0, 4711, 0 }, 1, "it says no" },
};

START_TEST(an_offer_is_taken_at_its_word_only_if_it_can_be)
{
    unsigned char bytes[UPGRADE_SIZE];
    struct words words = offers[_i].words;
    struct segment segment = segment_of(link_shm_size());
    words.size = words.size == WHOLE ? segment.size : words.size;
    encode(bytes, &words);
    link_upgrade_accept(&sides[ACCEPTOR], fds[ACCEPTOR], TRANSPORT_AUTO);
    ck_assert_int_eq(say(ACCEPTOR, bytes, sizeof bytes, segment.fd), offers[_i].status);
    if (offers[_i].status > 0) {
        ck_assert_str_eq(sides[ACCEPTOR].why, offers[_i].why);
        ck_assert_int_eq(sides[ACCEPTOR].shares, offers[_i].why[0] == '\0');
    }
    segment_close(&segment);
}
END_TEST

static const struct {
    struct words words;
    int status;
    bool shares;
} answers[] = {
    { { GOOD, WHOLE, 0, 0 }, 1, true },
    { { GOOD, 4096, 0, 0 }, HVD_ERR_PROTOCOL, false },
    { { "HVDS", UPGRADE_VERSION, 3, WHOLE, 0, 0 }, HVD_ERR_PROTOCOL, false },
    { { "xxxx", UPGRADE_VERSION, 1, WHOLE, 0, 0 }, HVD_ERR_PROTOCOL, false },
    { { "HVDS", UPGRADE_VERSION + 1, 1, WHOLE, 0, 0 }, 1, false },
    { { "HVDS", UPGRADE_VERSION, 0, 0, UPGRADE_NOT_MAPPED, 0 }, 1, false },
};

START_TEST(an_answer_is_to_what_was_offered)
{
    unsigned char bytes[UPGRADE_SIZE];
    struct words words = answers[_i].words;
    link_upgrade_initiate(&sides[INITIATOR], fds[INITIATOR], TRANSPORT_AUTO);
    words.size = words.size == WHOLE ? sides[INITIATOR].segment.size : words.size;
    encode(bytes, &words);
    ck_assert_int_eq(say(INITIATOR, bytes, sizeof bytes, -1), answers[_i].status);
    if (answers[_i].status > 0)
        ck_assert_int_eq(sides[INITIATOR].shares, answers[_i].shares);
}
END_TEST

START_TEST(a_yes_to_a_no_changes_nothing)
{
    unsigned char bytes[UPGRADE_SIZE];
    encode(bytes, &(struct words){ GOOD, 4096, 0, 0 });
    link_upgrade_initiate(&sides[INITIATOR], fds[INITIATOR], TRANSPORT_UNIX);
    ck_assert_int_eq(say(INITIATOR, bytes, sizeof bytes, -1), 1);
    ck_assert(!sides[INITIATOR].shares);
}
END_TEST

/* What may come in place of a segment. */
static int open_file(void)
{
    return open("/dev/zero", O_RDWR | O_CLOEXEC);
}
static int open_unsealed(void)
{
    int fd = __real_memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ck_assert_int_eq(ftruncate(fd, (off_t)link_shm_size()), 0);
    return fd;
}
static int open_small(void)
{
    struct segment segment = segment_of(4096);
    int fd = dup(segment.fd);
    segment_close(&segment);
    return fd;
}
static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int (*const impostors[])(void) = { open_file, open_unsealed, open_small, open_socket };

START_TEST(what_is_no_segment_is_not_mapped)
{
    unsigned char bytes[UPGRADE_SIZE];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int passed = impostors[_i]();
    ck_assert_int_ge(passed, 0);
    encode(bytes, &(struct words){ GOOD, (link_shm_size() + page - 1) / page * page, 0, 0 });
    link_upgrade_accept(&sides[ACCEPTOR], fds[ACCEPTOR], TRANSPORT_AUTO);
    ck_assert_int_eq(say(ACCEPTOR, bytes, sizeof bytes, passed), 1);
    ck_assert(!sides[ACCEPTOR].shares);
    ck_assert_str_ne(sides[ACCEPTOR].why, "");
    close(passed);
}
END_TEST

static int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

START_TEST(of_two_descriptors_the_first_is_kept)
{
    unsigned char bytes[UPGRADE_SIZE];
    union {
        struct cmsghdr header;
        unsigned char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = { .header = { CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
    struct segment segment = segment_of(link_shm_size());
    struct iovec part = { bytes, sizeof bytes };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = CMSG_LEN(2 * sizeof(int)) };
    memcpy(CMSG_DATA(&control.header), (int[2]){ segment.fd, segment.fd }, 2 * sizeof(int));
    encode(bytes, &(struct words){ GOOD, segment.size, 0, 0 });
    link_upgrade_accept(&sides[ACCEPTOR], fds[ACCEPTOR], TRANSPORT_AUTO);
    int before = count_descriptors();
    ck_assert_int_eq(__real_sendmsg(fds[INITIATOR], &message, 0), UPGRADE_SIZE);
    ck_assert_int_eq(link_upgrade_move(&sides[ACCEPTOR], fds[ACCEPTOR], &err), 1);
    ck_assert(sides[ACCEPTOR].shares);
    ck_assert_int_eq(count_descriptors(), before + 1);
    segment_close(&segment);
}
END_TEST

/* A descriptor with each of the bytes. */
START_TEST(an_offer_in_pieces_is_one_and_of_many_descriptors_the_first_is_kept)
{
    unsigned char bytes[UPGRADE_SIZE];
    struct segment segment = segment_of(link_shm_size());
    encode(bytes, &(struct words){ GOOD, segment.size, 0, 0 });
    link_upgrade_accept(&sides[ACCEPTOR], fds[ACCEPTOR], TRANSPORT_AUTO);
    int before = count_descriptors();
    for (size_t at = 0; at < UPGRADE_SIZE; at++)
        ck_assert_int_eq(say(ACCEPTOR, bytes + at, 1, segment.fd), at + 1 == UPGRADE_SIZE);
    ck_assert(sides[ACCEPTOR].shares);
    ck_assert_int_eq(count_descriptors(), before + 1);
    segment_close(&segment);
}
END_TEST

/* At every byte, in either direction; nothing stays open. */
START_TEST(a_side_that_ends_in_between_is_lost)
{
    unsigned char bytes[UPGRADE_SIZE];
    int side = _i;
    struct segment segment = segment_of(link_shm_size());
    encode(bytes, &(struct words){ GOOD, segment.size, 0, 0 });
    int before = count_descriptors();
    for (size_t length = 0; length < UPGRADE_SIZE; length++) {
        teardown();
        open_pair();
        if (side == ACCEPTOR)
            link_upgrade_accept(&sides[side], fds[side], TRANSPORT_AUTO);
        else
            link_upgrade_initiate(&sides[side], fds[side], TRANSPORT_AUTO);
        ck_assert_int_eq(length ? say(side, bytes, length, side == ACCEPTOR ? segment.fd : -1) : 0,
                         0);
        shutdown(fds[1 - side], SHUT_RDWR);
        ck_assert_int_eq(link_upgrade_move(&sides[side], fds[side], &err), HVD_ERR_PEER_LOST);
        link_upgrade_fini(&sides[side]);
        ck_assert_int_eq(count_descriptors(), before);
    }
    segment_close(&segment);
}
END_TEST

/* Each byte of an offer, and of an answer, is something else. */
START_TEST(whatever_is_said_is_an_end_or_a_link)
{
    unsigned char bytes[UPGRADE_SIZE];
    struct segment segment = segment_of(link_shm_size());
    for (int side = 0; side < 2; side++)
        for (size_t at = 0; at < UPGRADE_SIZE; at++) {
            teardown();
            open_pair();
            if (side == ACCEPTOR)
                link_upgrade_accept(&sides[side], fds[side], TRANSPORT_AUTO);
            else
                link_upgrade_initiate(&sides[side], fds[side], TRANSPORT_AUTO);
            encode(bytes, &(struct words){ GOOD, segment.size, 0, 0 });
            bytes[at] ^= (unsigned char)(1 + at * 37 % 255);
            int rc = say(side, bytes, sizeof bytes, side == ACCEPTOR ? segment.fd : -1);
            ck_assert_int_eq(rc, rc == 1 ? 1 : HVD_ERR_PROTOCOL);
            ck_assert(rc < 0 || sides[side].shares == (sides[side].why[0] == '\0'));
        }
    segment_close(&segment);
}
END_TEST

START_TEST(what_is_not_made_a_link_leaves_nothing)
{
    int before = count_descriptors();
    agree(TRANSPORT_AUTO, TRANSPORT_AUTO);
    ck_assert_int_eq(count_descriptors(), before + 2);
    link_upgrade_fini(&sides[0]);
    link_upgrade_fini(&sides[1]);
    ck_assert_int_eq(count_descriptors(), before);
}
END_TEST

START_TEST(a_link_keeps_only_its_socket)
{
    int before = count_descriptors();
    agree(TRANSPORT_AUTO, TRANSPORT_AUTO);
    make_links();
    ck_assert_int_eq(count_descriptors(), before);
}
END_TEST

/* ---- HVD_TRANSPORT ---- */

static const struct {
    enum transport wanted;
    enum transport is;
    enum transport_verdict verdict;
} verdicts[] = {
    { TRANSPORT_AUTO, TRANSPORT_SHM, TRANSPORT_FINE },
    { TRANSPORT_AUTO, TRANSPORT_UNIX, TRANSPORT_LESSER },
    { TRANSPORT_AUTO, TRANSPORT_TCP, TRANSPORT_LESSER },
    { TRANSPORT_SHM, TRANSPORT_SHM, TRANSPORT_FINE },
    { TRANSPORT_SHM, TRANSPORT_UNIX, TRANSPORT_REFUSED },
    { TRANSPORT_SHM, TRANSPORT_TCP, TRANSPORT_REFUSED },
    { TRANSPORT_UNIX, TRANSPORT_UNIX, TRANSPORT_FINE },
    { TRANSPORT_UNIX, TRANSPORT_TCP, TRANSPORT_LESSER },
    { TRANSPORT_TCP, TRANSPORT_TCP, TRANSPORT_FINE },
};

START_TEST(a_link_is_what_is_wanted_or_less)
{
    ck_assert_int_eq(transport_judge(verdicts[_i].wanted, verdicts[_i].is), verdicts[_i].verdict);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_upgrade");
    TCase *tcase = tcase_create("link_upgrade");
    descriptors_watch(tcase);
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, two_that_can_share_memory);
    tcase_add_test(tcase, what_is_used_from_the_beginning_is_allocated_first_and_no_more);
    tcase_add_loop_test(tcase, two_that_cannot_keep_the_socket_and_know_why, 0,
                        sizeof refusals / sizeof *refusals);
    tcase_add_loop_test(tcase, an_offer_is_taken_at_its_word_only_if_it_can_be, 0,
                        sizeof offers / sizeof *offers);
    tcase_add_loop_test(tcase, an_answer_is_to_what_was_offered, 0,
                        sizeof answers / sizeof *answers);
    tcase_add_test(tcase, a_yes_to_a_no_changes_nothing);
    tcase_add_loop_test(tcase, what_is_no_segment_is_not_mapped, 0,
                        sizeof impostors / sizeof *impostors);
    tcase_add_test(tcase, of_two_descriptors_the_first_is_kept);
    tcase_add_test(tcase, an_offer_in_pieces_is_one_and_of_many_descriptors_the_first_is_kept);
    tcase_add_loop_test(tcase, a_side_that_ends_in_between_is_lost, 0, 2);
    tcase_add_test(tcase, whatever_is_said_is_an_end_or_a_link);
    tcase_add_test(tcase, what_is_not_made_a_link_leaves_nothing);
    tcase_add_test(tcase, a_link_keeps_only_its_socket);
    tcase_add_loop_test(tcase, a_link_is_what_is_wanted_or_less, 0,
                        sizeof verdicts / sizeof *verdicts);
    return unit_run(suite);
}
