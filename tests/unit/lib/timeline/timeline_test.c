/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a timeline is read by a strict reader of JSON whenever something was written, also
 * when the disk is full; what it says are the spans that were told.
 * Linked with -Wl,--wrap=pwrite,--wrap=clock_gettime. */
#include "lib/timeline/timeline.h"

#include "lib/base/log.h"
#include "lib/timeline/timeline_file.h"
#include "lib/timeline/timeline_names.h"
#include "tests/support/json.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64], path[80];
static char *text; /* of the file */

static void set_up(void)
{
    snprintf(directory, sizeof directory, "/tmp/hvd-timeline-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/t.json", directory);
}

static void tear_down(void)
{
    free(text);
    text = NULL;
    unlink(path);
    rmdir(directory);
}

static const char *contents(void)
{
    struct stat info;
    int fd = open(path, O_RDONLY);
    ck_assert_int_eq(fstat(fd, &info), 0);
    free(text);
    text = calloc(1, (size_t)info.st_size + 1);
    ck_assert_int_eq(read(fd, text, (size_t)info.st_size), info.st_size);
    close(fd);
    return text;
}

/* Records in the file, which must be right. */
static int records(void)
{
    contents();
    int count = json_array_length(text, strlen(text));
    ck_assert_msg(count >= 0, "not JSON: %s", text);
    return count;
}

static int occurrences(const char *word)
{
    int count = 0;
    for (const char *at = contents(); (at = strstr(at, word)); at++)
        count++;
    return count;
}

static struct timeline *open_it(bool mark_cycles)
{
    struct err err = { 0 };
    struct timeline *timeline = timeline_open(path, mark_cycles, &err);
    ck_assert_msg(timeline != NULL, "%s", err.text);
    return timeline;
}

enum { START_RECORDS = 2, TENSOR_RECORDS = 2 };

static const struct {
    const char *text;
    int length; /* -1: not JSON */
} judged[] = {
    { "[]", 0 },
    { " [ 1 , -2.5e+3,\"a\\u00e9\\n\", {\"a\":[true,null]}, {} ]\n", 5 },
    { "[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"]", 1 },
    { "", -1 },
    { "[", -1 },
    { "[1,]", -1 },
    { "[1]]", -1 },
    { "[01]", -1 },
    { "[1.]", -1 },
    { "[\"a]", -1 },
    { "[\"\n\"]", -1 },
    { "[\"\\x\"]", -1 },
    { "[\"\\u12g4\"]", -1 },
    { "[\"\xff\"]", -1 },
    { "[\"\xc0\x80\"]", -1 },
    { "[\"\xe0\x80\x80\"]", -1 },
    { "[\"\xed\xa0\x80\"]", -1 },
    { "[\"\xf4\x90\x80\x80\"]", -1 },
    { "[\"\xe2\x82\"]", -1 },
    { "[{\"a\" 1}]", -1 },
    { "[{1:1}]", -1 },
    { "{}", -1 },
};

START_TEST(the_reader_of_these_tests_is_strict)
{
    ck_assert_msg(json_array_length(judged[_i].text, strlen(judged[_i].text)) == judged[_i].length,
                  "%s", judged[_i].text);
}
END_TEST

START_TEST(nothing_happens_without_a_timeline)
{
    struct timeline_args args = { 0 };
    timeline_begin(NULL, "a", "B");
    timeline_end(NULL, "a");
    timeline_end_with(NULL, "a", &args);
    timeline_ready(NULL, "a", 0);
    timeline_mark_cycle(NULL);
    timeline_flush(NULL);
    ck_assert_ptr_null(timeline_file(NULL));
    timeline_close(NULL);
}
END_TEST

START_TEST(a_fresh_file_is_complete)
{
    struct timeline *timeline = open_it(false);
    ck_assert_int_eq(records(), START_RECORDS);
    ck_assert_int_eq(occurrences("start_time_since_epoch_in_micros"), 1);
    ck_assert_str_eq(timeline_file(timeline), path);
    timeline_close(timeline);
    ck_assert_int_eq(records(), START_RECORDS);
}
END_TEST

START_TEST(what_was_in_the_file_is_gone)
{
    FILE *old = fopen(path, "w");
    for (int i = 0; i < 1000; i++)
        fputs("old, ", old);
    fclose(old);
    timeline_close(open_it(false));
    ck_assert_int_eq(records(), START_RECORDS);
    ck_assert_int_eq(occurrences("old"), 0);
}
END_TEST

START_TEST(the_file_is_complete_after_every_flush)
{
    struct timeline *timeline = open_it(true);
    int expected = START_RECORDS;
    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "grad/%d", i % 10);
        timeline_mark_cycle(timeline);
        timeline_begin(timeline, name, "NEGOTIATE_ALLREDUCE");
        timeline_ready(timeline, name, i);
        timeline_end(timeline, name);
        expected += 4 + (i < 10 ? TENSOR_RECORDS : 0);
        timeline_flush(timeline);
        ck_assert_int_eq(records(), expected);
    }
    timeline_close(timeline);
    ck_assert_int_eq(records(), expected);
    ck_assert_int_eq(occurrences("\"process_name\",\"pid\":7,\"args\":{\"name\":\"grad/6\"}"), 1);
    ck_assert_int_eq(occurrences("\"ph\":\"X\",\"name\":\"42\",\"ts\":"), 1);
    ck_assert_int_eq(occurrences("\"CYCLE_START\""), 100);
}
END_TEST

/* What the clocks say, or 0 for the real ones (--wrap). */
static struct timespec set_clock;
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (set_clock.tv_sec == 0)
        return __real_clock_gettime(clock, now);
    *now = set_clock;
    return 0;
}

START_TEST(times_are_microseconds_since_the_start_with_three_decimals)
{
    set_clock = (struct timespec){ 1000, 5 };
    struct timeline *timeline = open_it(false);
    timeline_ready(timeline, "a", 3);
    set_clock = (struct timespec){ 8654, 321098770 };
    timeline_ready(timeline, "a", 4);
    set_clock.tv_sec = 0;
    timeline_close(timeline);
    ck_assert_int_eq(occurrences("\"start_time_since_epoch_in_micros\":1000000000}"), 1);
    ck_assert_int_eq(occurrences("\"name\":\"3\",\"ts\":0.000,"), 1);
    ck_assert_int_eq(occurrences("\"name\":\"4\",\"ts\":7654321098.765,"), 1);
}
END_TEST

START_TEST(cycles_are_marked_if_asked_for)
{
    struct timeline *timeline = open_it(false);
    timeline_mark_cycle(timeline);
    timeline_close(timeline);
    ck_assert_int_eq(records(), START_RECORDS);
}
END_TEST

START_TEST(an_end_without_a_beginning_is_left_out)
{
    struct timeline *timeline = open_it(false);
    timeline_end(timeline, "never seen");
    timeline_begin(timeline, "a", "ALLREDUCE");
    timeline_begin(timeline, "a", "MEMCPY_IN_FUSION_BUFFER");
    timeline_begin(timeline, "b", "ALLREDUCE");
    for (int i = 0; i < 5; i++)
        timeline_end(timeline, "a");
    timeline_end(timeline, "b");
    timeline_ready(timeline, "c", 0);
    timeline_end(timeline, "c");
    timeline_close(timeline);
    ck_assert_int_eq(records(), START_RECORDS + 3 * TENSOR_RECORDS + 3 + 1 + 3);
    ck_assert_int_eq(occurrences("\"ph\":\"B\""), 3);
    ck_assert_int_eq(occurrences("\"ph\":\"E\""), 3);
    ck_assert_int_eq(occurrences("never seen"), 0);
}
END_TEST

static const struct {
    struct timeline_args args;
    const char *shown;
} argued[] = {
    { { .dtype = "float32", .shape = "[17, 17]", .algorithm = "ring", .nbytes = 1156 },
      "\"args\":{\"dtype\":\"float32\",\"shape\":\"[17, 17]\",\"bytes\":1156,"
      "\"algorithm\":\"ring\"}" },
    { { .nbytes = UINT64_MAX }, "\"args\":{\"bytes\":18446744073709551615}" },
    { { .algorithm = "a\"b" }, "\"args\":{\"algorithm\":\"a\\\"b\"}" },
    { { .dtype = NULL }, "\"args\":{}" },
};

START_TEST(an_end_tells_what_was_moved)
{
    struct timeline *timeline = open_it(false);
    timeline_begin(timeline, "a", "ALLREDUCE");
    timeline_end_with(timeline, "a", &argued[_i].args);
    timeline_close(timeline);
    ck_assert_int_eq(records(), START_RECORDS + TENSOR_RECORDS + 2);
    ck_assert_msg(occurrences(argued[_i].shown) == 1, "%s", text);
}
END_TEST

static const struct {
    const char *name, *shown;
} named[] = {
    { "quote \" and \\", "quote \\\" and \\\\" },
    { "two\nlines\x1f\x7f", "two\\u000alines\\u001f\\u007f" },
    { "gr\xc3\xb6\xc3\x9f"
      "e \xe2\x82\xac \xf0\x9f\x98\x80",
      NULL },
    { "\xff\xfe", "\\ufffd\\ufffd" },
    { "cut \xe2\x82", "cut \\ufffd\\ufffd" },
    { "cut \xf0", "cut \\ufffd" },
    { "\xc0\xaf overlong", "\\ufffd\\ufffd overlong" },
    { "\xed\xa0\x80 surrogate", "\\ufffd\\ufffd\\ufffd surrogate" },
    { "\xf4\x90\x80\x80 beyond", "\\ufffd\\ufffd\\ufffd\\ufffd beyond" },
    { "", "" },
};

START_TEST(a_name_is_escaped)
{
    char shown[200];
    struct timeline *timeline = open_it(false);
    timeline_begin(timeline, named[_i].name, "ALLREDUCE");
    timeline_close(timeline);
    ck_assert_int_eq(records(), START_RECORDS + TENSOR_RECORDS + 1);
    snprintf(shown, sizeof shown, "\"args\":{\"name\":\"%s\"}",
             named[_i].shown ? named[_i].shown : named[_i].name);
    ck_assert_msg(occurrences(shown) == 1, "%s", text);
}
END_TEST

START_TEST(any_bytes_are_a_name)
{
    struct timeline *timeline = open_it(false);
    unsigned seed = 4711;
    for (int i = 0; i < 2000; i++) {
        char name[20];
        int length = i % 19;
        for (int k = 0; k < length; k++)
            name[k] = (char)(1 + (seed = seed * 1103515245u + 12345u) / 65536 % 255);
        name[length] = '\0';
        timeline_ready(timeline, name, 0);
    }
    timeline_close(timeline);
    ck_assert_int_gt(records(), 2000);
}
END_TEST

START_TEST(long_names_are_told_apart_and_shown_in_part)
{
    char name[100000];
    memset(name, '\1', sizeof name);
    name[sizeof name - 1] = '\0';
    struct timeline *timeline = open_it(false);
    struct timeline_args args = { .dtype = name, .shape = name, .algorithm = name };
    for (int i = 0; i < 200; i++) {
        name[sizeof name - 2] = (char)(1 + i);
        timeline_begin(timeline, name, name);
        timeline_end_with(timeline, name, &args);
    }
    timeline_close(timeline);
    ck_assert_int_eq(records(), START_RECORDS + 200 * (TENSOR_RECORDS + 2));
}
END_TEST

START_TEST(much_is_written_without_being_asked_to)
{
    struct timeline *timeline = open_it(false);
    for (int i = 0; i < 20000; i++)
        timeline_ready(timeline, "a", i);
    int before = records();
    ck_assert_int_gt(before, 10000);
    timeline_close(timeline);
    ck_assert_int_eq(records(), START_RECORDS + TENSOR_RECORDS + 20000);
}
END_TEST

START_TEST(names_without_end_do_not_fill_memory)
{
    struct timeline_names names = { 0 };
    char name[32];
    struct timeline_name *kept = timeline_names_add(&names, "kept");
    kept->depth = 1;
    for (int i = 0; i < 3 * TIMELINE_NAMES_MAX; i++) {
        snprintf(name, sizeof name, "allreduce.noname.%d", i);
        ck_assert_ptr_null(timeline_names_find(&names, name));
        struct timeline_name *added = timeline_names_add(&names, name);
        ck_assert_uint_eq(added->number, (uint32_t)i + 2);
        ck_assert_uint_le(names.count, TIMELINE_NAMES_MAX);
    }
    ck_assert_uint_eq(timeline_names_find(&names, "kept")->number, 1);
    ck_assert_ptr_nonnull(timeline_names_find(&names, name));
    ck_assert_ptr_null(timeline_names_find(&names, "allreduce.noname.0"));
    timeline_names_fini(&names);
}
END_TEST

START_TEST(too_many_open_spans_are_refused)
{
    struct timeline_names names = { 0 };
    char name[32];
    for (int i = 0; i < TIMELINE_NAMES_MAX; i++) {
        snprintf(name, sizeof name, "%d", i);
        timeline_names_add(&names, name)->depth = 1;
    }
    ck_assert_ptr_null(timeline_names_add(&names, "one more"));
    ck_assert_ptr_nonnull(timeline_names_find(&names, "4711"));
    timeline_names_find(&names, "4711")->depth = 0;
    ck_assert_ptr_nonnull(timeline_names_add(&names, "one more"));
    ck_assert_ptr_null(timeline_names_find(&names, "4711"));
    timeline_names_fini(&names);
}
END_TEST

START_TEST(a_file_that_cannot_be_opened_is_named)
{
    static const char *const names[] = { "/nowhere/t.json", "/tmp", "/dev/full", "" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct err err = { 0 };
        char quoted[64];
        snprintf(quoted, sizeof quoted, "'%s'", names[i]);
        ck_assert_ptr_null(timeline_open(names[i], false, &err));
        ck_assert_int_eq(err.code, HVD_ERR_SYSTEM);
        ck_assert_msg(strstr(err.text, quoted) != NULL, "%s", err.text);
    }
}
END_TEST

START_TEST(a_pipe_that_nobody_reads_does_not_block)
{
    struct err err = { 0 };
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_ptr_null(timeline_open(path, false, &err));
    ck_assert_int_eq(err.code, HVD_ERR_SYSTEM);
}
END_TEST

/* What stderr gets meanwhile. */
static int warnings[2];

static void listen_to_stderr(void)
{
    ck_assert_int_eq(pipe2(warnings, O_NONBLOCK), 0);
    dup2(warnings[1], STDERR_FILENO);
    log_configure(LOG_WARNING, true);
}

static int lines_said(char *out, size_t size)
{
    ssize_t got = read(warnings[0], out, size - 1);
    int count = 0;
    out[got > 0 ? got : 0] = '\0';
    for (const char *at = out; *at; at++)
        count += *at == '\n';
    return count;
}

/* No file grows beyond; to be lifted again before Check writes to its own. */
static void limit_files(rlim_t size)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = size;
    setrlimit(RLIMIT_FSIZE, &limit);
}

START_TEST(a_disk_that_fills_up_ends_it_with_one_warning)
{
    char said[1000];
    struct timeline *timeline = open_it(false);
    listen_to_stderr();
    int before = 0, after;
    for (int i = 0; i < 300; i++) {
        limit_files(4000);
        timeline_ready(timeline, "a", i);
        timeline_flush(timeline);
        limit_files(RLIM_INFINITY);
        after = records();
        ck_assert_int_ge(after, before);
        before = after;
    }
    ck_assert_int_gt(before, 30);
    ck_assert_int_lt(before, 300);
    timeline_ready(timeline, "a", 0);
    timeline_close(timeline);
    ck_assert_int_eq(records(), before);
    ck_assert_int_eq(lines_said(said, sizeof said), 1);
    ck_assert_msg(strstr(said, path) && strncmp(said, "[W]: ", 5) == 0, "%s", said);
}
END_TEST

START_TEST(a_disk_without_space_for_what_is_kept_keeps_what_is_there)
{
    struct timeline *timeline = open_it(false);
    listen_to_stderr();
    limit_files(4000);
    for (int i = 0; i < 20000; i++)
        timeline_ready(timeline, "a", i);
    timeline_close(timeline);
    limit_files(RLIM_INFINITY);
    ck_assert_int_eq(records(), START_RECORDS);
}
END_TEST

/* The next write takes no byte (--wrap). */
static bool takes_nothing;
ssize_t __real_pwrite(int fd, const void *bytes, size_t length, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t length, off_t at);

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t length, off_t at)
{
    if (!takes_nothing)
        return __real_pwrite(fd, bytes, length, at);
    takes_nothing = false;
    errno = 0;
    return 0;
}

START_TEST(a_write_that_takes_nothing_is_the_reason_of_the_end)
{
    char said[1000];
    struct timeline *timeline = open_it(false);
    listen_to_stderr();
    timeline_ready(timeline, "a", 0);
    takes_nothing = true;
    timeline_close(timeline);
    ck_assert_int_eq(records(), START_RECORDS);
    ck_assert_int_eq(lines_said(said, sizeof said), 1);
    ck_assert_msg(strstr(said, strerror(EIO)) != NULL, "%s", said);
}
END_TEST

START_TEST(a_child_writes_nothing)
{
    struct timeline *timeline = open_it(false);
    timeline_begin(timeline, "parent", "ALLREDUCE");
    pid_t child = fork();
    if (child == 0) {
        int other = open("/dev/null", O_RDONLY); /* gets the number that the file had */
        for (int i = 0; i < 20000; i++)
            timeline_ready(timeline, "child", i);
        timeline_flush(timeline);
        timeline_close(timeline);
        _exit(fcntl(other, F_GETFD) < 0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(records(), START_RECORDS);
    timeline_end(timeline, "parent");
    timeline_close(timeline);
    ck_assert_int_eq(records(), START_RECORDS + TENSOR_RECORDS + 2);
    ck_assert_int_eq(occurrences("child"), 0);
}
END_TEST

START_TEST(standard_streams_are_left_alone)
{
    close(STDIN_FILENO);
    struct timeline *timeline = open_it(false);
    ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
    timeline_close(timeline);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timeline");
    TCase *tcase = tcase_create("timeline");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, the_reader_of_these_tests_is_strict, 0,
                        sizeof judged / sizeof *judged);
    tcase_add_test(tcase, nothing_happens_without_a_timeline);
    tcase_add_test(tcase, a_fresh_file_is_complete);
    tcase_add_test(tcase, what_was_in_the_file_is_gone);
    tcase_add_test(tcase, the_file_is_complete_after_every_flush);
    tcase_add_test(tcase, times_are_microseconds_since_the_start_with_three_decimals);
    tcase_add_test(tcase, cycles_are_marked_if_asked_for);
    tcase_add_test(tcase, an_end_without_a_beginning_is_left_out);
    tcase_add_loop_test(tcase, an_end_tells_what_was_moved, 0, sizeof argued / sizeof *argued);
    tcase_add_loop_test(tcase, a_name_is_escaped, 0, sizeof named / sizeof *named);
    tcase_add_test(tcase, any_bytes_are_a_name);
    tcase_add_test(tcase, long_names_are_told_apart_and_shown_in_part);
    tcase_add_test(tcase, much_is_written_without_being_asked_to);
    tcase_add_test(tcase, names_without_end_do_not_fill_memory);
    tcase_add_test(tcase, too_many_open_spans_are_refused);
    tcase_add_test(tcase, a_file_that_cannot_be_opened_is_named);
    tcase_add_test(tcase, a_pipe_that_nobody_reads_does_not_block);
    tcase_add_test(tcase, a_disk_that_fills_up_ends_it_with_one_warning);
    tcase_add_test(tcase, a_disk_without_space_for_what_is_kept_keeps_what_is_there);
    tcase_add_test(tcase, a_write_that_takes_nothing_is_the_reason_of_the_end);
    tcase_add_test(tcase, a_child_writes_nothing);
    tcase_add_test(tcase, standard_streams_are_left_alone);
    return unit_run(suite);
}
