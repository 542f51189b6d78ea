/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for the driver (tests/stand_in_cuda) shares memory between processes as the driver
 * does, and refuses what the driver refuses, so that tests of lib/cuda see both. */
#include "tests/stand_in_cuda/stand_in.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NBYTES = 4096, FLAGS = CUDA_IPC_LAZY_PEER_ACCESS };

static struct cuda_context *contexts[2];

static void driver_start(void)
{
    stand_in_configure("gpus=2");
    ck_assert_int_eq(stand_in_call_init(0), CUDA_OK);
    for (int gpu = 0; gpu < 2; gpu++)
        ck_assert_int_eq(stand_in_call_primary_retain(&contexts[gpu], gpu), CUDA_OK);
    ck_assert_int_eq(stand_in_call_push(contexts[0]), CUDA_OK);
}

static uint64_t allocate(void)
{
    uint64_t memory;
    ck_assert_int_eq(stand_in_call_mem_alloc(&memory, NBYTES), CUDA_OK);
    return memory;
}

static struct cuda_ipc_handle export(uint64_t memory)
{
    struct cuda_ipc_handle handle;
    ck_assert_int_eq(stand_in_call_ipc_get_handle(&handle, memory), CUDA_OK);
    return handle;
}

/* The exit status of another process. */
static int in_another_process(int (*body)(struct cuda_ipc_handle handle),
                              struct cuda_ipc_handle handle)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(body(handle));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Bodies return the number of the first thing that is not as it should be. */
static int write_through(struct cuda_ipc_handle handle)
{
    uint64_t memory;
    if (stand_in_call_ipc_open(&memory, handle, FLAGS) != CUDA_OK)
        return 1;
    unsigned char *there = stand_in_pointer(memory, NBYTES);
    if (!there || stand_in_pointer(memory, NBYTES + 1) || there[0] != 'a')
        return 2;
    there[NBYTES - 1] = 'z';
    if (stand_in_call_mem_free(memory) != CUDA_INVALID_VALUE)
        return 3;
    if (stand_in_call_ipc_close(memory + 1) != CUDA_INVALID_VALUE)
        return 4;
    stand_in_call_push(contexts[1]);
    if (stand_in_call_ipc_close(memory) != CUDA_INVALID_CONTEXT)
        return 5;
    stand_in_call_pop(&contexts[1]);
    if (stand_in_call_ipc_close(memory) != CUDA_OK || stand_in_pointer(memory, 1))
        return 6;
    return stand_in_call_ipc_close(memory) == CUDA_INVALID_VALUE ? 0 : 7;
}

START_TEST(both_processes_have_the_same_memory_until_it_is_closed)
{
    uint64_t memory = allocate();
    unsigned char *there = stand_in_pointer(memory, NBYTES);
    there[0] = 'a';
    ck_assert_int_eq(in_another_process(write_through, export(memory)), 0);
    ck_assert_int_eq(there[NBYTES - 1], 'z');
    ck_assert_int_eq(stand_in_call_mem_free(memory), CUDA_OK);
}
END_TEST

static int open_result(struct cuda_ipc_handle handle)
{
    uint64_t memory;
    return stand_in_call_ipc_open(&memory, handle, FLAGS) % 256;
}

START_TEST(a_handle_of_memory_that_was_freed_is_refused)
{
    uint64_t memory = allocate();
    struct cuda_ipc_handle handle = export(memory);
    ck_assert_int_eq(stand_in_call_mem_free(memory), CUDA_OK);
    allocate(); /* where it may have been */
    ck_assert_int_eq(in_another_process(open_result, handle), CUDA_INVALID_VALUE);
}
END_TEST

START_TEST(the_process_that_made_a_handle_cannot_open_it)
{
    ck_assert_int_eq(open_result(export(allocate())), CUDA_INVALID_CONTEXT);
}
END_TEST

static int open_on_the_other_gpu(struct cuda_ipc_handle handle)
{
    uint64_t memory;
    stand_in_call_push(contexts[1]);
    if (stand_in_call_ipc_open(&memory, handle, FLAGS) != CUDA_OK)
        return 1;
    stand_in_call_ipc_close(memory);
    if (stand_in_call_ipc_open(&memory, handle, 0) != CUDA_INVALID_VALUE)
        return 2;
    stand_in_configure("gpus=2 peers=0");
    return open_result(handle) == CUDA_PEER_ACCESS_UNSUPPORTED ? 0 : 3;
}

START_TEST(another_gpu_needs_peer_access)
{
    ck_assert_int_eq(in_another_process(open_on_the_other_gpu, export(allocate())), 0);
}
END_TEST

START_TEST(only_the_beginning_of_memory_of_its_own_is_exported)
{
    struct cuda_ipc_handle handle;
    struct cuda_stream *stream;
    uint64_t pooled, memory = allocate();
    void *managed = stand_in_alloc(0, true, NBYTES);
    ck_assert_int_eq(stand_in_call_stream_create(&stream, CUDA_STREAM_NON_BLOCKING), CUDA_OK);
    ck_assert_int_eq(stand_in_call_mem_alloc_async(&pooled, NBYTES, stream), CUDA_OK);
    const uint64_t wrong[] = { memory + 8, pooled, (uintptr_t)managed, 0 };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(stand_in_call_ipc_get_handle(&handle, wrong[i]), CUDA_INVALID_VALUE);
    stand_in_configure("gpus=2 ipc=0");
    ck_assert_int_eq(stand_in_call_ipc_get_handle(&handle, memory), CUDA_NOT_SUPPORTED);
    ck_assert_int_eq(stand_in_call_stream_destroy(stream), CUDA_OK);
}
END_TEST

START_TEST(a_context_is_needed)
{
    uint64_t memory = allocate();
    struct cuda_ipc_handle handle = export(memory);
    ck_assert_int_eq(stand_in_call_pop(&contexts[0]), CUDA_OK);
    ck_assert_int_eq(stand_in_call_ipc_get_handle(&handle, memory), CUDA_INVALID_CONTEXT);
    ck_assert_int_eq(open_result(handle), CUDA_INVALID_CONTEXT);
    ck_assert_int_eq(stand_in_call_ipc_close(memory), CUDA_INVALID_CONTEXT);
}
END_TEST

/* It frees what its parent has open. */
static int free_too_early(struct cuda_ipc_handle handle)
{
    (void)handle;
    char byte = 0;
    int handles[2], orders[2];
    if (pipe(handles) < 0 || pipe(orders) < 0)
        return 1;
    pid_t pid = fork();
    if (pid == 0) {
        uint64_t memory;
        if (read(handles[0], &handle, sizeof handle) != sizeof handle)
            _exit(1);
        byte = (char)stand_in_call_ipc_open(&memory, handle, FLAGS);
        if (write(orders[1], &byte, 1) == 1)
            pause();
        _exit(1);
    }
    uint64_t memory = allocate();
    handle = export(memory);
    if (write(handles[1], &handle, sizeof handle) != sizeof handle ||
        read(orders[0], &byte, 1) != 1)
        return 2;
    pid_t freer = fork();
    if (freer == 0) {
        close(STDERR_FILENO);
        stand_in_call_mem_free(memory);
        _exit(0);
    }
    int status;
    waitpid(freer, &status, 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    if (byte != 0 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        return 3;
    return stand_in_call_mem_free(memory) == CUDA_OK ? 0 : 4; /* the other is gone */
}

START_TEST(memory_that_another_process_has_open_is_freed_only_when_it_is_gone)
{
    struct cuda_ipc_handle none = { { 0 } };
    ck_assert_int_eq(in_another_process(free_too_early, none), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stand_in_ipc");
    TCase *tcase = tcase_create("stand_in_ipc");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, driver_start, NULL);
    tcase_add_test(tcase, both_processes_have_the_same_memory_until_it_is_closed);
    tcase_add_test(tcase, a_handle_of_memory_that_was_freed_is_refused);
    tcase_add_test(tcase, the_process_that_made_a_handle_cannot_open_it);
    tcase_add_test(tcase, another_gpu_needs_peer_access);
    tcase_add_test(tcase, only_the_beginning_of_memory_of_its_own_is_exported);
    tcase_add_test(tcase, a_context_is_needed);
    tcase_add_test(tcase, memory_that_another_process_has_open_is_freed_only_when_it_is_gone);
    return unit_run(suite);
}
