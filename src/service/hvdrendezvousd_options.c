/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of hvdrendezvousd:
 *   words by table (options.c), then the environment and the defaults of the table; then what no
 *   single option can know.
 * Fails on input that options.c refuses, on a word that is no option, and without a file for the
 * key. */
#include <config.h>

#include "src/service/hvdrendezvousd_options.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/xalloc.h"
#include "lib/base/env_names.h"
#include "lib/base/job_id.h"
#include "rendezvous/tcp/tcp_address.h"

#include <stddef.h>
#include <string.h>

#define MEMBER(name) offsetof(struct hvdrendezvousd_options, name)

enum { RIVALS_WORK = 1 };

static int check_listen(const char *value, const char *source, struct err *err)
{
    struct sockaddr_storage address;
    struct err inner = { 0 };
    if (tcp_address_parse(&address, value, &inner) < 0)
        return bad_input(err, source, "%s", inner.text);
    return HVD_OK;
}

static int check_job_id(const char *value, const char *source, struct err *err)
{
    struct shown shown;
    size_t length = strlen(value);
    if (!job_id_valid(value, length))
        return bad_input(err, source, "not a job's id: '%s' (expected " JOB_ID_EXPECTED ")",
                         show_token(&shown, value, length));
    return HVD_OK;
}

static const char reach[] = "Address";
static const char keys[] = "Keys";
static const char privileges[] = "Privileges";
static const char readiness[] = "Readiness";
static const char limits[] = "Limits";
static const char other[] = "Other";

static const struct option_row rows[] = {
    { .names = { "--listen" },
      .metavar = "ADDRESS:PORT",
      .help = "numeric address, or localhost; may be repeated; port 0: any free port; [::]:PORT: "
              "every address of this machine",
      .value = "127.0.0.1:29400",
      .kind = OPTION_LIST,
      .offset = MEMBER(listen),
      .check = check_listen,
      .group = reach },
    { .names = { "--key-file" },
      .metavar = "FILE",
      .help = "the key of the service, 64 hexadecimal digits, which only its owner may read",
      .kind = OPTION_TEXT,
      .offset = MEMBER(key_file),
      .offer = OFFER_FILES,
      .group = keys },
    { .names = { "--new-key" },
      .metavar = "FILE",
      .help = "create such a file, and exit",
      .kind = OPTION_TEXT,
      .offset = MEMBER(new_key),
      .rivals = RIVALS_WORK,
      .offer = OFFER_FILES,
      .group = keys },
    { .names = { "--job-key" },
      .metavar = "ID",
      .help = "print the key of job ID, for its workers' $" ENV_JOB_KEY ", and nothing else",
      .kind = OPTION_TEXT,
      .offset = MEMBER(job_key),
      .check = check_job_id,
      .rivals = RIVALS_WORK,
      .group = keys },
    { .names = { "--user" },
      .metavar = "NAME",
      .help = "become this user once the key is read and the ports are open; for root",
      .kind = OPTION_TEXT,
      .offset = MEMBER(user),
      .group = privileges },
    { .names = { "--seccomp" },
      .metavar = "WHEN",
      .help =
          "refuse all system calls but those that serving needs: auto, if built with libseccomp, "
          "on or off",
      .kind = OPTION_CHOICE,
      .value = "auto",
      .offset = MEMBER(seccomp),
      .choices = SECCOMP_CHOICES,
      .offer = OFFER_CHOICES,
      .group = privileges },
    { .names = { "--port-file" },
      .metavar = "FILE",
      .help = "write the port of the first --listen to FILE while listening",
      .kind = OPTION_TEXT,
      .offset = MEMBER(port_file),
      .offer = OFFER_FILES,
      .group = readiness },
    { .names = { "--ready-fd" },
      .metavar = "N",
      .help = "write a newline to descriptor N and close it when listening begins",
      .kind = OPTION_INT,
      .offset = MEMBER(ready_fd),
      .min = 3,
      .max = 1 << 20,
      .group = readiness },
    { .names = { "--max-jobs" },
      .metavar = "N",
      .help = "largest number of jobs at once",
      .value = "1024",
      .kind = OPTION_INT,
      .offset = MEMBER(max_jobs),
      .min = 1,
      .max = 65536,
      .group = limits },
    { .names = { "--max-memory" },
      .metavar = "MIB",
      .help = "largest size of the keys and values of all jobs, and of incomplete requests, in MiB",
      .value = "1024",
      .kind = OPTION_INT,
      .offset = MEMBER(max_memory_mib),
      .min = 64,
      .max = 1 << 20,
      .group = limits },
    { .names = { "--start-timeout" },
      .metavar = "SECONDS",
      .help = "time for the workers of a job to follow the first worker",
      .value = "30",
      .kind = OPTION_INT,
      .offset = MEMBER(start_timeout_s),
      .min = 1,
      .max = 86400,
      .variable = ENV_START_TIMEOUT,
      .group = limits },
    { .names = { "-h", "--help" },
      .help = "print this text",
      .kind = OPTION_FINAL,
      .offset = MEMBER(help),
      .group = other },
    { .names = { "-v", "--version" },
      .help = "print the version",
      .kind = OPTION_FINAL,
      .offset = MEMBER(version),
      .group = other },
};

const struct option_table hvdrendezvousd_option_table = {
    .usage = "hvdrendezvousd --key-file FILE [OPTION]...",
    .before = "The rendezvous for workers that are started without hvdrun: by hand, by Slurm, by "
              "Kubernetes. Runs in the foreground until it gets SIGTERM or SIGINT.",
    .after = "See hvdrendezvousd(8) for the variables of the workers and for exit statuses.",
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
};

_Static_assert(sizeof rows / sizeof *rows <= OPTION_ROWS_MAX, "more options than can be noted");

/* All steps after the words of the command line. */
static int hvdrendezvousd_options_complete(struct hvdrendezvousd_options *options,
                                           const struct options_seen *seen, struct err *err)
{
    struct shown shown;
    const char *word = *seen->rest;
    int rc = options_complete(&hvdrendezvousd_option_table, options, seen, err);
    if (rc < 0)
        return rc;
    if (word)
        return bad_input(err, NULL, "unexpected argument: '%s' (expected only options)",
                         show_token(&shown, word, strlen(word)));
    options->key_file_source = options_given(&hvdrendezvousd_option_table, seen, "--key-file");
    if (options->key_file && options->new_key)
        return bad_input(err, options->key_file_source, "not together with '%s'",
                         options_given(&hvdrendezvousd_option_table, seen, "--new-key"));
    if (!options->key_file && !options->new_key)
        return bad_input(err, "--key-file", "missing (--new-key FILE makes one)");
    return HVD_OK;
}

int hvdrendezvousd_options_parse(struct hvdrendezvousd_options *options, char **argv,
                                 struct err *err)
{
    struct options_seen seen;
    *options = (struct hvdrendezvousd_options){ .ready_fd = -1 };
    int rc = options_parse_words(&hvdrendezvousd_option_table, options, &seen, argv + 1, err);
    if (rc == HVD_OK && !seen.final)
        rc = hvdrendezvousd_options_complete(options, &seen, err);
    if (rc < 0)
        hvdrendezvousd_options_fini(options);
    return rc;
}

void hvdrendezvousd_options_fini(struct hvdrendezvousd_options *options)
{
    string_list_fini(&options->listen);
}

char *hvdrendezvousd_options_answer(const struct hvdrendezvousd_options *options)
{
    if (options->help)
        return options_help(&hvdrendezvousd_option_table);
    return options->version ? xasprintf("hvdrendezvousd %s\n", PACKAGE_VERSION) : NULL;
}
