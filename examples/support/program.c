/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of every example; see program.h. When hvd_init() fails, each rank that notices says why
 * and ends with status 1: there is nobody to agree with. */
#include "examples/support/program.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hvd.h"
#include "hvd_elastic.h"

double program_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

bool program_prints(void)
{
    return hvd_rank() == 0;
}

int program_flush(struct problem *problem)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    return problem_set(problem, EXIT_STATUS_DATA, "standard output cannot be written");
}

static void print_help(const struct program *program)
{
    printf("usage: %s [options]\n%s\n\n", program->name, program->summary);
    options_print_help(program->rows, program->row_count, stdout);
}

/* Ranks that were started with other options would wait for each other sooner or later. */
static int compare_options(const struct program *program, struct problem *problem)
{
    int64_t low[OPTION_ROWS_MAX], high[OPTION_ROWS_MAX];
    assert(program->row_count <= OPTION_ROWS_MAX);
    for (size_t i = 0; i < program->row_count; i++)
        low[i] = high[i] = (int64_t)options_fingerprint(&program->rows[i], program->options);
    if (hvd_allreduce("options.low", low, low, program->row_count, HVD_INT64, HVD_MIN) != HVD_OK ||
        hvd_allreduce("options.high", high, high, program->row_count, HVD_INT64, HVD_MAX) != HVD_OK)
        return problem_from_hvd(problem, "comparing the ranks' options");
    for (size_t i = 0; i < program->row_count; i++)
        if (low[i] != high[i])
            return problem_set(problem, EXIT_STATUS_USAGE, "%s is not the same on all ranks",
                               program->rows[i].name);
    return 0;
}

static int run_in_world(const struct program *program, struct problem *problem)
{
    int status = agree_to_go_on(program->name, problem);
    if (status != 0)
        return status;
    if (compare_options(program, problem) < 0)
        return agree_to_go_on(program->name, problem);
    if (!*program->help) {
        status = program->run(program->options, problem);
        return status < 0 ? agree_to_go_on(program->name, problem) : status;
    }
    if (program_prints())
        print_help(program);
    program_flush(problem);
    return agree_to_go_on(program->name, problem);
}

static bool is_elastic(const struct program *program)
{
    const char *elastic = getenv("HOROVOD_ELASTIC");
    return program->run_elastic != NULL && elastic != NULL && strcmp(elastic, "1") == 0;
}

static int run_in_elastic_job(const struct program *program, struct problem *problem)
{
    int status = -1;
    if (problem->exit_status == 0 && !*program->help)
        status = program->run_elastic(program->options, problem);
    else if (problem->exit_status == 0 && program_prints())
        print_help(program);
    program_flush(problem);
    if (problem->exit_status != 0)
        return problem_print(program->name, problem);
    return status < 0 ? 0 : status;
}

int program_main(const struct program *program, int argc, char **argv)
{
    struct problem problem = { 0 };
    setvbuf(stdout, NULL, _IOLBF, 0); /* hvdrun's end of a pipe is read by a person, too */
    if (options_parse(program->rows, program->row_count, program->options, argc, argv, &problem) ==
            0 &&
        program->check != NULL && !*program->help)
        program->check(program->options, &problem);
    bool elastic = is_elastic(program);
    int rc = elastic ? hvd_elastic_init() : hvd_init();
    if (elastic && rc == HVD_ERR_REMOVED)
        return 0;
    if (rc != HVD_OK) {
        fprintf(stderr, "%s: hvd_init: %s\n", program->name, hvd_last_error());
        return EXIT_STATUS_DATA;
    }
    int status = elastic ? run_in_elastic_job(program, &problem) : run_in_world(program, &problem);
    hvd_shutdown();
    return status;
}
