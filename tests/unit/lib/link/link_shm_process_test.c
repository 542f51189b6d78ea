/* SPDX-License-Identifier: Apache-2.0 */
/* Links over shared memory to another process: which is killed, stopped, or closes its
 * memory to others. */
#include "lib/link/link_shm_impl.h"
#include "tests/support/shm_pair.h"
#include "tests/support/unit.h"

#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct err err;

static struct link *link_here;
static pid_t child;

static void teardown(void)
{
    kill(child, SIGKILL);
    link_close(link_here);
}

static void wait_for(int signal)
{
    int status;
    ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
    ck_assert_int_eq(WIFSTOPPED(status) ? WSTOPSIG(status) : WTERMSIG(status), signal);
}

/* ---- a child that is killed ---- */

static unsigned char *shared, *private_bytes;

/* 10 bytes, 64 KiB of a segment, 10 bytes, and if it is to be, private memory. */
static void send_and_die(struct link *link, void *offers_private)
{
    struct shm_reference reference = { (uintptr_t)private_bytes, 100, 0 };
    struct iovec part = { (char[]){ "0123456789" }, 10 };
    while (atomic_load(&link_shm_of(link)->doorbell.other->can_fetch) == SHM_NOT_KNOWN)
        sched_yield();
    offers_private = link_shm_of(link)->pid ? offers_private : NULL; /* where it is permitted */
    shared = shm_heap_alloc(65536);
    memset(shared, 'x', 65536);
    link_offer(link, shared, 65536, NULL);
    while (atomic_load(&link_shm_of(link)->doorbell.other->answered) == 0)
        sched_yield();
    link_try_send(link, &part, 1, NULL);
    link_offer(link, shared, 65536, NULL);
    link_try_send(link, &part, 1, NULL);
    if (offers_private)
        shm_writer_refer(&link_shm_of(link)->out, SHM_PRIVATE, &reference, NULL);
    raise(SIGKILL);
}

START_TEST(what_a_killed_process_sent_arrives)
{
    unsigned char bytes[65536 + 20];
    size_t nbytes;
    private_bytes = calloc(1, 100);
    child = shm_pair_fork(&link_here, send_and_die, _i ? &child : NULL);
    while (atomic_load(&link_shm_of(link_here)->doorbell.own->answered) == 0) {
        link_peek(link_here, &nbytes);
        sched_yield();
    }
    wait_for(SIGKILL);
    ck_assert_int_eq(link_check(link_here, &err), HVD_OK);
    ck_assert_int_eq(shm_receive_all(link_here, bytes, sizeof bytes, &err), HVD_OK);
    ck_assert_mem_eq(bytes, "0123456789xxxxx", 15);
    ck_assert_mem_eq(bytes + 10 + 65530, "xxxxxx0123456789", 16);
    ck_assert_int_eq(link_try_receive(link_here, bytes, 1, &err), HVD_ERR_PEER_LOST);
    ck_assert_str_eq(err.text, "closed by the other side");
    free(private_bytes);
}
END_TEST

static void sleep_for_ever(struct link *link, void *unused)
{
    (void)link;
    (void)unused;
    for (;;)
        pause();
}

START_TEST(who_waits_for_a_process_that_is_killed_is_woken)
{
    struct iovec part = { &child, 1 };
    child = shm_pair_fork(&link_here, sleep_for_ever, NULL);
    if (_i)
        while (link_try_send(link_here, &part, 1, &err) > 0)
            ;
    short events, wanted = _i ? POLLOUT : POLLIN;
    ck_assert(link_sleep(link_here, wanted, &events));
    kill(child, SIGKILL);
    struct pollfd ready = { .fd = link_pollable(link_here), .events = events };
    ck_assert_int_eq(poll(&ready, 1, 20000), 1);
    int rc = _i ? (int)link_try_send(link_here, &part, 1, &err)
                : (int)link_try_receive(link_here, &child, 1, &err);
    ck_assert_int_eq(rc, HVD_ERR_PEER_LOST);
}
END_TEST

START_TEST(who_does_not_sleep_hears_of_it_by_a_look)
{
    char byte;
    child = shm_pair_fork(&link_here, sleep_for_ever, NULL);
    ck_assert_int_eq(link_try_receive(link_here, &byte, 1, &err), 0);
    kill(child, SIGKILL);
    wait_for(SIGKILL);
    ck_assert_int_eq(link_check(link_here, &err), HVD_OK);
    ck_assert_int_eq(link_try_receive(link_here, &byte, 1, &err), HVD_ERR_PEER_LOST);
}
END_TEST

/* ---- a child that is stopped ---- */

static void stop_and_echo(struct link *link, void *unused)
{
    (void)unused;
    unsigned char byte;
    raise(SIGSTOP);
    while (shm_receive_all(link, &byte, 1, NULL) == HVD_OK)
        shm_send_all(link, &byte, 1, NULL);
}

START_TEST(who_waits_for_a_stopped_process_sleeps_until_it_goes_on)
{
    unsigned char byte = 'a';
    short events;
    child = shm_pair_fork(&link_here, stop_and_echo, NULL);
    wait_for(SIGSTOP);
    ck_assert_int_eq(shm_send_all(link_here, &byte, 1, &err), HVD_OK);
    ck_assert(link_sleep(link_here, POLLIN, &events));
    struct pollfd ready = { .fd = link_pollable(link_here), .events = events };
    ck_assert_int_eq(poll(&ready, 1, 0), 0);
    kill(child, SIGCONT);
    ck_assert_int_eq(poll(&ready, 1, 20000), 1);
    ck_assert_int_eq(shm_receive_all(link_here, &byte, 1, &err), HVD_OK);
}
END_TEST

/* ---- a child that lets nobody read its memory any more ---- */

/* By offers where they are taken; all is taken when it returns. */
static void offer_all(struct link *link, const unsigned char *data, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        size_t piece = size - sent < OFFER ? size - sent : OFFER;
        struct iovec part = { (void *)(uintptr_t)(data + sent), piece };
        ssize_t now = link_offer(link, data + sent, piece, NULL);
        if (now == 0 && (now = link_try_send(link, &part, 1, NULL)) == 0)
            shm_wait(link, POLLOUT);
        if (now < 0)
            _exit(1);
        sent += (size_t)now;
        link_taken(link);
    }
    while (link_taken(link) != link_shm_of(link)->offered)
        shm_wait(link, POLLOUT);
}

/* The same vector, before and after; begun when the parent has said that it can read. */
static void close_memory(struct link *link, void *data)
{
    unsigned char byte;
    shm_receive_all(link, &byte, 1, NULL);
    offer_all(link, data, VECTOR);
    prctl(PR_SET_DUMPABLE, 0);
    offer_all(link, data, VECTOR);
    offer_all(link, data, VECTOR);
    shm_receive_all(link, &byte, 1, NULL);
}

/* Root, too, needs a leave to read what nobody else may. */
static void drop_leave_to_read(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2];
    ck_assert_int_eq(syscall(SYS_capget, &header, sets), 0);
    sets[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective &= ~CAP_TO_MASK(CAP_SYS_PTRACE);
    ck_assert_int_eq(syscall(SYS_capset, &header, sets), 0);
}

START_TEST(memory_that_was_read_and_is_closed_is_copied)
{
    unsigned char *data = malloc(VECTOR), *got = malloc(VECTOR);
    for (size_t i = 0; i < VECTOR; i++)
        data[i] = (unsigned char)(i * 2654435761u >> 24);
    drop_leave_to_read();
    child = shm_pair_fork(&link_here, close_memory, data);
    bool could_read = link_shm_of(link_here)->pid != 0;
    ck_assert_int_eq(shm_send_all(link_here, "", 1, &err), HVD_OK);
    for (int round = 0; round < 3; round++) {
        ck_assert_msg(shm_receive_all(link_here, got, VECTOR, &err) == HVD_OK, "%s", err.text);
        ck_assert_mem_eq(got, data, VECTOR);
    }
    if (could_read)
        ck_assert(link_shm_of(link_here)->declines);
    else
        printf("# skipped: the memory of another process cannot be read here to begin with\n");
    free(data);
    free(got);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_shm_process");
    TCase *tcase = tcase_create("link_shm_process");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_loop_test(tcase, what_a_killed_process_sent_arrives, 0, 2);
    tcase_add_loop_test(tcase, who_waits_for_a_process_that_is_killed_is_woken, 0, 2);
    tcase_add_test(tcase, who_does_not_sleep_hears_of_it_by_a_look);
    tcase_add_test(tcase, who_waits_for_a_stopped_process_sleeps_until_it_goes_on);
    tcase_add_test(tcase, memory_that_was_read_and_is_closed_is_copied);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
