/* SPDX-License-Identifier: Apache-2.0 */
/* Plots of the examples: ticks at round numbers, what is left out, text that XML would read as
 * markup, and files that cannot be written. Each picture is checked to be well-formed. */
#include "tests/support/unit.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/support/plot.h"
#include "examples/support/plot_axis.h"
#include "examples/support/xml_text.h"

/* What the axis of low to high has written at its ticks. */
static const struct {
    bool log;
    double low, high;
    const char *texts;
} axes[] = {
    { false, -1, 1, "-1.0 -0.5 0.0 0.5 1.0" },
    { false, 0, 7.3, "0 1 2 3 4 5 6 7 8" },
    { false, 1, 3000, "0 500 1000 1500 2000 2500 3000" },
    { false, 0.1234, 0.1236, "0.12340 0.12345 0.12350 0.12355 0.12360" },
    { false, 2, 2, "1.0 1.5 2.0 2.5 3.0" },
    { false, 0, 0, "-1.0 -0.5 0.0 0.5 1.0" },
    { false, -3e9, 4e9, "-3e+09 -2e+09 -1e+09 0 1e+09 2e+09 3e+09 4e+09" },
    { false, -1e300, 1e300, "-1e+300 -5e+299 0 5e+299 1e+300" },
    { false, 0, 4e-5, "0 5e-06 1e-05 1.5e-05 2e-05 2.5e-05 3e-05 3.5e-05 4e-05" },
    { true, 0.02, 3, "0.01 0.1 1 10" },
    { true, 2, 30, "1 2 5 10 20 50 100" },
    { true, 5, 5, "1 2 5 10" },
    { true, 1e-30, 1, "1e-30 1e-25 1e-20 1e-15 1e-10 1e-05 1" },
};

START_TEST(ticks_are_at_round_numbers_and_the_ends)
{
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        struct plot_axis axis;
        char texts[512] = "", text[PLOT_TICK_TEXT];
        plot_axis_init(&axis, axes[i].log, axes[i].low, axes[i].high);
        for (int k = 0; k < axis.tick_count; k++) {
            plot_axis_text(&axis, axis.ticks[k], text);
            strcat(strcat(texts, k == 0 ? "" : " "), text);
        }
        ck_assert_str_eq(texts, axes[i].texts);
        ck_assert_double_ge(plot_axis_place(&axis, axes[i].low), -1e-9);
        ck_assert_double_le(plot_axis_place(&axis, axes[i].high), 1 + 1e-9);
    }
}
END_TEST

START_TEST(a_log_axis_is_even_in_decades)
{
    struct plot_axis axis;
    plot_axis_init(&axis, true, 0.01, 100);
    ck_assert_double_eq_tol(plot_axis_place(&axis, 0.01), 0, 1e-12);
    ck_assert_double_eq_tol(plot_axis_place(&axis, 1), 0.5, 1e-12);
    ck_assert_double_eq_tol(plot_axis_place(&axis, 10), 0.75, 1e-12);
    ck_assert(!plot_axis_shows(true, 0) && !plot_axis_shows(true, -1));
}
END_TEST

static const struct {
    const char *text, *xml;
    size_t length;
} texts[] = {
    { "", "", 0 },
    { "sin(2 pi x)", "sin(2 pi x)", 11 },
    { "a < b & \"c\" > 'd'", "a &lt; b &amp; &quot;c&quot; &gt; &apos;d&apos;", 17 },
    { "\xcf\x80 \xe2\x82\xac \xf0\x9f\x93\x88", "\xcf\x80 \xe2\x82\xac \xf0\x9f\x93\x88", 5 },
    { "\x01\x1b[0m", "??[0m", 5 },
    { "\xff\xfe\xf8\x90\x80\x80", "??????", 6 },
    { "\xc0\xaf", "??", 2 },           /* longer than need be */
    { "\xed\xa0\x80", "???", 3 },      /* half of a pair */
    { "\xef\xbf\xbf", "???", 3 },      /* U+FFFF */
    { "\xf4\x90\x80\x80", "????", 4 }, /* beyond U+10FFFF */
    { "cut \xe2\x82", "cut ??", 6 },
};

START_TEST(text_is_escaped_and_what_is_no_text_replaced)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char xml[128] = "";
        FILE *out = fmemopen(xml, sizeof xml, "w");
        ck_assert_ptr_nonnull(out);
        xml_text_put(out, texts[i].text);
        fclose(out);
        ck_assert_str_eq(xml, texts[i].xml);
        ck_assert_uint_eq(xml_text_length(texts[i].text), texts[i].length);
    }
}
END_TEST

/* A directory of its own for each test, and a plot in it. */
static char directory[] = "/tmp/example_plot_XXXXXX", path[64], picture[1 << 16];

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/plot.svg", directory);
}

static void tear_down(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(directory), 0); /* no temporary file is left */
}

static size_t occurrences(const char *what)
{
    size_t count = 0;
    for (const char *at = picture; (at = strstr(at, what)) != NULL; at++)
        count++;
    return count;
}

/* Every element is closed in turn, every "&" begins an entity, and no text is a number that is
 * none. Enough for what plot.c can write. */
static void assert_well_formed(void)
{
    char open[16][16];
    int depth = 0;
    for (char *at = strchr(picture, '<'); at != NULL; at = strchr(at + 1, '<')) {
        char name[16] = "", *end = strchr(at, '>');
        ck_assert_ptr_nonnull(end);
        ck_assert_int_eq(sscanf(at + 1, "%*1[/]%15[a-z]", name) == 1 ||
                             sscanf(at + 1, "%15[?a-z]", name) == 1,
                         1);
        if (at[1] == '/')
            ck_assert(depth > 0 && strcmp(open[--depth], name) == 0);
        else if (end[-1] != '/' && end[-1] != '?')
            strcpy(open[depth++], name);
    }
    ck_assert_int_eq(depth, 0);
    for (const char *at = picture; (at = strchr(at, '&')) != NULL; at++)
        ck_assert_ptr_nonnull(strchr(at, ';'));
    ck_assert_uint_eq(occurrences("nan") + occurrences("inf"), 0);
}

/* Writes the plot, and reads it back into `picture`. */
static void draw(const struct plot *plot)
{
    struct problem problem = { 0 };
    ck_assert_int_eq(plot_write(path, plot, &problem), 0);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(picture, 1, sizeof picture - 1, file);
    ck_assert_uint_lt(size, sizeof picture - 1);
    picture[size] = '\0';
    fclose(file);
    assert_well_formed();
}

static const double three[] = { 1, 2, 3 }, rising[] = { 0.01, 1, 100 };

START_TEST(a_picture_has_its_curves_labels_and_legend)
{
    const struct plot_curve curves[] = {
        { .label = "a < b", .x = three, .y = rising, .count = 3 },
        { .label = "samples", .x = three, .y = rising, .count = 3, .points = true },
    };
    draw(&(struct plot){ .title = "R&D",
                         .x_label = "x",
                         .y_label = "\"y\"",
                         .curves = curves,
                         .curve_count = 2,
                         .log_y = true });
    ck_assert_uint_eq(occurrences("class=\"curve\""), 2); /* one is in the legend */
    ck_assert_uint_eq(occurrences("<circle"), 4);
    ck_assert_uint_eq(occurrences(">a &lt; b</text>"), 1);
    ck_assert_uint_eq(occurrences(">R&amp;D</text>"), 1);
    ck_assert_uint_eq(occurrences(">0.01</text>") + occurrences(">100</text>"), 2);
    ck_assert_uint_eq(occurrences("M80.00 440.00h0\nL400.00 240.00\nL720.00 40.00\""), 1);
}
END_TEST

START_TEST(what_is_not_finite_or_not_on_the_axis_is_left_out)
{
    const double x[] = { 1, 2, 3, NAN, 5, 6, 7, 8 };
    const double y[] = { 1, INFINITY, 3, 4, -INFINITY, -6, 7, 0 };
    struct plot_curve curve = { .label = "y", .x = x, .y = y, .count = 8, .points = true };
    struct plot plot = { .curves = &curve, .curve_count = 1 };
    draw(&plot);
    ck_assert_uint_eq(occurrences("<circle"), 1 + 5);
    plot.log_y = true;
    draw(&plot);
    ck_assert_uint_eq(occurrences("<circle"), 1 + 3);
    curve.points = false;
    draw(&plot); /* three dots, between the gaps */
    ck_assert_uint_eq(occurrences("h0"), 3);
}
END_TEST

START_TEST(curves_that_are_empty_constant_or_huge_are_drawn)
{
    const double same[] = { 5, 5, 5 }, huge[] = { -1e308, 0, 1e308 }, tiny[] = { 0, 1e-320, 0 };
    const struct plot_curve curves[] = {
        { .label = "empty" },
        { .label = "constant", .x = three, .y = same, .count = 3 },
        { .label = "a point", .x = same, .y = same, .count = 3 },
        { .label = "huge", .x = three, .y = huge, .count = 3 },
        { .label = "tiny", .x = three, .y = tiny, .count = 3 },
        { .x = three, .y = same, .count = 3 },
    };
    const size_t count = sizeof curves / sizeof *curves;
    draw(&(struct plot){ .title = "none" });
    for (int log = 0; log < 2; log++) {
        for (size_t i = 0; i < count; i++)
            draw(&(struct plot){ .curves = &curves[i], .curve_count = 1, .log_y = log == 1 });
        draw(&(struct plot){ .curves = curves, .curve_count = count, .log_y = log == 1 });
    }
}
END_TEST

START_TEST(eight_curves_have_eight_colours)
{
    struct plot_curve curves[8];
    char colours[8][8];
    for (int i = 0; i < 8; i++)
        curves[i] = (struct plot_curve){ .x = three, .y = rising, .count = 3 };
    draw(&(struct plot){ .curves = curves, .curve_count = 8 });
    const char *at = picture;
    for (int i = 0; i < 8; i++) {
        at = strstr(at, "stroke=\"#");
        ck_assert_ptr_nonnull(at);
        at += strlen("stroke=\"");
        memcpy(colours[i], at, 7);
        colours[i][7] = '\0';
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(colours[k], colours[i]);
    }
}
END_TEST

START_TEST(a_plot_that_cannot_be_written_says_where)
{
    struct plot plot = { .title = "plot" };
    struct problem problem = { 0 };
    char nowhere[96];
    snprintf(nowhere, sizeof nowhere, "%s/missing/plot.svg", directory);
    ck_assert_int_eq(plot_write(nowhere, &plot, &problem), -1);
    ck_assert_int_eq(problem.exit_status, EXIT_STATUS_DATA);
    ck_assert_ptr_nonnull(strstr(problem.text, nowhere));
    problem = (struct problem){ 0 };
    ck_assert_int_eq(plot_write(directory, &plot, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, directory));
    problem = (struct problem){ 0 };
    ck_assert_int_eq(plot_write("/dev/full", &plot, &problem), -1);
    ck_assert_str_eq(problem.text, "/dev/full: cannot write the plot: No space left on device");
}
END_TEST

START_TEST(what_is_no_plain_file_is_written_and_not_replaced)
{
    struct stat before, after;
    struct problem problem = { 0 };
    struct plot plot = { .title = "plot" };
    ck_assert_int_eq(stat("/dev/null", &before), 0);
    ck_assert_int_eq(plot_write("/dev/null", &plot, &problem), 0);
    ck_assert_int_eq(stat("/dev/null", &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        ticks_are_at_round_numbers_and_the_ends,
        a_log_axis_is_even_in_decades,
        text_is_escaped_and_what_is_no_text_replaced,
        a_picture_has_its_curves_labels_and_legend,
        what_is_not_finite_or_not_on_the_axis_is_left_out,
        curves_that_are_empty_constant_or_huge_are_drawn,
        eight_curves_have_eight_colours,
        a_plot_that_cannot_be_written_says_where,
        what_is_no_plain_file_is_written_and_not_replaced,
    };
    Suite *suite = suite_create("example_plot");
    TCase *cases = tcase_create("plot");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(cases, tests[i]);
    suite_add_tcase(suite, cases);
    return unit_run(suite);
}
