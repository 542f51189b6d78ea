/* SPDX-License-Identifier: Apache-2.0 */
/* A lock tells whether another process has memory open, also when that process dies, and is never
 * mistaken for another file. */
#include "lib/cuda/ipc_lock.h"

#include "lib/cuda/reducer_impl.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int owned;
static struct ipc_lock_id id;

static void lock_create(void)
{
    struct err err;
    owned = ipc_lock_create(&id, &err);
    ck_assert_int_ge(owned, 0);
}

static void lock_close(void)
{
    ipc_lock_close(owned);
}

/* A process that shares the lock; when it has, a byte comes. It ends, or closes the lock and stays,
 * when the other end of `orders` is written to. */
struct sharer {
    pid_t pid;
    int orders, answers;
};

static _Noreturn void sharer_run(int orders, int answers)
{
    struct err err;
    char byte;
    int fd = ipc_lock_share(&id, &err);
    if (fd < 0 || write(answers, "s", 1) != 1 || read(orders, &byte, 1) != 1)
        _exit(1);
    ipc_lock_close(fd);
    if (write(answers, "c", 1) != 1 || read(orders, &byte, 1) != 0)
        _exit(1);
    _exit(0);
}

static struct sharer sharer_start(void)
{
    int orders[2], answers[2];
    char byte;
    ck_assert_int_eq(pipe2(orders, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(answers, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(orders[1]);
        sharer_run(orders[0], answers[1]);
    }
    close(orders[0]);
    close(answers[1]);
    ck_assert_int_eq(read(answers[0], &byte, 1), 1);
    return (struct sharer){ pid, orders[1], answers[0] };
}

static void sharer_end(struct sharer *sharer)
{
    close(sharer->orders);
    close(sharer->answers);
    ck_assert_int_eq(waitpid(sharer->pid, NULL, 0), sharer->pid);
}

START_TEST(a_lock_that_nobody_shares_is_free)
{
    ck_assert(ipc_lock_is_free(owned));
}
END_TEST

START_TEST(a_lock_is_free_when_the_other_has_closed_it)
{
    char byte;
    struct sharer sharer = sharer_start();
    ck_assert(!ipc_lock_is_free(owned));
    ck_assert_int_eq(write(sharer.orders, "x", 1), 1);
    ck_assert_int_eq(read(sharer.answers, &byte, 1), 1);
    ck_assert(ipc_lock_is_free(owned));
    sharer_end(&sharer);
}
END_TEST

START_TEST(a_lock_is_free_when_the_other_is_killed)
{
    struct sharer sharer = sharer_start();
    ck_assert(!ipc_lock_is_free(owned));
    kill(sharer.pid, SIGKILL);
    sharer_end(&sharer);
    ck_assert(ipc_lock_is_free(owned));
}
END_TEST

START_TEST(a_lock_that_was_found_free_is_shared_by_nobody)
{
    struct err err;
    ck_assert(ipc_lock_is_free(owned));
    ck_assert_int_eq(ipc_lock_share(&id, &err), HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, " was given up"));
}
END_TEST

START_TEST(a_lock_of_a_process_that_is_gone_is_not_found)
{
    struct err err;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    id.pid = pid;
    ck_assert_int_eq(ipc_lock_share(&id, &err), HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, "No such file or directory"));
}
END_TEST

/* A descriptor that is used again, or the same numbers in another PID namespace. */
START_TEST(another_file_at_its_place_is_not_locked)
{
    struct err err;
    int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(dup2(other, owned), owned);
    ck_assert_int_eq(ipc_lock_share(&id, &err), HVD_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(err.text, " is another file"));
    close(other);
}
END_TEST

/* The memory cannot be freed any more; who has it open need not be waited for. */
START_TEST(buffers_that_are_left_give_up_their_locks)
{
    struct err err;
    struct cuda_reducer reducer = { .lock = PTHREAD_MUTEX_INITIALIZER };
    int locks[2];
    for (int i = 0; i < 2; i++) {
        struct ipc_buffer *buffer = calloc(1, sizeof *buffer);
        locks[i] = buffer->lock = ipc_lock_create(&buffer->id, &err);
        ipc_buffer_retire(&reducer, buffer);
    }
    ipc_buffers_leave(&reducer);
    ck_assert_ptr_null(reducer.retired);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(fcntl(locks[i], F_GETFD), -1);
}
END_TEST

START_TEST(without_descriptors_there_is_no_lock)
{
    struct err err;
    struct ipc_lock_id none;
    int count = 0, taken[1024];
    while (count < 1024 && (taken[count] = dup(owned)) >= 0)
        count++;
    if (count < 1024) {
        ck_assert_int_eq(ipc_lock_create(&none, &err), HVD_ERR_SYSTEM);
        ck_assert_ptr_nonnull(strstr(err.text, "Too many open files"));
        ck_assert_int_eq(ipc_lock_share(&id, &err), HVD_ERR_SYSTEM);
    }
    while (count > 0)
        close(taken[--count]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ipc_lock");
    TCase *tcase = tcase_create("ipc_lock");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, lock_create, lock_close);
    tcase_add_test(tcase, a_lock_that_nobody_shares_is_free);
    tcase_add_test(tcase, a_lock_is_free_when_the_other_has_closed_it);
    tcase_add_test(tcase, a_lock_is_free_when_the_other_is_killed);
    tcase_add_test(tcase, a_lock_that_was_found_free_is_shared_by_nobody);
    tcase_add_test(tcase, a_lock_of_a_process_that_is_gone_is_not_found);
    tcase_add_test(tcase, another_file_at_its_place_is_not_locked);
    tcase_add_test(tcase, buffers_that_are_left_give_up_their_locks);
    tcase_add_test(tcase, without_descriptors_there_is_no_lock);
    return unit_run(suite);
}
