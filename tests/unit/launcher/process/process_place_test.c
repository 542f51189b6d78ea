/* SPDX-License-Identifier: Apache-2.0 */
/* Where processes stand, and which process works for a rank. The processes are children that stop
 * themselves, so that the kernel's answer does not change. */
#include "launcher/process/process_place.h"

#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT = 4000, THREADS_MAX = 12 };

static pid_t started;
static char text[TEXT];
static const char *thread_names[THREADS_MAX];
static pthread_barrier_t named;

static void *be_thread(void *name)
{
    prctl(PR_SET_NAME, name);
    pthread_barrier_wait(&named);
    for (;;)
        pause();
    return NULL;
}

/* A process with so many further threads, all of which are stopped when this returns. */
static void start_stopped(int nthreads)
{
    int status;
    started = fork();
    if (started == 0) {
        pthread_t threads[THREADS_MAX];
        pthread_barrier_init(&named, NULL, (unsigned int)nthreads + 1);
        for (int i = 0; i < nthreads; i++)
            pthread_create(&threads[i], NULL, be_thread, (void *)thread_names[i]);
        pthread_barrier_wait(&named);
        raise(SIGSTOP);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(started, &status, WUNTRACED), started);
    ck_assert(WIFSTOPPED(status));
}

static void end_started(void)
{
    kill(started, SIGKILL);
    ck_assert_int_eq(waitpid(started, NULL, 0), started);
}

/* Also those of a sanitizer. */
static int count_threads(void)
{
    char path[40];
    int found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)started);
    DIR *tasks = opendir(path);
    ck_assert_ptr_nonnull(tasks);
    for (struct dirent *entry; (entry = readdir(tasks));)
        found += entry->d_name[0] != '.';
    closedir(tasks);
    return found;
}

static int count(const char *what)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        found++;
    return found;
}

/* Threads may follow: a sanitizer begins one in each process, at a moment of its own. */
static void is_main_place(const char *expected)
{
    size_t length = strcspn(text, ";");
    ck_assert_msg(length == strlen(expected) && strncmp(text, expected, length) == 0, "%s", text);
}

START_TEST(a_process_that_is_gone_has_neither_place_nor_names)
{
    char name[32] = "before";
    start_stopped(0);
    end_started();
    snprintf(text, sizeof text, "before");
    process_place_text(started, text, sizeof text);
    ck_assert_str_eq(text, "");
    process_thread_name(started, started, name, sizeof name);
    ck_assert_str_eq(name, "");
}
END_TEST

/* What stands before it, the function of the kernel, only root may see. */
START_TEST(the_state_of_a_process_is_told)
{
    start_stopped(0);
    process_place_text(started, text, sizeof text);
    size_t length = strlen(text);
    ck_assert_uint_ge(length, 7);
    ck_assert_str_eq(text + length - 7, "state T");
    ck_assert_int_eq(count("thread"), count_threads() - 1);
    end_started();
}
END_TEST

/* The functions of the kernel in which the process is, the innermost first, are in its stack. */
START_TEST(whoever_may_see_the_kernels_stack_is_told_the_functions_on_it)
{
    char path[64], stack[2048], first[64], second[64], expected[140];
    start_stopped(0);
    snprintf(path, sizeof path, "/proc/%d/stack", (int)started);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, stack, sizeof stack - 1);
    stack[length > 0 ? length : 0] = '\0';
    if (sscanf(stack, "[<%*[^>]>] %63[^+\n]%*[^\n] [<%*[^>]>] %63[^+\n]", first, second) == 2) {
        snprintf(expected, sizeof expected, "%s <- %s", first, second);
        process_place_text(started, text, sizeof text);
        ck_assert_msg(strstr(text, expected), "'%s' is in: %s", expected, text);
    }
    if (fd >= 0)
        close(fd);
    end_started();
}
END_TEST

/* Without the capabilities of root. */
static void be_anybody(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
    if (syscall(SYS_capset, &header, none) != 0)
        _exit(1);
}

/* What a process without capabilities is told of the process that was started. */
static void ask_as_anybody(void)
{
    int ends[2], status;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t asks = fork();
    if (asks == 0) {
        be_anybody();
        process_place_text(started, text, sizeof text);
        _exit(write(ends[1], text, strlen(text)) > 0 ? 0 : 2);
    }
    close(ends[1]);
    ssize_t length = read(ends[0], text, sizeof text - 1);
    ck_assert_int_gt(length, 0);
    text[length] = '\0';
    close(ends[0]);
    ck_assert_int_eq(waitpid(asks, &status, 0), asks);
    ck_assert_int_eq(status, 0);
}

/* The kernel says "0" for the function, which is none. */
START_TEST(of_a_process_that_may_not_be_traced_the_state_alone_is_told)
{
    int status;
    started = fork();
    if (started == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        raise(SIGSTOP);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(started, &status, WUNTRACED), started);
    ask_as_anybody();
    is_main_place("state T");
    ck_assert_int_eq(count("; thread "), count_threads() - 1);
    ck_assert_int_eq(count(": state T"), count_threads() - 1);
    end_started();
}
END_TEST

START_TEST(a_process_that_computes_runs)
{
    started = fork();
    for (; started == 0;)
        ;
    process_place_text(started, text, sizeof text);
    is_main_place("runs");
    end_started();
}
END_TEST

START_TEST(threads_are_named_and_those_of_libhvd_are_left_out)
{
    static const char *const names[] = { "loader", "hvd_progress", "hv" };
    char name[32];
    for (int i = 0; i < 3; i++)
        thread_names[i] = names[i];
    start_stopped(3);
    process_place_text(started, text, sizeof text);
    ck_assert_int_eq(count("; thread "), count_threads() - 2);
    ck_assert_int_eq(count("; thread loader: "), 1);
    ck_assert_int_eq(count("; thread hv: "), 1);
    ck_assert_int_eq(count("state T"), count_threads() - 1);
    process_thread_name(started, started, name, sizeof name);
    ck_assert_uint_gt(strlen(name), 0);
    ck_assert_ptr_null(strchr(name, '\n'));
    end_started();
}
END_TEST

START_TEST(a_name_that_is_too_long_is_cut)
{
    char name[] = "12345678";
    prctl(PR_SET_NAME, "process");
    process_thread_name(getpid(), getpid(), name, 4);
    ck_assert_mem_eq(name, "pro\0005678", sizeof name);
}
END_TEST

START_TEST(of_many_threads_eight_are_described)
{
    for (int i = 0; i < THREADS_MAX; i++)
        thread_names[i] = "worker";
    start_stopped(4);
    process_place_text(started, text, sizeof text);
    ck_assert_int_eq(count("; thread worker: "), 4);
    end_started();
    start_stopped(THREADS_MAX);
    process_place_text(started, text, sizeof text);
    ck_assert_int_eq(count("; thread "), 7);
    end_started();
}
END_TEST

/* ---- the process of a rank ---- */

static int pids[2]; /* of the descendants come out of [0] */

static void say_pid(void)
{
    pid_t pid = getpid();
    if (write(pids[1], &pid, sizeof pid) != sizeof pid)
        _exit(1);
}

static pid_t next_pid(void)
{
    pid_t pid;
    ck_assert_int_eq(read(pids[0], &pid, sizeof pid), sizeof pid);
    return pid;
}

static void live(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    say_pid();
    for (;;)
        pause();
}

/* A process with a child, which has so many children; `maps` is mapped into the last one. */
static void start_tree(int nchildren, int maps)
{
    ck_assert_int_eq(pipe(pids), 0);
    started = fork();
    if (started > 0)
        return;
    if (fork() > 0)
        live();
    for (int i = 0; i < nchildren; i++)
        if (fork() == 0) {
            if (maps >= 0 && i == nchildren - 1)
                mmap(NULL, 1, PROT_READ, MAP_PRIVATE, maps, 0);
            live();
        }
    live();
}

/* Its descendants end with their parents. */
static void end_tree(void)
{
    end_started();
    close(pids[0]);
    close(pids[1]);
}

static pid_t parent_of(pid_t pid)
{
    char path[40], stat[400];
    pid_t parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(stat, sizeof stat, file));
    fclose(file);
    ck_assert_int_eq(sscanf(strrchr(stat, ')'), ") %*c %d", &parent), 1);
    return parent;
}

START_TEST(a_process_without_children_works_itself)
{
    start_stopped(0);
    ck_assert_int_eq(process_of_rank(started), started);
    end_started();
}
END_TEST

START_TEST(behind_wrappers_the_last_of_the_chain_works)
{
    start_tree(1, -1);
    for (int i = 0; i < 3; i++)
        next_pid();
    pid_t works = process_of_rank(started);
    ck_assert_int_ne(works, started);
    ck_assert_int_eq(parent_of(parent_of(works)), started);
    end_tree();
}
END_TEST

START_TEST(a_process_with_several_children_is_no_wrapper)
{
    start_tree(2, -1);
    for (int i = 0; i < 4; i++)
        next_pid();
    ck_assert_int_eq(parent_of(process_of_rank(started)), started);
    end_tree();
}
END_TEST

START_TEST(the_process_with_libhvd_works_wherever_it_is)
{
    char folder[] = "/tmp/process_place.XXXXXX", path[60];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libhvd.so.0", folder);
    int library = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(library, "x", 1), 1);
    start_tree(2, library);
    for (int i = 0; i < 4; i++)
        next_pid();
    pid_t works = process_of_rank(started);
    ck_assert_int_eq(parent_of(parent_of(works)), started);
    end_tree();
    close(library);
    unlink(path);
    rmdir(folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("process_place");
    TCase *places = tcase_create("places"), *ranks = tcase_create("ranks");
    descriptors_watch(places);
    descriptors_watch(ranks);
    tcase_add_test(places, a_process_that_is_gone_has_neither_place_nor_names);
    tcase_add_test(places, the_state_of_a_process_is_told);
    tcase_add_test(places, whoever_may_see_the_kernels_stack_is_told_the_functions_on_it);
    tcase_add_test(places, of_a_process_that_may_not_be_traced_the_state_alone_is_told);
    tcase_add_test(places, a_process_that_computes_runs);
    tcase_add_test(places, threads_are_named_and_those_of_libhvd_are_left_out);
    tcase_add_test(places, a_name_that_is_too_long_is_cut);
    tcase_add_test(places, of_many_threads_eight_are_described);
    suite_add_tcase(suite, places);
    tcase_add_test(ranks, a_process_without_children_works_itself);
    tcase_add_test(ranks, behind_wrappers_the_last_of_the_chain_works);
    tcase_add_test(ranks, a_process_with_several_children_is_no_wrapper);
    tcase_add_test(ranks, the_process_with_libhvd_works_wherever_it_is);
    suite_add_tcase(suite, ranks);
    return unit_run(suite);
}
