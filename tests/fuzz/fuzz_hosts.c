/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts as people and batch systems write them.
 *
 *   u8 the form: 0 -H   1 a hostfile   2 Slurm's lists, of hosts, then of counts in another line
 *      3 $LSB_MCPU_HOSTS   4 $LSB_HOSTS   5 $PBS_NODEFILE's file   6 $PE_HOSTFILE's file
 *      7 what a discovery script prints
 *   the text
 *
 * Whatever it is: it is read, or refused by one line of printable ASCII that begins with its source
 * and is not too long, and then the list is empty. In a list that was read no host is there twice,
 * all have names and slots, and written as -H takes it, or as a hostfile, it is read as the same
 * list. */
#include "launcher/base/bad_input.h"
#include "launcher/base/text_buffer.h"
#include "launcher/hosts/host_environment.h"
#include "launcher/hosts/host_lines.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- reading ---- */

static int read_option(struct host_list *list, struct fuzz_input *input, struct err *err)
{
    size_t length;
    char *text = (char *)fuzz_rest(input, &length);
    int rc = host_list_parse(list, text, length, "-H", err);
    free(text);
    return rc;
}

static int read_hostfile(struct host_list *list, struct fuzz_input *input, struct err *err)
{
    size_t length;
    char *text = (char *)fuzz_rest(input, &length);
    int rc = host_list_parse_hostfile(list, text, length, "hosts", err);
    free(text);
    return rc;
}

/* The environment of a job in a batch system: at most two variables. */
static struct {
    const char *name;
    char *value;
} variables[2];

static char *get(const char *name)
{
    for (int i = 0; i < 2; i++)
        if (variables[i].name && strcmp(name, variables[i].name) == 0)
            return variables[i].value;
    return NULL;
}

static int read_variables(struct host_list *list, struct err *err)
{
    const char *source = NULL;
    int rc = host_list_from_environment(list, get, &source, err);
    PROMISE(rc != 0 || !variables[0].value || !*variables[0].value);
    PROMISE(rc == 0 || source[0] == '$');
    memset(variables, 0, sizeof variables);
    return rc;
}

static int read_slurm(struct host_list *list, struct fuzz_input *input, struct err *err)
{
    char *text = fuzz_rest_text(input), *rest = text;
    variables[0].name = "SLURM_JOB_NODELIST";
    variables[0].value = fuzz_line(&rest);
    variables[1].name = "SLURM_TASKS_PER_NODE";
    variables[1].value = rest;
    int rc = read_variables(list, err);
    free(text);
    return rc;
}

static int read_variable(struct host_list *list, struct fuzz_input *input, const char *name,
                         struct err *err)
{
    char *text = fuzz_rest_text(input);
    variables[0].name = name;
    variables[0].value = text;
    int rc = read_variables(list, err);
    free(text);
    return rc;
}

static int read_pairs(struct host_list *list, struct fuzz_input *input, struct err *err)
{
    return read_variable(list, input, "LSB_MCPU_HOSTS", err);
}

static int read_names(struct host_list *list, struct fuzz_input *input, struct err *err)
{
    return read_variable(list, input, "LSB_HOSTS", err);
}

static int read_file(struct host_list *list, struct fuzz_input *input, const char *name,
                     struct err *err)
{
    char path[32];
    int fd = memfd_create("hosts", MFD_CLOEXEC);
    PROMISE(fd >= 0 && write(fd, input->at, input->left) == (ssize_t)input->left);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    variables[0].name = name;
    variables[0].value = path;
    int rc = read_variables(list, err);
    close(fd);
    return rc;
}

static int read_node_file(struct host_list *list, struct fuzz_input *input, struct err *err)
{
    return read_file(list, input, "PBS_NODEFILE", err);
}

static int read_columns(struct host_list *list, struct fuzz_input *input, struct err *err)
{
    return read_file(list, input, "PE_HOSTFILE", err);
}

static int read_lines(struct host_list *list, struct fuzz_input *input, struct err *err)
{
    size_t length;
    char *text = (char *)fuzz_rest(input, &length);
    int rc = host_list_parse_lines(list, text, length, 2, "script", err);
    free(text);
    return rc;
}

static const struct form {
    int (*read)(struct host_list *list, struct fuzz_input *input, struct err *err);
    const char *source; /* what its messages begin with */
} forms[] = {
    { read_option, "-H: " },
    { read_hostfile, "hosts:" },
    { read_slurm, "$SLURM_" },
    { read_pairs, "$LSB_MCPU_HOSTS: " },
    { read_names, "$LSB_HOSTS: " },
    { read_node_file, "$PBS_NODEFILE: " },
    { read_columns, "$PE_HOSTFILE: " },
    { read_lines, "script:" },
};

/* ---- what was read ---- */

static void check_hosts(const struct host_list *list)
{
    int slots = 0;
    PROMISE(list->count > 0 && list->count <= HOST_COUNT_MAX);
    for (int i = 0; i < list->count; i++) {
        const struct host_slots *host = &list->hosts[i];
        PROMISE(*host->name && *host->name != '-' && strlen(host->name) <= 253);
        PROMISE(!host->user || (*host->user && *host->user != '-'));
        PROMISE(host->slots >= 1 && host->slots <= HOST_SLOTS_MAX);
        PROMISE(host->line >= 1 && host->column >= 1);
        slots += host->slots;
    }
    for (int i = 0; i < list->count && list->count < 100; i++)
        for (int other = 0; other < i; other++)
            PROMISE(strcasecmp(list->hosts[i].name, list->hosts[other].name) != 0);
    PROMISE(host_list_slots(list) == slots);
}

static void write_host(struct text_buffer *text, const struct host_slots *host, const char *format)
{
    bool ipv6 = strchr(host->name, ':') != NULL;
    text_buffer_printf(text, "%s%s%s%s%s", host->user ? host->user : "", host->user ? "@" : "",
                       ipv6 ? "[" : "", host->name, ipv6 ? "]" : "");
    text_buffer_printf(text, format, host->slots);
}

static void check_equal(const struct host_list *list, const struct host_list *again)
{
    PROMISE(again->count == list->count);
    for (int i = 0; i < list->count; i++) {
        const struct host_slots *a = &list->hosts[i], *b = &again->hosts[i];
        PROMISE(strcmp(a->name, b->name) == 0 && a->slots == b->slots);
        PROMISE(!a->user == !b->user && (!a->user || strcmp(a->user, b->user) == 0));
    }
}

static void check_again(const struct host_list *list, bool is_file)
{
    struct text_buffer text = { 0 };
    struct host_list again;
    struct err err = { .code = HVD_OK };
    for (int i = 0; i < list->count; i++) {
        if (i > 0)
            text_buffer_put_string(&text, is_file ? "\n" : ",");
        write_host(&text, &list->hosts[i], is_file ? " slots=%d" : ":%d");
    }
    int rc = (is_file ? host_list_parse_hostfile : host_list_parse)(&again, text.data, text.length,
                                                                    "again", &err);
    PROMISE(rc == HVD_OK);
    check_equal(list, &again);
    host_list_fini(&again);
    text_buffer_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    const struct form *form = &forms[fuzz_u8(&input) % (sizeof forms / sizeof *forms)];
    struct host_list list = { 0 };
    struct err err = { .code = HVD_OK };
    int rc = form->read(&list, &input, &err);
    if (rc < 0) {
        PROMISE(rc == HVD_ERR_INVALID && err.code == rc);
        fuzz_check_line(err.text, form->source);
        PROMISE(list.count == 0 && !list.hosts);
    } else if (list.count > 0) {
        check_hosts(&list);
        check_again(&list, false);
        check_again(&list, true);
    }
    host_list_fini(&list);
    return 0;
}
