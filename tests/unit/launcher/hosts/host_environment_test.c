/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts from a batch system: the variables and files of each, and the line said about bad ones. */
#include "launcher/base/text_buffer.h"
#include "launcher/hosts/host_environment.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { VARIABLES_MAX = 4 };

struct variable {
    const char *name, *value;
};

/* The environment of the test that runs. */
static const struct variable *environment;

static char *get(const char *name)
{
    for (int i = 0; i < VARIABLES_MAX && environment[i].name; i++)
        if (strcmp(environment[i].name, name) == 0)
            return (char *)(uintptr_t)environment[i].value;
    return NULL;
}

/* "name:slots,..." of a list. */
static char *render(const struct host_list *list)
{
    struct text_buffer text = { 0 };
    for (int i = 0; i < list->count; i++)
        text_buffer_printf(&text, "%s%s:%d", i ? "," : "", list->hosts[i].name,
                           list->hosts[i].slots);
    return text_buffer_take(&text);
}

struct row {
    struct variable variables[VARIABLES_MAX];
    const char *hosts;
    const char *source;
};

static void expect(const struct row *row)
{
    struct host_list list;
    struct err err = { 0 };
    const char *source = "none";
    environment = row->variables;
    int rc = host_list_from_environment(&list, get, &source, &err);
    ck_assert_msg(rc >= 0, "%s", err.text);
    ck_assert_int_eq(rc, row->source ? 1 : 0);
    ck_assert_str_eq(source, row->source ? row->source : "none");
    char *hosts = render(&list);
    ck_assert_str_eq(hosts ? hosts : "", row->hosts);
    free(hosts);
    host_list_fini(&list);
}

struct bad_row {
    struct variable variables[VARIABLES_MAX];
    const char *error;
};

static void expect_error(const struct bad_row *row)
{
    struct host_list list;
    struct err err = { 0 };
    const char *source;
    environment = row->variables;
    int rc = host_list_from_environment(&list, get, &source, &err);
    ck_assert_msg(rc == HVD_ERR_INVALID && err.code == rc, "accepted: %s", row->error);
    ck_assert_msg(!list.hosts && list.count == 0, "hosts are left behind: %s", row->error);
    ck_assert_str_eq(err.text, row->error);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define NODES "SLURM_JOB_NODELIST"
#define TASKS "SLURM_TASKS_PER_NODE"
#define CPUS "SLURM_JOB_CPUS_PER_NODE"

START_TEST(without_a_batch_system_there_are_no_hosts)
{
    static const struct row rows[] = {
        { { { NULL, NULL } }, "", NULL },
        { { { NODES, "" }, { "PBS_NODEFILE", "" } }, "", NULL },
        { { { TASKS, "4(x2)" }, { CPUS, "8" } }, "", NULL },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        expect(&rows[i]);
}
END_TEST

START_TEST(slurm_allocations_are_read)
{
    static const struct row rows[] = {
        { { { NODES, "n1" } }, "n1:1", "$" NODES },
        { { { NODES, "n1" }, { TASKS, "4" } }, "n1:4", "$" NODES },
        { { { "SLURM_NODELIST", "a,b" }, { TASKS, "2,3" } }, "a:2,b:3", "$SLURM_NODELIST" },
        { { { NODES, "a" }, { "SLURM_NODELIST", "b" } }, "a:1", "$" NODES },
        { { { NODES, "n[001-003,7],login,rack[1-2]node[0-1]" }, { TASKS, "4(x2),3(x6),1" } },
          "n001:4,n002:4,n003:3,n7:3,login:3,rack1node0:3,rack1node1:3,rack2node0:3,rack2node1:1",
          "$" NODES },
        { { { NODES, "n[8-11]" } }, "n8:1,n9:1,n10:1,n11:1", "$" NODES },
        { { { NODES, "n[098-101]-ib" } }, "n098-ib:1,n099-ib:1,n100-ib:1,n101-ib:1", "$" NODES },
        { { { NODES, "n[0]" } }, "n0:1", "$" NODES },
        { { { NODES, "[1-2]a.example.org" } }, "1a.example.org:1,2a.example.org:1", "$" NODES },
        { { { NODES, "a[1-2],b1" }, { CPUS, "72(x2),36" } }, "a1:72,a2:72,b1:36", "$" NODES },
        { { { NODES, "a" }, { TASKS, "2" }, { CPUS, "8" } }, "a:2", "$" NODES },
        { { { NODES, "a" }, { TASKS, "" }, { CPUS, "8" } }, "a:8", "$" NODES },
        { { { NODES, "a,b" }, { TASKS, "65536(x2)" } }, "a:65536,b:65536", "$" NODES },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        expect(&rows[i]);
}
END_TEST

START_TEST(bad_slurm_allocations_are_refused_with_one_line)
{
    static const struct bad_row rows[] = {
        { { { NODES, "a,,b" } }, "$" NODES ": empty entry at column 3: '' (expected a host)" },
        { { { NODES, "a," } }, "$" NODES ": empty entry at column 3: '' (expected a host)" },
        { { { NODES, " " } }, "$" NODES ": empty entry at column 1: '' (expected a host)" },
        { { { NODES, "n[1-3" } }, "$" NODES ": '[' without ']' at column 2: 'n[1-3'" },
        { { { NODES, "a,n[1,2" } }, "$" NODES ": '[' without ']' at column 4: 'n[1,2'" },
        { { { NODES, "n1]" } }, "$" NODES ": bad character in host name at column 1: 'n1]'" },
        { { { NODES, "n[5-3]" } },
          "$" NODES ": range goes backwards at column 3: 'n[5-3]' (expected FIRST-LAST)" },
        { { { NODES, "n[]" } },
          "$" NODES ": bad range at column 3: 'n[]' (expected NUMBER or FIRST-LAST)" },
        { { { NODES, "n[1,]" } },
          "$" NODES ": bad range at column 5: 'n[1,]' (expected NUMBER or FIRST-LAST)" },
        { { { NODES, "n[1-]" } },
          "$" NODES ": bad range at column 3: 'n[1-]' (expected NUMBER or FIRST-LAST)" },
        { { { NODES, "n[-1]" } },
          "$" NODES ": bad range at column 3: 'n[-1]' (expected NUMBER or FIRST-LAST)" },
        { { { NODES, "n[1-2-3]" } },
          "$" NODES ": bad range at column 3: 'n[1-2-3]' (expected NUMBER or FIRST-LAST)" },
        { { { NODES, "n[a-c]" } },
          "$" NODES ": bad range at column 3: 'n[a-c]' (expected NUMBER or FIRST-LAST)" },
        { { { NODES, "n[1[2]]" } },
          "$" NODES ": bad range at column 3: 'n[1[2]]' (expected NUMBER or FIRST-LAST)" },
        { { { NODES, "n[1-99999999999999999999]" } },
          "$" NODES ": bad range at column 3: 'n[1-99999999999999999999]' "
          "(expected NUMBER or FIRST-LAST)" },
        { { { NODES, "n[0-999999999]" } },
          "$" NODES ": range is too large at column 3: 'n[0-999999999]' (at most 16384 hosts)" },
        { { { NODES, "n[0-16384]" } },
          "$" NODES ": range is too large at column 3: 'n[0-16384]' (at most 16384 hosts)" },
        { { { NODES, "n[0-9999][0-9999][0-9999]" } }, "$" NODES ": more than 16384 hosts" },
        { { { NODES, "a[0-16383],b" } }, "$" NODES ": more than 16384 hosts" },
        { { { NODES, "n[1-2]/x" } },
          "$" NODES ": bad character in host name at column 1: 'n[1-2]/x'" },
        { { { NODES, "u@n[1-2]" } },
          "$" NODES ": bad character in host name at column 1: 'u@n[1-2]'" },
        { { { NODES, "n[1-2]:4" } },
          "$" NODES ": bad character in host name at column 1: 'n[1-2]:4'" },
        { { { NODES, "-oProxyCommand=x" } },
          "$" NODES ": host name may not start with '-' at column 1: '-oProxyCommand=x'" },
        { { { NODES, "n1,n[1-2]" } }, "$" NODES ": host 'n1' is given twice" },
        { { { NODES, "a,b" }, { TASKS, "4" } },
          "$" TASKS ": counts for 1 of the 2 hosts of the job: '4'" },
        { { { NODES, "a,b" }, { TASKS, "4(x3)" } },
          "$" TASKS ": counts for more than the 2 hosts of the job: '4(x3)'" },
        { { { NODES, "a,b" }, { TASKS, "4(x2" } },
          "$" TASKS ": bad slot count at column 1: '4(x2' (expected COUNT or COUNT(xTIMES))" },
        { { { NODES, "a,b" }, { TASKS, "4()" } },
          "$" TASKS ": bad slot count at column 1: '4()' (expected COUNT or COUNT(xTIMES))" },
        { { { NODES, "a,b" }, { TASKS, "4(x)" } },
          "$" TASKS ": bad slot count at column 1: '4(x)' (expected COUNT or COUNT(xTIMES))" },
        { { { NODES, "a,b" }, { TASKS, "1,0" } },
          "$" TASKS ": bad slot count at column 3: '0' (expected COUNT or COUNT(xTIMES))" },
        { { { NODES, "a,b" }, { TASKS, "1,,1" } },
          "$" TASKS ": bad slot count at column 3: '' (expected COUNT or COUNT(xTIMES))" },
        { { { NODES, "a" }, { TASKS, "4(x99999999999)" } },
          "$" TASKS
          ": bad slot count at column 1: '4(x99999999999)' (expected COUNT or COUNT(xTIMES))" },
        { { { NODES, "a" }, { CPUS, "65537" } },
          "$" CPUS ": bad slot count at column 1: '65537' (expected COUNT or COUNT(xTIMES))" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        expect_error(&rows[i]);
}
END_TEST

START_TEST(an_entry_that_never_ends_is_refused)
{
    static char text[1 << 20];
    const struct variable variables[VARIABLES_MAX] = { { NODES, text } };
    static const char *const parts[] = { "a", "[1]", "[1-2]", "[", "]", "[1,", "a." };
    for (size_t i = 0; i < COUNT(parts); i++) {
        struct host_list list;
        struct err err = { 0 };
        const char *source;
        size_t length = strlen(parts[i]);
        for (size_t at = 0; at + length < sizeof text; at += length)
            memcpy(text + at, parts[i], length);
        environment = variables;
        ck_assert_int_eq(host_list_from_environment(&list, get, &source, &err), HVD_ERR_INVALID);
        ck_assert_uint_lt(strlen(err.text), 300);
    }
}
END_TEST

START_TEST(hosts_that_lsf_repeats_add_up)
{
    static const struct row rows[] = {
        { { { "LSB_MCPU_HOSTS", "a 4 b 2" } }, "a:4,b:2", "$LSB_MCPU_HOSTS" },
        { { { "LSB_MCPU_HOSTS", " a  4 \t" } }, "a:4", "$LSB_MCPU_HOSTS" },
        { { { "LSB_HOSTS", "a a b a" } }, "a:3,b:1", "$LSB_HOSTS" },
        { { { "LSB_HOSTS", "[::1] A [0:0::1] a" } }, "::1:2,A:2", "$LSB_HOSTS" },
        { { { "LSB_HOSTS", "a a" }, { "LSB_MCPU_HOSTS", "a 2" } }, "a:2", "$LSB_MCPU_HOSTS" },
        { { { "LSB_HOSTS", "a" }, { NODES, "b" } }, "b:1", "$" NODES },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        expect(&rows[i]);
}
END_TEST

START_TEST(bad_lists_of_lsf_are_refused_with_one_line)
{
    static const struct bad_row rows[] = {
        { { { "LSB_MCPU_HOSTS", "a 4 b" } },
          "$LSB_MCPU_HOSTS: bad slot count at column 6: 'b' "
          "(1 to 65536 after the host)" },
        { { { "LSB_MCPU_HOSTS", "a b" } },
          "$LSB_MCPU_HOSTS: bad slot count at column 3: 'a b' "
          "(1 to 65536 after the host)" },
        { { { "LSB_MCPU_HOSTS", "a 0" } },
          "$LSB_MCPU_HOSTS: bad slot count at column 3: 'a 0' "
          "(1 to 65536 after the host)" },
        { { { "LSB_MCPU_HOSTS", "a 65536 a 1" } },
          "$LSB_MCPU_HOSTS: too many slots of one host at column 9: 'a' (at most 65536)" },
        { { { "LSB_MCPU_HOSTS", "4 a" } },
          "$LSB_MCPU_HOSTS: bad slot count at column 3: '4 a' (1 to 65536 after the host)" },
        { { { "LSB_HOSTS", "a b;c" } },
          "$LSB_HOSTS: bad character in host name at column 4: 'b;c'" },
        { { { "LSB_HOSTS", "a u@b" } },
          "$LSB_HOSTS: bad character in host name at column 3: 'u@b'" },
        { { { "LSB_HOSTS", " " } }, "$LSB_HOSTS: no host in it" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        expect_error(&rows[i]);
}
END_TEST

/* ---- files ---- */

static char path[64];

static void make_file(void)
{
    strcpy(path, "/tmp/host_environment_test.XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void remove_file(void)
{
    unlink(path);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

struct file_row {
    const char *variable, *text, *result; /* hosts; or what is said behind "$VARIABLE: PATH" */
};

START_TEST(files_of_batch_systems_are_read)
{
    static const struct file_row rows[] = {
        { "$PBS_NODEFILE", "a\na\nb\na\n", "a:3,b:1" },
        { "$PBS_NODEFILE", "\na\r\n\nA", "a:2" },
        { "$LSB_DJOB_HOSTFILE", "a\nb\nb\n", "a:1,b:2" },
        { "$PE_HOSTFILE", "a 4 all.q@a UNDEFINED\nb 2 all.q@b 0,0\na 1 fast.q@a UNDEFINED\n",
          "a:5,b:2" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct row row = { { { rows[i].variable + 1, path } }, rows[i].result, rows[i].variable };
        write_file(rows[i].text);
        expect(&row);
    }
}
END_TEST

START_TEST(bad_files_are_refused_with_variable_file_line_and_column)
{
    static const struct file_row rows[] = {
        { "$PBS_NODEFILE", "", ": no host in it" },
        { "$PBS_NODEFILE", "a\nb/c\n", ":2:2: bad character in host name: 'b/c'" },
        { "$PBS_NODEFILE", "a 4\n", ":1:3: neither a host name nor an IPv4 address: '4'" },
        { "$PE_HOSTFILE", "a 4 q\nb\n", ":2:2: bad slot count: 'b' (1 to 65536 after the host)" },
        { "$PE_HOSTFILE", "a x q\n", ":1:3: bad slot count: 'a x' (1 to 65536 after the host)" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char error[300];
        struct bad_row row = { { { rows[i].variable + 1, path } }, error };
        snprintf(error, sizeof error, "%s: %s%s", rows[i].variable, path, rows[i].result);
        write_file(rows[i].text);
        expect_error(&row);
    }
}
END_TEST

START_TEST(files_that_cannot_be_read_are_named)
{
    static const struct bad_row rows[] = {
        { { { "PBS_NODEFILE", "/nonexistent/nodes" } },
          "$PBS_NODEFILE: /nonexistent/nodes: cannot open: No such file or directory" },
        { { { "PE_HOSTFILE", "/dev/zero" } },
          "$PE_HOSTFILE: /dev/zero: is a device or socket, not a hostfile" },
        { { { "LSB_DJOB_HOSTFILE", "/tmp" } },
          "$LSB_DJOB_HOSTFILE: /tmp: is a directory, not a hostfile" },
        { { { "PBS_NODEFILE",
              "/nonexistent/0123456789/0123456789/0123456789/0123456789/0123456789/nodes" } },
          "$PBS_NODEFILE: "
          "...ent/0123456789/0123456789/0123456789/0123456789/0123456789/nodes: "
          "cannot open: No such file or directory" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        expect_error(&rows[i]);
}
END_TEST

START_TEST(a_slot_per_line_of_a_large_file_takes_no_square_of_time)
{
    enum { HOSTS = 16384, SLOTS = 32 };
    struct host_list list;
    struct err err = { 0 };
    const char *source;
    const struct variable variables[VARIABLES_MAX] = { { "PBS_NODEFILE", path } };
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < HOSTS * SLOTS; i++)
        fprintf(file, "node%d\n", i % HOSTS);
    fclose(file);
    environment = variables;
    ck_assert_int_eq(host_list_from_environment(&list, get, &source, &err), 1);
    ck_assert_int_eq(list.count, HOSTS);
    ck_assert_int_eq(host_list_slots(&list), HOSTS * SLOTS);
    host_list_fini(&list);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_environment");
    TCase *variables = tcase_create("variables");
    descriptors_watch(variables);
    tcase_add_test(variables, without_a_batch_system_there_are_no_hosts);
    tcase_add_test(variables, slurm_allocations_are_read);
    tcase_add_test(variables, bad_slurm_allocations_are_refused_with_one_line);
    tcase_add_test(variables, an_entry_that_never_ends_is_refused);
    tcase_add_test(variables, hosts_that_lsf_repeats_add_up);
    tcase_add_test(variables, bad_lists_of_lsf_are_refused_with_one_line);
    TCase *files = tcase_create("files");
    descriptors_watch(files);
    tcase_set_timeout(files, 60);
    tcase_add_checked_fixture(files, make_file, remove_file);
    tcase_add_test(files, files_of_batch_systems_are_read);
    tcase_add_test(files, bad_files_are_refused_with_variable_file_line_and_column);
    tcase_add_test(files, files_that_cannot_be_read_are_named);
    tcase_add_test(files, a_slot_per_line_of_a_large_file_takes_no_square_of_time);
    suite_add_tcase(suite, variables);
    suite_add_tcase(suite, files);
    return unit_run(suite);
}
