/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a job: what ranks said (last_lines.h), who is to blame (job_blame.h), all of it as
 * JSON (report_json.h).
 *
 *   u8 ranks, u8 hosts; texts of the job, the verdict, the loss; numbers of the verdict; then of each rank
 *   and each host what is known, numbers and texts
 *
 * Whatever it is: the report is one JSON value, by a strict reader; each text comes back as it was
 * but for what is not printable; the last lines are the same however they came in pieces, few,
 * printable, and something that was said; who is blamed is a rank, and one that failed unless there
 * is a reporter. */
#include "launcher/output/last_line.h"
#include "launcher/output/last_lines.h"
#include "launcher/verdict/job_blame.h"
#include "lib/base/text.h"
#include "src/hvdrun/report_json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/json.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 4, HOSTS_MAX = 3, NAME_SIZE = 64 };

static struct report_rank ranks[RANKS_MAX];
static struct report_host hosts[HOSTS_MAX];
static struct job_report report;
static char names[HOSTS_MAX][NAME_SIZE], id[NAME_SIZE];
static struct rank_end left_because[RANKS_MAX];

/* ---- what ranks said ---- */

static char *gather(const uint8_t *data, size_t length, size_t piece)
{
    struct last_lines lines = { 0 };
    for (size_t at = 0; at < length; at += piece)
        last_lines_feed(&lines, (const char *)data + at, length - at < piece ? length - at : piece);
    char *text = last_lines_text(&lines);
    last_lines_fini(&lines);
    return text;
}

static void check_lines(const char *text)
{
    int count = 0;
    for (const char *at = text; *at; count++) {
        size_t length = strcspn(at, "\n");
        PROMISE(at[length] == '\n' && length > 0 && length <= LAST_LINE_WHOLE + 3);
        at += length + 1;
    }
    PROMISE(count <= LAST_LINES_MAX);
}

static char *say(struct fuzz_input *input)
{
    size_t length, piece = (size_t)fuzz_u8(input) + 1;
    uint8_t *data = fuzz_bytes(input, &length);
    size_t times = fuzz_u8(input) % 40 + 1;
    uint8_t *all = malloc(length * times + 1);
    for (size_t i = 0; i < times; i++)
        memcpy(all + i * length, data, length);
    char *text = gather(all, length * times, piece);
    char *other = gather(all, length * times, LAST_LINES_KEPT * 4);
    PROMISE(strcmp(text, other) == 0);
    check_lines(text);
    free(other);
    free(all);
    free(data);
    return text;
}

/* ---- the report ---- */

static void draw_end(struct fuzz_input *input, struct rank_end *end)
{
    *end = (struct rank_end){
        .how.kind = (enum rank_end_kind)(fuzz_u8(input) % RANK_END_KINDS),
        .how.code = fuzz_u8(input),
        .status = -(fuzz_u8(input) % 14),
        .rank = fuzz_u8(input) % (RANKS_MAX + 2) - 1,
        .because_of = fuzz_u8(input) % (RANKS_MAX + 2) - 1,
        .collective = (enum collective_kind)(fuzz_u8(input) % COLLECTIVE_KINDS),
    };
    fuzz_text(input, end->host, sizeof end->host);
    fuzz_text(input, end->tensor, sizeof end->tensor);
    fuzz_text(input, end->words, sizeof end->words);
}

static void draw_rank(struct fuzz_input *input, int number)
{
    struct report_rank *rank = &ranks[number];
    draw_end(input, &left_because[number]);
    *rank = (struct report_rank){
        .host = report.nhosts > 0 ? fuzz_u8(input) % report.nhosts : -1,
        .end = (enum report_end)(fuzz_u8(input) % REPORT_ENDS),
        .pid = fuzz_i32(input),
        .how = rank_end_how_of(fuzz_u16(input)),
        .started_ms = fuzz_u16(input),
        .ended_ms = fuzz_u16(input),
        .ended_us = fuzz_u16(input),
        .slack_us = fuzz_u8(input),
        .met = fuzz_u8(input) & 1,
        .left_because = fuzz_u8(input) & 1 ? &left_because[number] : NULL,
        .said_on_stdout = fuzz_u8(input) & 1,
    };
    rank->how.oom = rank->how.kind == RANK_END_KILLED && fuzz_u8(input) & 1;
    rank->said = say(input);
}

static void draw_host(struct fuzz_input *input, int number)
{
    struct report_host *host = &hosts[number];
    fuzz_text(input, names[number], sizeof names[number]);
    *host = (struct report_host){ .name = names[number],
                                  .transport =
                                      (enum report_transport)(fuzz_u8(input) % REPORT_TRANSPORTS),
                                  .agent = fuzz_i32(input) };
    fuzz_text(input, host->reason, sizeof host->reason);
    uint64_t now_ms = fuzz_u16(input) + 1U;
    link_history_reached(&host->history, now_ms);
    for (int i = fuzz_u8(input) % 40; i > 0; i--)
        link_history_heard(&host->history, 100, now_ms += fuzz_u8(input));
    link_history_lost(&host->history, 100, now_ms += fuzz_u8(input));
}

static void draw(struct fuzz_input *input)
{
    int nranks = fuzz_u8(input) % (RANKS_MAX + 1), nhosts = fuzz_u8(input) % (HOSTS_MAX + 1);
    fuzz_text(input, id, sizeof id);
    report = (struct job_report){
        .job = id, .ranks = ranks, .hosts = hosts, .nranks = nranks, .nhosts = nhosts
    };
    fuzz_text(input, report.text, sizeof report.text);
    draw_end(input, &report.origin);
    report.began_ms = fuzz_u16(input);
    report.ended_ms = fuzz_u16(input);
    report.epoch_ms = (uint64_t)fuzz_u16(input) << 26;
    report.exit_status = fuzz_u8(input);
    report.cause = (enum job_cause)(fuzz_u8(input) % (CAUSE_TIMEOUT + 1));
    report.rank = nranks > 0 ? fuzz_u8(input) % (nranks + 1) - 1 : -1;
    report.host = nhosts > 0 ? fuzz_u8(input) % (nhosts + 1) - 1 : -1;
    report.pid = fuzz_i32(input);
    for (int i = 0; i < nhosts; i++)
        draw_host(input, i);
    for (int i = 0; i < nranks; i++)
        draw_rank(input, i);
    if (report.origin.because_of < 0 || report.origin.because_of >= nranks)
        report.origin = rank_end_none(); /* the rendezvous knows better */
    report.origin_us = fuzz_u16(input);
    report.origin_ran_on = fuzz_u8(input) & 1;
}

/* ---- promises ---- */

static void check_blame(void)
{
    struct job_blame blame;
    if (!job_blame_choose(&blame, &report))
        return;
    int failed = blame.reporter >= 0 ? blame.reporter : blame.rank;
    PROMISE(blame.rank >= 0 && blame.rank < report.nranks && blame.rank != blame.reporter);
    PROMISE(failed < report.nranks && ranks[failed].end == END_BY_ITSELF);
    PROMISE(!rank_end_is_clean_exit(&ranks[failed].how));
}

static void check_strict(const char *json)
{
    size_t length = strlen(json);
    char *array = malloc(length + 3);
    array[0] = '[';
    memcpy(array + 1, json, length);
    memcpy(array + 1 + length, "]", 2);
    PROMISE(json_array_length(array, length + 2) == 1);
    free(array);
}

/* "" is null. */
static void check_text(const cJSON *object, const char *name, const char *text)
{
    char expected[2048];
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    PROMISE(item && strlen(text) < sizeof expected);
    memcpy(expected, text, strlen(text) + 1);
    text_make_line(expected);
    PROMISE(*text ? cJSON_IsString(item) && strcmp(item->valuestring, expected) == 0
                  : cJSON_IsNull(item));
}

static void check_content(const cJSON *root)
{
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(root, "ranks");
    PROMISE(cJSON_GetArraySize(all) == report.nranks);
    check_text(cJSON_GetObjectItemCaseSensitive(root, "verdict"), "text", report.text);
    const cJSON *links = cJSON_GetObjectItemCaseSensitive(root, "hosts");
    PROMISE(cJSON_GetArraySize(links) == report.nhosts);
    for (int i = 0; i < report.nhosts; i++) {
        check_text(cJSON_GetArrayItem(links, i), "host", hosts[i].name);
        check_text(cJSON_GetArrayItem(links, i), "reason", hosts[i].reason);
    }
}

static void check_json(void)
{
    char *json = report_json(&report);
    PROMISE(json);
    check_strict(json);
    cJSON *root = cJSON_Parse(json);
    check_content(root);
    cJSON_Delete(root);
    free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    draw(&input);
    check_blame();
    check_json();
    for (int i = 0; i < report.nranks; i++)
        free(ranks[i].said);
    return 0;
}
