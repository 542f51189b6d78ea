/* SPDX-License-Identifier: Apache-2.0 */
/* The promises of faults.md as far as a simulation can see them; see oracles.h. To add one: a
 * function that calls sim_broken(), and its name in sim_oracles_judge(). What can only be seen
 * while it happens is looked at there: places in worker_join.c, who hears of a loss in faults.c,
 * output after the end in output.c. */
#include "tests/simulator/oracles.h"

#include "launcher/base/exit_status.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/faults.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/worker.h"
#include "tests/simulator/world.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void check_end(void)
{
    if (sim_launcher_was_killed())
        return;
    if (!world.finished)
        sim_broken("the job does not end after %s", sim_faults_text());
    else if (world.finished_us > sim_faults_deadline_us())
        sim_broken("the job ends too late after %s", sim_faults_text());
    else if (world.launcher->alive)
        sim_broken("hvdrun does not end with its job after %s", sim_faults_text());
}

/* Whatever has befallen the job: the host that is lost is one that may be. */
static bool names_lost_host(const char *line)
{
    const char *name = strstr(line, " on h");
    return name && sim_faults_may_lose(atoi(name + strlen(" on h")));
}

static void check_verdict(void)
{
    if (!world.finished || sim_launcher_was_killed())
        return;
    int status = world.exit_status, blamed = sim_faults_blamed_rank();
    int host = sim_faults_blamed_host(status);
    const char *line = sim_last_line(), *words = sim_faults_words(status);
    if (!sim_faults_allow(status))
        sim_broken("status %d after %s: %s", status, sim_faults_text(), line);
    else if (status != 0 && strncmp(line, "hvdrun: ", 8) != 0 && !world.output_dropped)
        sim_broken("status %d without a last line: %s", status, line);
    else if (blamed >= 0 && !strstr(line, sim_format("rank %d on h", blamed)))
        sim_broken("rank %d is not blamed: %s", blamed, line);
    else if (status == STATUS_HOST_LOST && !names_lost_host(line))
        sim_broken("a host is blamed that nothing has befallen, after %s: %s", sim_faults_text(),
                   line);
    else if (host >= 0 && !strstr(line, sim_format(" on h%d: ", host)))
        sim_broken("h%d is not blamed: %s", host, line);
    else if (words && !strstr(line, words))
        sim_broken("'%s' is not said: %s", words, line);
}

/* Who would end when asked, and is asked because another rank has failed, is not killed. */
static void check_grace(void)
{
    int blamed = sim_faults_blamed_rank();
    for (int rank = 0; rank < world.nranks && blamed >= 0; rank++) {
        const struct sim_worker *worker = world.ranks[rank];
        if (worker && rank != blamed && !worker->ignores_term &&
            worker->process->wait_status == SIGKILL)
            sim_broken("rank %d was not asked to end before it was killed", rank);
    }
}

/* It has no power; or its agent is stopped, and has no supervisor; or is stopped, or waits for a
 * launcher that said it would be away, and nobody can tell it or its supervisor anything. */
static bool is_unreachable(const struct sim_host *host)
{
    bool cut = sim_host_is_cut(host), stopped = host->agent && host->agent->stopped;
    return host->vanished || (stopped && !host->supervisor->alive) ||
           (cut && host->agent && (stopped || world.was_suspended));
}

static void check_processes(void)
{
    for (const struct sim_process *at = sim_processes(); at; at = at->next) {
        bool is_unswept = at->kind == SIM_ORPHAN && world.hosts[at->host].unguarded &&
                          sim_faults_are_two(); /* the way back there may be gone too */
        if (at->alive && !is_unswept && !is_unreachable(&world.hosts[at->host]) &&
            at != world.launcher)
            sim_broken("%s (pid %d) on host %d is left after %s", sim_process_name(at), at->pid,
                       at->host, sim_faults_text());
    }
}

/* All agree on one order, as far as each has come. */
static void check_order(void)
{
    const struct sim_worker *longest = NULL;
    for (int rank = 0; rank < world.nranks; rank++)
        if (world.ranks[rank] && (!longest || world.ranks[rank]->ndecisions > longest->ndecisions))
            longest = world.ranks[rank];
    for (int rank = 0; rank < world.nranks; rank++) {
        const struct sim_worker *worker = world.ranks[rank];
        if (worker && memcmp(worker->decisions, longest->decisions,
                             (size_t)worker->ndecisions * sizeof *worker->decisions) != 0)
            sim_broken("ranks %d and %d decide in different orders", rank, longest->rank);
    }
}

/* ---- output ---- */

struct listener {
    const char *at, *end;
    size_t heard[SIM_RANKS_MAX]; /* of each rank */
    int stream;
};

static bool skip_own_line(struct listener *listener)
{
    static const char own[] = "hvdrun: ";
    size_t left = (size_t)(listener->end - listener->at);
    if (left < sizeof own - 1 || memcmp(listener->at, own, sizeof own - 1) != 0)
        return false;
    const char *newline = memchr(listener->at, '\n', left);
    listener->at = newline ? newline + 1 : listener->end;
    return true;
}

/* "[3]<stdout>:"; the rank, or -1. */
static int take_prefix(struct listener *listener)
{
    char *after;
    if (*listener->at != '[')
        return -1;
    int rank = (int)strtol(listener->at + 1, &after, 10);
    const char *rest = listener->stream == 0 ? "]<stdout>:" : "]<stderr>:";
    if (rank < 0 || rank >= world.nranks || (size_t)(listener->end - after) < strlen(rest) ||
        memcmp(after, rest, strlen(rest)) != 0)
        return -1;
    listener->at = after + strlen(rest);
    return rank;
}

/* Its host was lost, or nobody listens: the end may be missing. */
static bool may_be_cut(const struct sim_worker *worker)
{
    const struct sim_host *host = &world.hosts[worker->process->host];
    return world.output_dropped || world.reader_gone || sim_launcher_was_killed() ||
           !world.finished || host->lost;
}

/* How much of what the rank said comes out, up to the next end of a line. */
static size_t same_text(const struct listener *listener, const struct sim_voice *voice,
                        size_t heard)
{
    if (heard >= voice->heard)
        return 0;
    const char *said = voice->said + heard, *out = listener->at;
    size_t most = (size_t)(listener->end - out), n = 0;
    most = most < voice->heard - heard ? most : voice->heard - heard;
    while (n < most && said[n] == out[n] && out[n] != '\n' && out[n] != '\r')
        n++;
    return n;
}

/* A newline that the rank did not write ends what it left open. */
static bool take_record(struct listener *listener, int rank)
{
    const struct sim_voice *voice = &world.ranks[rank]->voices[listener->stream];
    size_t *heard = &listener->heard[rank];
    size_t same = same_text(listener, voice, *heard);
    listener->at += same;
    *heard += same;
    while (listener->at < listener->end) {
        char c = *listener->at++;
        if (*heard < voice->heard && voice->said[*heard] == c)
            ++*heard;
        else if (c != '\n' || (*heard != voice->heard && !may_be_cut(world.ranks[rank])))
            return false;
        if (c == '\n' || c == '\r')
            return true;
    }
    return true;
}

static bool listen_to_all(struct listener *listener)
{
    while (listener->at < listener->end) {
        if (skip_own_line(listener))
            continue;
        int rank = *listener->at == '\n' ? -2 : take_prefix(listener);
        if (rank == -2)
            listener->at++;
        else if (rank < 0 || !world.ranks[rank] || !take_record(listener, rank))
            return false;
    }
    return true;
}

static void check_output(int stream)
{
    struct sim_console *console = &world.consoles[stream];
    char *text = sim_room(console->length + 1); /* terminated */
    if (console->length > 0)
        memcpy(text, console->text, console->length);
    text[console->length] = '\0';
    struct listener listener = { .at = text, .end = text + console->length, .stream = stream };
    if (!listen_to_all(&listener)) {
        sim_broken("output that nobody wrote: '%.40s'", listener.at);
        return;
    }
    for (int rank = 0; rank < world.nranks; rank++) {
        const struct sim_worker *worker = world.ranks[rank];
        if (worker && !may_be_cut(worker) && listener.heard[rank] != worker->voices[stream].heard)
            sim_broken("rank %d wrote %zu bytes to %s, %zu came out", rank,
                       worker->voices[stream].heard, stream == 0 ? "stdout" : "stderr",
                       listener.heard[rank]);
    }
}

/* Of ranks that still live, when the job has not ended as it should. */
static void listen_to_the_living(void)
{
    for (int rank = 0; rank < world.nranks; rank++)
        if (world.ranks[rank] && world.ranks[rank]->process->alive)
            sim_voice_end(world.ranks[rank]);
}

void sim_oracles_judge(void)
{
    listen_to_the_living();
    check_end();
    check_verdict();
    check_grace();
    check_processes();
    check_order();
    sim_store_check();
    check_output(0);
    check_output(1);
}
