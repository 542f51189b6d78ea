/* SPDX-License-Identifier: Apache-2.0 */
/* Reading IDX files: good ones, packed and not, then each way in which they can be wrong. */
#include "tests/support/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "examples/support/idx.h"

enum { COUNT = 3, HEIGHT = 2, WIDTH = 4, IMAGES_SIZE = 16 + COUNT * HEIGHT * WIDTH };
enum { LABELS_SIZE = 8 + COUNT };

static const struct idx_shape shape = { HEIGHT, WIDTH, 10 };
static const unsigned char good_images[IMAGES_SIZE] = { 0, 0, 8,      3, 0, 0, 0,       COUNT, 0,
                                                        0, 0, HEIGHT, 0, 0, 0, WIDTH,   1,     2,
                                                        3, 4, 5,      6, 7, 8, [39] = 9 };
static const unsigned char good_labels[LABELS_SIZE] = { 0, 0, 8, 1, 0, 0, 0, COUNT, 9, 0, 4 };

static char directory[] = "/tmp/example_idx_XXXXXX", images[64], labels[64];
static struct idx_set set;
static struct problem problem;

static void write_file(const char *path, const char *mode, const void *data, size_t size)
{
    gzFile file = gzopen(path, mode);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(gzwrite(file, data, (unsigned)size), (int)size);
    ck_assert_int_eq(gzclose(file), Z_OK);
}

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(images, sizeof images, "%s/images", directory);
    snprintf(labels, sizeof labels, "%s/labels", directory);
    write_file(images, "wb", good_images, IMAGES_SIZE);
    write_file(labels, "wb", good_labels, LABELS_SIZE);
    problem = (struct problem){ 0 };
}

static void tear_down(void)
{
    idx_fini(&set);
    unlink(images);
    unlink(labels);
    rmdir(directory);
}

/* The files must be refused: one line that begins with the file and goes on like this. */
static void expect_problem(const char *path, const char *text)
{
    char expected[256];
    snprintf(expected, sizeof expected, "%s: %s", path, text);
    ck_assert_int_eq(idx_read(&set, &shape, images, labels, &problem), -1);
    ck_assert_int_eq(problem.exit_status, EXIT_STATUS_DATA);
    ck_assert_str_eq(problem.text, expected);
    ck_assert_ptr_null(set.pixels);
    ck_assert_ptr_null(set.labels);
}

static void expect_good(void)
{
    ck_assert_int_eq(idx_read(&set, &shape, images, labels, &problem), 0);
    ck_assert_int_eq(set.count, COUNT);
    ck_assert_mem_eq(set.pixels, good_images + 16, COUNT * HEIGHT * WIDTH);
    ck_assert_mem_eq(set.labels, good_labels + 8, COUNT);
}

START_TEST(packed_files_are_read)
{
    expect_good();
}
END_TEST

START_TEST(plain_files_are_read_too)
{
    write_file(images, "wbT", good_images, IMAGES_SIZE);
    write_file(labels, "wbT", good_labels, LABELS_SIZE);
    expect_good();
}
END_TEST

START_TEST(a_missing_file_is_named)
{
    unlink(labels);
    expect_problem(labels, "No such file or directory, expected an IDX file");
}
END_TEST

START_TEST(a_very_long_path_leaves_room_for_the_reason)
{
    char path[1000];
    memset(path, 'a', sizeof path);
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(idx_read(&set, &shape, path, labels, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "aaa: File name too long, expected an IDX file"));
}
END_TEST

START_TEST(a_directory_is_no_file)
{
    unlink(labels);
    ck_assert_int_eq(mkdir(labels, 0700), 0);
    expect_problem(labels, "damaged: Is a directory, expected an IDX file");
    rmdir(labels);
}
END_TEST

/* One byte of a file that is otherwise good, and what is said of it. */
static const struct {
    bool in_labels;
    int offset;
    unsigned char value;
    const char *text;
} wrong_bytes[] = {
    { false, 3, 1, "magic number 0x00000801, expected 0x00000803 (IDX images)" },
    { false, 0, 255, "magic number 0xff000803, expected 0x00000803 (IDX images)" },
    { false, 7, 0, "0 items announced, expected 1 to 10000000" },
    { false, 4, 255, "4278190083 items announced, expected 1 to 10000000" },
    { false, 7, 2, "goes on after the last byte that its header announces" },
    { false, 7, 4, "ends after 24 of the expected 32 bytes of pixels" },
    { false, 11, 3, "images of 3 x 4, expected 2 x 4" },
    { false, 12, 1, "images of 2 x 16777220, expected 2 x 4" },
    { true, 3, 3, "magic number 0x00000803, expected 0x00000801 (IDX labels)" },
    { true, 7, 2, "2 labels, expected 3, one for each image" },
    { true, 9, 10, "item 1 has label 10, expected 0 to 9" },
};

START_TEST(each_wrong_byte_of_a_header_is_told)
{
    for (size_t i = 0; i < sizeof wrong_bytes / sizeof *wrong_bytes; i++) {
        unsigned char bytes[2][IMAGES_SIZE];
        bool in_labels = wrong_bytes[i].in_labels;
        memcpy(bytes[0], good_images, IMAGES_SIZE);
        memcpy(bytes[1], good_labels, LABELS_SIZE);
        bytes[in_labels][wrong_bytes[i].offset] = wrong_bytes[i].value;
        write_file(images, "wb", bytes[0], IMAGES_SIZE);
        write_file(labels, "wb", bytes[1], LABELS_SIZE);
        problem = (struct problem){ 0 };
        expect_problem(in_labels ? labels : images, wrong_bytes[i].text);
    }
}
END_TEST

START_TEST(a_plain_file_cut_off_anywhere_is_refused)
{
    for (size_t size = 0; size < IMAGES_SIZE; size++) {
        write_file(images, "wbT", good_images, size);
        problem = (struct problem){ 0 };
        ck_assert_int_eq(idx_read(&set, &shape, images, labels, &problem), -1);
        ck_assert_ptr_nonnull(strstr(problem.text, ": ends after "));
    }
}
END_TEST

START_TEST(a_packed_file_cut_off_anywhere_is_refused)
{
    struct stat status;
    ck_assert_int_eq(stat(images, &status), 0);
    for (off_t size = status.st_size - 1; size >= 0; size--) {
        ck_assert_int_eq(truncate(images, size), 0);
        problem = (struct problem){ 0 };
        ck_assert_int_eq(idx_read(&set, &shape, images, labels, &problem), -1);
        ck_assert_int_eq(strncmp(problem.text, images, strlen(images)), 0);
    }
}
END_TEST

START_TEST(a_wrong_gzip_checksum_is_refused)
{
    struct stat status;
    ck_assert_int_eq(stat(labels, &status), 0);
    FILE *file = fopen(labels, "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, (long)status.st_size - 8, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, (long)status.st_size - 8, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
    ck_assert_int_eq(idx_read(&set, &shape, images, labels, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "damaged"));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        packed_files_are_read,
        plain_files_are_read_too,
        a_missing_file_is_named,
        a_very_long_path_leaves_room_for_the_reason,
        a_directory_is_no_file,
        each_wrong_byte_of_a_header_is_told,
        a_plain_file_cut_off_anywhere_is_refused,
        a_packed_file_cut_off_anywhere_is_refused,
        a_wrong_gzip_checksum_is_refused,
    };
    Suite *suite = suite_create("example_idx");
    TCase *cases = tcase_create("idx");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(cases, tests[i]);
    suite_add_tcase(suite, cases);
    return unit_run(suite);
}
