/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing: span the axes over all that is shown, grid and ticks, curves, legend; into a temporary
 * file beside `path`, which is then renamed. What is no plain file, such as /dev/stdout, is written
 * as it is.
 *
 * Fails when the file cannot be made, written or renamed; the temporary file is then removed. */
#include "examples/support/plot.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/support/plot_axis.h"
#include "examples/support/xml_text.h"

/* Pixels. */
enum { LEFT = 80, TOP = 40, WIDTH = 640, HEIGHT = 400, BOTTOM = 50, CHARACTER = 7, SAMPLE = 30 };

/* Colours of Okabe and Ito, which the colour-blind tell apart, but for their yellow, which is
 * hardly seen on white. Dashes let a curve show through the one that lies upon it. */
enum { CURVES_MAX = 8 };
static const struct {
    const char *colour, *dashes;
} styles[CURVES_MAX] = {
    { "#0072b2", "none" }, { "#d55e00", "7 4" }, { "#009e73", "none" }, { "#cc79a7", "7 4" },
    { "#000000", "none" }, { "#e69f00", "7 4" }, { "#56b4e9", "none" }, { "#777777", "7 4" },
};

struct drawing {
    FILE *out;
    const struct plot *plot;
    struct plot_axis x, y;
};

static bool shows(const struct plot *plot, const struct plot_curve *curve, size_t i)
{
    return plot_axis_shows(false, curve->x[i]) && plot_axis_shows(plot->log_y, curve->y[i]);
}

static void widen(double *low, double *high, double value)
{
    *low = *low < value ? *low : value;
    *high = *high > value ? *high : value;
}

/* With nothing to show both axes go from 0 to 1, or on a log axis from 1 to 10. */
static void span_axes(struct drawing *drawing)
{
    const struct plot *plot = drawing->plot;
    double x_low = 2e300, x_high = -2e300, y_low = 2e300, y_high = -2e300;
    for (size_t c = 0; c < plot->curve_count; c++) {
        const struct plot_curve *curve = &plot->curves[c];
        for (size_t i = 0; i < curve->count; i++) {
            if (!shows(plot, curve, i))
                continue;
            widen(&x_low, &x_high, curve->x[i]);
            widen(&y_low, &y_high, curve->y[i]);
        }
    }
    if (x_low > x_high) {
        x_low = 0;
        x_high = 1;
        y_low = plot->log_y ? 1 : 0;
        y_high = plot->log_y ? 10 : 1;
    }
    plot_axis_init(&drawing->x, false, x_low, x_high);
    plot_axis_init(&drawing->y, plot->log_y, y_low, y_high);
}

static double place_x(const struct drawing *drawing, double x)
{
    return LEFT + WIDTH * plot_axis_place(&drawing->x, x);
}

static double place_y(const struct drawing *drawing, double y)
{
    return TOP + HEIGHT * (1 - plot_axis_place(&drawing->y, y));
}

/* `attributes` say where and how. */
static void put_text(FILE *out, const char *attributes, const char *text)
{
    fprintf(out, "<text %s>", attributes);
    xml_text_put(out, text == NULL ? "" : text);
    fputs("</text>\n", out);
}

static void draw_tick(struct drawing *drawing, const struct plot_axis *axis, double tick)
{
    char text[PLOT_TICK_TEXT], attributes[96];
    plot_axis_text(axis, tick, text);
    if (axis == &drawing->x) {
        double x = place_x(drawing, tick);
        fprintf(drawing->out, "<path class=\"grid\" d=\"M%.2f %dv%d\"/>\n", x, TOP, HEIGHT);
        snprintf(attributes, sizeof attributes, "x=\"%.2f\" y=\"%d\" text-anchor=\"middle\"", x,
                 TOP + HEIGHT + 18);
    } else {
        double y = place_y(drawing, tick);
        fprintf(drawing->out, "<path class=\"grid\" d=\"M%d %.2fh%d\"/>\n", LEFT, y, WIDTH);
        snprintf(attributes, sizeof attributes, "x=\"%d\" y=\"%.2f\" text-anchor=\"end\"", LEFT - 8,
                 y + 4);
    }
    put_text(drawing->out, attributes, text);
}

static void draw_axes(struct drawing *drawing)
{
    const struct plot *plot = drawing->plot;
    char attributes[128];
    for (int i = 0; i < drawing->x.tick_count; i++)
        draw_tick(drawing, &drawing->x, drawing->x.ticks[i]);
    for (int i = 0; i < drawing->y.tick_count; i++)
        draw_tick(drawing, &drawing->y, drawing->y.ticks[i]);
    fprintf(drawing->out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
            LEFT, TOP, WIDTH, HEIGHT);
    snprintf(attributes, sizeof attributes,
             "x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"15\"", LEFT + WIDTH / 2,
             TOP - 14);
    put_text(drawing->out, attributes, plot->title);
    snprintf(attributes, sizeof attributes, "x=\"%d\" y=\"%d\" text-anchor=\"middle\"",
             LEFT + WIDTH / 2, TOP + HEIGHT + 40);
    put_text(drawing->out, attributes, plot->x_label);
    snprintf(attributes, sizeof attributes,
             "x=\"16\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 16 %d)\"",
             TOP + HEIGHT / 2, TOP + HEIGHT / 2);
    put_text(drawing->out, attributes, plot->y_label);
}

static void draw_points(struct drawing *drawing, const struct plot_curve *curve, const char *colour)
{
    for (size_t i = 0; i < curve->count; i++)
        if (shows(drawing->plot, curve, i))
            fprintf(drawing->out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3.5\" fill=\"%s\"/>\n",
                    place_x(drawing, curve->x[i]), place_y(drawing, curve->y[i]), colour);
}

/* The line is interrupted where something is left out. A point between two gaps is a line of no
 * length, and seen as a dot because the ends of lines are round. */
static void draw_line(struct drawing *drawing, const struct plot_curve *curve, int style)
{
    fprintf(drawing->out, "<path class=\"curve\" stroke=\"%s\" stroke-dasharray=\"%s\" d=\"M%d %d",
            styles[style].colour, styles[style].dashes, LEFT, TOP);
    bool down = false;
    for (size_t i = 0; i < curve->count; i++) {
        bool shown = shows(drawing->plot, curve, i);
        if (shown)
            fprintf(drawing->out, "\n%c%.2f %.2f%s", down ? 'L' : 'M',
                    place_x(drawing, curve->x[i]), place_y(drawing, curve->y[i]), down ? "" : "h0");
        down = shown;
    }
    fputs("\"/>\n", drawing->out);
}

static void draw_legend(struct drawing *drawing, const struct plot_curve *curve, int style)
{
    int x = LEFT + WIDTH + 20, y = TOP + 12 + 22 * style;
    char attributes[64];
    if (curve->points)
        fprintf(drawing->out, "<circle cx=\"%d\" cy=\"%d\" r=\"3.5\" fill=\"%s\"/>\n",
                x + SAMPLE / 2, y, styles[style].colour);
    else
        fprintf(drawing->out,
                "<path class=\"curve\" stroke=\"%s\" stroke-dasharray=\"%s\" d=\"M%d %dh%d\"/>\n",
                styles[style].colour, styles[style].dashes, x, y, SAMPLE);
    snprintf(attributes, sizeof attributes, "x=\"%d\" y=\"%d\"", x + SAMPLE + 8, y + 4);
    put_text(drawing->out, attributes, curve->label);
}

/* The picture is as wide as its longest label needs it. */
static int picture_width(const struct plot *plot)
{
    size_t longest = 0;
    for (size_t i = 0; i < plot->curve_count; i++) {
        const char *label = plot->curves[i].label;
        size_t length = label == NULL ? 0 : xml_text_length(label);
        longest = length > longest ? length : longest;
    }
    longest = longest > 100 ? 100 : longest;
    return LEFT + WIDTH + 20 + SAMPLE + 8 + CHARACTER * (int)longest + 20;
}

static void draw(FILE *out, const struct plot *plot)
{
    struct drawing drawing = { .out = out, .plot = plot };
    int width = picture_width(plot), height = TOP + HEIGHT + BOTTOM;
    span_axes(&drawing);
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<style>.grid{stroke:#ddd;fill:none} .frame{stroke:#333;fill:none} "
            ".curve{fill:none;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}</style>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
            width, height, width, height, width, height);
    draw_axes(&drawing);
    for (size_t i = 0; i < plot->curve_count; i++) {
        const struct plot_curve *curve = &plot->curves[i];
        if (curve->points)
            draw_points(&drawing, curve, styles[i].colour);
        else
            draw_line(&drawing, curve, (int)i);
        if (curve->label != NULL)
            draw_legend(&drawing, curve, (int)i);
    }
    fputs("</svg>\n", out);
}

/* Keeps errno of what failed first. */
static bool write_file(const char *path, const struct plot *plot)
{
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return false;
    errno = 0;
    draw(file, plot);
    bool good = fflush(file) == 0 && !ferror(file);
    int errnum = errno;
    if (fclose(file) != 0 && good)
        return false;
    errno = errnum;
    return good;
}

static bool write_and_rename(const char *path, const struct plot *plot)
{
    char *temporary;
    if (asprintf(&temporary, "%s.tmp-%ld", path, (long)getpid()) < 0)
        return false;
    bool good = write_file(temporary, plot) && rename(temporary, path) == 0;
    int errnum = errno;
    if (!good)
        unlink(temporary);
    free(temporary);
    errno = errnum;
    return good;
}

int plot_write(const char *path, const struct plot *plot, struct problem *problem)
{
    struct stat status;
    assert(plot->curve_count <= CURVES_MAX);
    bool special = lstat(path, &status) == 0 && !S_ISREG(status.st_mode);
    if (special ? write_file(path, plot) : write_and_rename(path, plot))
        return 0;
    return problem_set(problem, EXIT_STATUS_DATA, "%.400s: cannot write the plot: %s", path,
                       strerror(errno));
}
