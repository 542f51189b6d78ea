/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files: what each key sets, what gives way to the command line, and what is refused.
 * tests/bad/config.tsv has more of the last. */
#include "src/hvdrun/config_file.h"
#include "src/hvdrun/config_yaml.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct hvdrun_options options;
static struct options_seen seen;
static struct err err;

static void begin(void)
{
    options = (struct hvdrun_options){ 0 };
    seen = (struct options_seen){ 0 };
    err = (struct err){ 0 };
}

static void end(void)
{
    hvdrun_options_fini(&options);
}

static int apply_bytes(const char *text, size_t length)
{
    return config_file_apply_text(&options, &seen, text, length, "f", &err);
}

static int apply(const char *text)
{
    return apply_bytes(text, strlen(text));
}

static void apply_well(const char *text)
{
    int rc = apply(text);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
}

/* The items with blanks between. */
static void expect_list(const struct string_list *list, const char *wanted)
{
    char text[1024] = "";
    for (size_t i = 0; i < list->count; i++) {
        strcat(text, i ? " " : "");
        strcat(text, list->items[i]);
    }
    ck_assert_str_eq(text, wanted);
}

static const char everything[] = "controller: gloo\n"
                                 "params:\n"
                                 "    fusion_threshold_mb: 32\n"
                                 "    cycle_time_ms: 10.5\n"
                                 "    cache_capacity: 2048\n"
                                 "    hierarchical_allreduce: false\n"
                                 "    hierarchical_allgather: false\n"
                                 "    torus_allreduce: false\n"
                                 "autotune:\n"
                                 "    enabled: false\n"
                                 "    log_file: \"horovod_autotune_log.txt\"\n"
                                 "    warmup_samples: 5\n"
                                 "    steps_per_sample: 20\n"
                                 "    bayes_opt_max_samples: 50\n"
                                 "    gaussian_process_noise: 0.9\n"
                                 "timeline:\n"
                                 "    filename: \"horovod timeline.json\"\n"
                                 "    mark_cycles: true\n"
                                 "stall_check:\n"
                                 "    enabled: true\n"
                                 "    warning_time_seconds: 120\n"
                                 "    shutdown_time_seconds: 240\n"
                                 "library_options:\n"
                                 "    mpi_threads_disable: false\n"
                                 "    num_nccl_streams: 2\n"
                                 "    thread_affinity: 1\n"
                                 "    gloo_timeout_seconds: 60\n"
                                 "logging:\n"
                                 "    level: INFO\n"
                                 "    with_timestamp: false\n";

START_TEST(every_key_of_horovodrun_has_its_effect)
{
    apply_well(everything);
    expect_list(
        &options.set,
        "HOROVOD_FUSION_THRESHOLD=33554432 HOROVOD_CYCLE_TIME=10.5 "
        "HOROVOD_CACHE_CAPACITY=2048 HOROVOD_HIERARCHICAL_ALLREDUCE=0 HOROVOD_AUTOTUNE=0 "
        "HOROVOD_AUTOTUNE_LOG=horovod_autotune_log.txt HOROVOD_AUTOTUNE_WARMUP_SAMPLES=5 "
        "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE=20 "
        "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES=50 "
        "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE=0.9 HOROVOD_TIMELINE=horovod timeline.json "
        "HOROVOD_TIMELINE_MARK_CYCLES=1 HOROVOD_STALL_CHECK_DISABLE=0 "
        "HOROVOD_STALL_CHECK_TIME_SECONDS=120 HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=240 "
        "HOROVOD_NUM_NCCL_STREAMS=2 HOROVOD_THREAD_AFFINITY=1 "
        "HOROVOD_GLOO_TIMEOUT_SECONDS=60 HOROVOD_LOG_LEVEL=INFO HOROVOD_LOG_HIDE_TIME=1");
    ck_assert(options.gloo);
    ck_assert_uint_eq(options.notes.count, 0);
}
END_TEST

START_TEST(a_file_that_says_nothing_is_fine)
{
    static const char *const texts[] = {
        "",
        "\n\n",
        "# only a comment\n",
        "---\n",
        "---\n...\n",
        "{}",
        "\xef\xbb\xbf",
        "params:\n",
        "params: ~\nlogging: null\ntimeline: {}\n",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        apply_well(texts[i]);
        ck_assert_uint_eq(options.set.count, 0);
    }
}
END_TEST

START_TEST(the_forms_of_yaml_are_known)
{
    static const struct {
        const char *text, *set;
    } cases[] = {
        { "params: {cache_capacity: 7}", "HOROVOD_CACHE_CAPACITY=7" },
        { "\xef\xbb\xbfparams: {cache_capacity: 7}", "HOROVOD_CACHE_CAPACITY=7" },
        { "%YAML 1.1\n---\nparams: {cache_capacity: 7}\n...\n", "HOROVOD_CACHE_CAPACITY=7" },
        { "'params':\r\n  \"cache_capacity\": 7 # of them\r\n", "HOROVOD_CACHE_CAPACITY=7" },
        { "{\"params\": {\"cache_capacity\": 0}}", "HOROVOD_CACHE_CAPACITY=0" },
        { "params:\n  cycle_time_ms: 5", "HOROVOD_CYCLE_TIME=5" },
        { "timeline: {filename: 2026}", "HOROVOD_TIMELINE=2026" },
        { "timeline: {filename: 'yes'}", "HOROVOD_TIMELINE=yes" },
        { "timeline: {filename: \"a\\tb\"}", "HOROVOD_TIMELINE=a\tb" },
        { "timeline:\n  filename: |-\n    x\n", "HOROVOD_TIMELINE=x" },
        { "stall_check: {enabled: no}", "HOROVOD_STALL_CHECK_DISABLE=1" },
        { "stall_check: {enabled: ON}", "HOROVOD_STALL_CHECK_DISABLE=0" },
        { "logging: {level: debug, with_timestamp: Yes}",
          "HOROVOD_LOG_LEVEL=debug HOROVOD_LOG_HIDE_TIME=0" },
        { "library_options: {thread_affinity: '0,1'}", "HOROVOD_THREAD_AFFINITY=0,1" },
        { "controller: GLOO", "" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        apply_well(cases[i].text);
        expect_list(&options.set, cases[i].set);
        end();
        begin();
    }
}
END_TEST

START_TEST(the_command_line_wins_and_that_is_noted)
{
    static const struct {
        char *argv[4];
        const char *text, *set, *notes;
    } cases[] = {
        { { "--cache-capacity", "1" },
          "params: {cache_capacity: 7}",
          "HOROVOD_CACHE_CAPACITY=1",
          "f:1:26: params.cache_capacity: '7' gives way to --cache-capacity of the command line" },
        { { "--log-hide-timestamp" },
          "logging: {with_timestamp: true}",
          "HOROVOD_LOG_HIDE_TIME=1",
          "f:1:27: logging.with_timestamp: 'true' gives way to --log-hide-timestamp of the command "
          "line" },
        { { "--no-stall-check" },
          "stall_check: {enabled: true}",
          "HOROVOD_STALL_CHECK_DISABLE=1",
          "f:1:24: stall_check.enabled: 'true' gives way to --no-stall-check of the command line" },
        { { "--no-autotune" },
          "autotune: {enabled: true}",
          "HOROVOD_AUTOTUNE=0",
          "f:1:21: autotune.enabled: 'true' gives way to --no-autotune of the command line" },
        { { "--gloo" },
          "controller: mpi",
          "",
          "f:1:13: controller: 'mpi' gives way to --gloo of the command line" },
        { { "--cache-capacity", "1" },
          "params: {cycle_time_ms: 2}",
          "HOROVOD_CACHE_CAPACITY=1 HOROVOD_CYCLE_TIME=2",
          "" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *argv[4];
        memcpy(argv, cases[i].argv, sizeof argv);
        int rc = options_parse_words(&hvdrun_option_table, &options, &seen, argv, &err);
        ck_assert_msg(rc == HVD_OK, "%s", err.text);
        apply_well(cases[i].text);
        expect_list(&options.set, cases[i].set);
        expect_list(&options.notes, cases[i].notes);
        end();
        begin();
    }
}
END_TEST

START_TEST(what_was_given_is_checked_all_the_same)
{
    char *argv[] = { "--cache-capacity", "1", NULL };
    ck_assert_int_eq(options_parse_words(&hvdrun_option_table, &options, &seen, argv, &err),
                     HVD_OK);
    ck_assert_int_eq(apply("params: {cache_capacity: many}"), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "f:1:26: params.cache_capacity: expected a whole number: 'many'");
}
END_TEST

START_TEST(bytes_that_are_no_text_are_refused)
{
    static const struct {
        const char *text;
        size_t length;
        const char *error;
    } cases[] = {
#define BYTES(text) text, sizeof(text) - 1
        { BYTES("\xff\xfep\0a\0"), "f: not a text file, but UTF-16" },
        { BYTES("\xfe\xff\0p\0a"), "f: not a text file, but UTF-16" },
        { BYTES("params:\n  x\0y: 1"), "f:2:4: control characters are not allowed" },
        { BYTES("params:\n\033[31m: 1"), "f:2:1: control characters are not allowed" },
        { BYTES("a\nb\xc3\x28"), "f:2:3: invalid trailing UTF-8 octet" },
        { BYTES("\x80"), "f:1:1: invalid leading UTF-8 octet" },
        { BYTES("timeline: {filename: \"a\\0b\"}"), "f:1:22: a text with NUL: 'a\\x00b'" },
        { BYTES("\"par\\0ams\": 1"), "f:1:1: unknown key: 'par\\x00ams'" },
#undef BYTES
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_int_eq(apply_bytes(cases[i].text, cases[i].length), HVD_ERR_INVALID);
        ck_assert_str_eq(err.text, cases[i].error);
    }
}
END_TEST

/* Something that is much too long, in the middle of what is not. */
static void expect_refused_with(const char *start, char byte, size_t count, const char *error)
{
    size_t length = strlen(start);
    char *text = malloc(length + count);
    memcpy(text, start, length);
    memset(text + length, byte, count);
    ck_assert_int_eq(apply_bytes(text, length + count), HVD_ERR_INVALID);
    ck_assert_msg(strncmp(err.text, error, strlen(error)) == 0, "%s", err.text);
    ck_assert_uint_lt(strlen(err.text), 284);
    free(text);
}

START_TEST(what_is_large_is_refused_without_much_work)
{
    expect_refused_with("", ' ', CONFIG_SIZE_MAX + 1, "f: is larger than 1 MiB");
    expect_refused_with("", '[', 10000, "f:1:1: expected a mapping");
    expect_refused_with("", '{', 10000, "f:1:2: a key must be a text");
    expect_refused_with("params: ", '[', 10000, "f:1:9: params: expected a mapping, not a list");
    expect_refused_with("timeline: {filename: ", '{', 10000,
                        "f:1:22: timeline.filename: expected a text, not a mapping");
    expect_refused_with("? ", 'k', CONFIG_SIZE_MAX - 2, "f:1:3: unknown key: 'kkkk");
    expect_refused_with("timeline:\n  filename: ", 'x', 100000,
                        "f:2:13: timeline.filename: path is too long: 'xxx");
}
END_TEST

static int accept_all(void *context, const struct config_node *node, struct err *error)
{
    (void)context, (void)error;
    ck_assert_ptr_nonnull(node->path);
    return HVD_OK;
}

/* A caller that refuses nothing has a limit, too. */
START_TEST(mappings_are_nested_sixteen_deep_at_most)
{
    char text[4 * CONFIG_DEPTH_MAX + 8] = "";
    for (int i = 1; i < CONFIG_DEPTH_MAX; i++)
        strcat(text, "{a: ");
    strcat(text, "{a: ");
    int rc = config_yaml_read(text, strlen(text), "f", accept_all, NULL, &err);
    ck_assert_int_eq(rc, HVD_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "did not find"));
    strcat(text, "{a: ");
    rc = config_yaml_read(text, strlen(text), "f", accept_all, NULL, &err);
    ck_assert_int_eq(rc, HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "f:1:65: nested too deep");
}
END_TEST

START_TEST(a_file_that_was_cut_anywhere_is_read_or_refused)
{
    for (size_t length = 0; length < sizeof everything; length++) {
        char *text = malloc(length + 1); /* so that a byte too far is seen */
        memcpy(text, everything, length);
        if (apply_bytes(text, length) != HVD_OK)
            ck_assert_int_eq(strncmp(err.text, "f:", 2), 0);
        free(text);
        end();
        begin();
    }
}
END_TEST

START_TEST(a_file_with_any_byte_changed_is_read_or_refused)
{
    static const char others[] = "\0\t\n\xff\"'&*!{[:-#%|?>@`";
    char *text = malloc(sizeof everything - 1);
    for (size_t at = 0; at < sizeof everything - 1; at++)
        for (size_t i = 0; i < sizeof others - 1; i++) {
            memcpy(text, everything, sizeof everything - 1);
            text[at] = others[i];
            if (apply_bytes(text, sizeof everything - 1) != HVD_OK)
                ck_assert_int_eq(strncmp(err.text, "f:", 2), 0);
            end();
            begin();
        }
    free(text);
}
END_TEST

START_TEST(a_file_is_opened_once_and_must_be_one)
{
    char path[] = "/tmp/config_file_test.XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "params: {cache_capacity: 7}", 27), 27);
    close(fd);
    options.config_file = path;
    ck_assert_int_eq(config_file_apply(&options, &seen, &err), HVD_OK);
    expect_list(&options.set, "HOROVOD_CACHE_CAPACITY=7");
    unlink(path);
    ck_assert_int_eq(config_file_apply(&options, &seen, &err), HVD_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, ": cannot open: No such file or directory"));
    options.config_file = "/dev/zero";
    ck_assert_int_eq(config_file_apply(&options, &seen, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "/dev/zero: is not a regular file");
    options.config_file = "/tmp";
    ck_assert_int_eq(config_file_apply(&options, &seen, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "/tmp: is not a regular file");
    options.config_file = NULL;
    ck_assert_int_eq(config_file_apply(&options, &seen, &err), HVD_OK);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("config_file");
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, begin, end);
    tcase_add_test(files, every_key_of_horovodrun_has_its_effect);
    tcase_add_test(files, a_file_that_says_nothing_is_fine);
    tcase_add_test(files, the_forms_of_yaml_are_known);
    tcase_add_test(files, the_command_line_wins_and_that_is_noted);
    tcase_add_test(files, what_was_given_is_checked_all_the_same);
    tcase_add_test(files, bytes_that_are_no_text_are_refused);
    tcase_add_test(files, what_is_large_is_refused_without_much_work);
    tcase_add_test(files, mappings_are_nested_sixteen_deep_at_most);
    tcase_add_test(files, a_file_that_was_cut_anywhere_is_read_or_refused);
    tcase_add_test(files, a_file_with_any_byte_changed_is_read_or_refused);
    tcase_add_test(files, a_file_is_opened_once_and_must_be_one);
    tcase_set_timeout(files, 60);
    suite_add_tcase(suite, files);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
