/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a trial (trial.h), by the kind of its connection: two ranks that meet at a small
 * rendezvous of the test's, which leads rank 0 to the relay; or at hvdrendezvousd, to which the
 * relay leads rank 1; or hvdrun, which reaches its host through the program "proxy". */
#include "tests/proxy/trial.h"

#include "tests/support/mini_rendezvous.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 24, WORD_SIZE = 256 };
enum { HELLO_CHANNEL = 20 }; /* link_handshake.h; the world's tree is 0, its data 1 */

/* Words of a command, or settings of an environment. */
struct words {
    int count;
    char text[WORDS_MAX][WORD_SIZE];
    char *at[WORDS_MAX + 1];
};

static struct mini_rendezvous mini; /* of this process */

__attribute__((format(printf, 2, 3))) static void add(struct words *words, const char *format, ...)
{
    va_list args;
    if (words->count == WORDS_MAX)
        abort();
    char *text = words->text[words->count];
    va_start(args, format);
    vsnprintf(text, WORD_SIZE, format, args);
    va_end(args);
    words->at[words->count++] = text;
    words->at[words->count] = NULL;
}

/* Where there is no fault, nothing may be given up, however busy the machine is. */
static int patience_s(const struct trial *trial, int usual_s)
{
    return trial->fault.act == WIRE_NOTHING ? 50 : usual_s;
}

/* What a program must have of ours, and nothing else. */
static void begin_environment(struct words *environment, const struct trial *trial)
{
    static const char *const kept[] = { "PATH",         "HOME",          "ASAN_OPTIONS",
                                        "LSAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH" };
    environment->count = 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (getenv(kept[i]))
            add(environment, "%s=%s", kept[i], getenv(kept[i]));
    add(environment, "HOROVOD_STALL_CHECK_TIME_SECONDS=1");
    add(environment, "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=%d", patience_s(trial, 3));
}

static bool spawn(struct trial_job *job, const struct words *words, const struct words *environment)
{
    struct trial_process *process = &job->processes[job->count++];
    int output[2];
    *process = (struct trial_process){ .output = -1 };
    if (pipe2(output, O_CLOEXEC) < 0)
        return false;
    process->output = output[0];
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    process->pid = fork();
    if (process->pid == 0) {
        int nothing = open("/dev/null", O_RDONLY);
        dup2(nothing, STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        dup2(output[1], STDERR_FILENO);
        signal(SIGPIPE, SIG_DFL);
        execve(words->at[0], words->at, environment->at);
        _exit(126);
    }
    close(output[1]);
    return process->pid > 0;
}

/* The fault is for the first connection, or for one whose hello speaks of that channel. */
static bool start_relay(struct trial_job *job, const struct trial *trial, int channel, int to_port,
                        int *port)
{
    struct relay_rules rules = { .count = 1,
                                 .single = trial->single,
                                 .delay_ms = trial->delay_ms,
                                 .jitter_ms = trial->jitter_ms };
    struct sockaddr_in at, to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)to_port) };
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    rules.faults[0].fault = trial->fault;
    rules.faults[0].way = trial->way;
    rules.faults[0].connection = channel < 0;
    rules.faults[0].when_at = HELLO_CHANNEL;
    rules.faults[0].when_byte = channel;
    rules.faults[0].once = true;
    int listener = relay_listen(INADDR_LOOPBACK, 0, &at);
    if (listener < 0)
        return false;
    relay_init(&job->relay, &rules, listener, &to);
    *port = ntohs(at.sin_port);
    return true;
}

/* ---- between ranks ---- */

/* Free at the moment, below those that the system gives away, and not the one of another trial. */
static int find_port(void)
{
    enum { FIRST = 20000, COUNT = 12000 };
    struct sockaddr_in at;
    int fd = -1, port = 0;
    for (int i = 0; i < COUNT && fd < 0; i++) {
        port = FIRST + ((int)getpid() + i) % COUNT;
        fd = relay_listen(INADDR_ANY, (uint16_t)port, &at);
    }
    if (fd >= 0)
        close(fd);
    return fd < 0 ? 0 : port;
}

static bool start_rank(struct trial_job *job, const struct trial *trial,
                       const struct trial_programs *programs, int rank, int data_port)
{
    struct words words = { 0 }, environment;
    begin_environment(&environment, trial);
    add(&words, "%s", programs->worker);
    add(&environment, "HOROVOD_RANK=%d", rank);
    add(&environment, "HOROVOD_SIZE=2");
    add(&environment, "HOROVOD_HOSTNAME=host%d", rank);
    add(&environment, "HOROVOD_GLOO_RENDEZVOUS_ADDR=127.0.0.1");
    add(&environment, "HOROVOD_GLOO_RENDEZVOUS_PORT=%d", mini.port);
    add(&environment, "HVD_JOB_KEY=%s", mini.key);
    if (trial->encrypted)
        add(&environment, "HVD_ENCRYPT=require");
    if (rank == 1)
        add(&environment, "HVD_PORT_RANGE=%d-%d", data_port, data_port);
    return spawn(job, &words, &environment);
}

static bool start_data(struct trial_job *job, const struct trial *trial,
                       const struct trial_programs *programs)
{
    struct mini_options options = { .size = 2, .anywhere = true };
    int data_port = find_port();
    if (!start_relay(job, trial, trial->kind == TRIAL_TREE ? 0 : 1, data_port, &options.detour))
        return false;
    mini_rendezvous_start(&mini, &options);
    return start_rank(job, trial, programs, 0, 0) && start_rank(job, trial, programs, 1, data_port);
}

/* ---- at the service ---- */

static bool read_job_key(const struct trial_programs *programs, const char *id, char key[80])
{
    char command[1024];
    snprintf(command, sizeof command, "'%s' --key-file '%s' --job-key %s", programs->rendezvousd,
             programs->key_file, id);
    FILE *output = popen(command, "r");
    bool is_there = output && fgets(key, 80, output);
    key[strcspn(key, "\n")] = '\0';
    return output && pclose(output) == 0 && is_there;
}

static bool start_rendezvous(struct trial_job *job, const struct trial *trial,
                             const struct trial_programs *programs)
{
    char id[32], key[80] = "";
    int port;
    snprintf(id, sizeof id, "trial%d", (int)getpid());
    if (!read_job_key(programs, id, key) || !start_relay(job, trial, -1, programs->port, &port))
        return false;
    for (int rank = 0; rank < 2; rank++) {
        struct words words = { 0 }, environment;
        begin_environment(&environment, trial);
        add(&words, "%s", programs->worker);
        add(&environment, "HVD_RENDEZVOUS=127.0.0.1:%d", rank == 1 ? port : programs->port);
        add(&environment, "HVD_JOB_ID=%s", id);
        add(&environment, "HVD_JOB_KEY=%s", key);
        add(&environment, "HOROVOD_SIZE=2");
        add(&environment, "HOROVOD_RANK=%d", rank);
        add(&environment, "HOROVOD_HOSTNAME=here");
        if (!spawn(job, &words, &environment))
            return false;
    }
    return true;
}

/* ---- through an agent ---- */

static bool start_agent(struct trial_job *job, const struct trial *trial,
                        const struct trial_programs *programs)
{
    static const char *const ways[] = { "--there", "--back" };
    struct words words = { 0 }, environment;
    begin_environment(&environment, trial);
    add(&words, "%s", programs->hvdrun);
    add(&words, "--start-timeout=%d", patience_s(trial, 5));
    add(&words, "--heartbeat-timeout=%d", patience_s(trial, 2));
    add(&words, "--grace=1");
    add(&words, "-np");
    add(&words, "2");
    add(&words, "-H");
    add(&words, "far:2");
    add(&words, "--remote-shell");
    add(&words, "%s --delay %u --jitter %u%s%s %s %llu:%s=%llu -- env WIRE_HOST=%%h",
        programs->proxy, trial->delay_ms, trial->jitter_ms, trial->single ? " --single" : "",
        trial->fault.act == WIRE_NOTHING ? " --count" : "", ways[trial->way],
        (unsigned long long)trial->fault.offset, wire_act_name(trial->fault.act),
        (unsigned long long)trial->fault.argument);
    char *argument = strchr(words.at[words.count - 1], '=');
    bool takes_argument = trial->fault.act >= WIRE_FLIP;
    if (!takes_argument) /* "cut", not "cut=0" */
        memmove(argument, strchr(argument, ' '), strlen(strchr(argument, ' ')) + 1);
    add(&words, "%s", programs->worker);
    return spawn(job, &words, &environment);
}

static bool (*const starts[TRIAL_KINDS])(struct trial_job *job, const struct trial *trial,
                                         const struct trial_programs *programs) = {
    [TRIAL_AGENT] = start_agent,
    [TRIAL_RENDEZVOUS] = start_rendezvous,
    [TRIAL_DATA] = start_data,
    [TRIAL_TREE] = start_data,
};

bool trial_start(struct trial_job *job, const struct trial *trial,
                 const struct trial_programs *programs)
{
    *job = (struct trial_job){ .relay.listener = -1 };
    return starts[trial->kind](job, trial, programs);
}

void trial_finish(struct trial_job *job)
{
    mini_rendezvous_stop(&mini);
    relay_fini(&job->relay);
}
