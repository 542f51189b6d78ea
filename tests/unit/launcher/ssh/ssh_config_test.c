/* SPDX-License-Identifier: Apache-2.0 */
/* What ssh -G prints, read; and the client asked, with scripts in its place. */
#include "launcher/process/children.h"
#include "launcher/ssh/ssh_config.h"
#include "launcher/ssh/ssh_config_expand.h"
#include "tests/support/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the output ---- */

/* Everything that is read, as one text. */
static char *render(const struct ssh_config *config)
{
    static const char *const stricts[] = { "yes", "accept-new", "no" };
    static char text[4096];
    size_t used = (size_t)snprintf(
        text, sizeof text, "%s@%s:%d strict=%s%s%s family=%d alias=%s agent=%s proxy=%s%s%s%s",
        config->user, config->host_name, config->port, stricts[config->strict],
        config->hash_known_hosts ? " hash" : "", config->identities_only ? " only" : "",
        config->family, config->host_key_alias ? config->host_key_alias : "-",
        config->identity_agent ? config->identity_agent : "-", config->proxy ? config->proxy : "-",
        config->ssh_only ? " only=" : "", config->ssh_only ? config->ssh_only : "",
        config->has_session_type ? " sessions" : "");
    for (size_t i = 0; i < config->identity_files.count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " key=%s",
                                 config->identity_files.items[i]);
    for (size_t i = 0; i < config->certificates.count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " certificate=%s",
                                 config->certificates.items[i]);
    for (size_t i = 0; i < config->known_hosts.count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s=%s",
                                 i < config->nuser_files ? "mine" : "global",
                                 config->known_hosts.items[i]);
    return text;
}

/* From memory of exactly that size. */
static int parse(struct ssh_config *config, const char *text, size_t length, struct err *err)
{
    char *copy = malloc(length > 0 ? length : 1);
    memcpy(copy, text, length);
    int rc = ssh_config_parse(config, copy, length, err);
    free(copy);
    return rc;
}

struct good_case {
    const char *text, *config;
};

#define HEAD "host b\nuser me\nhostname b.example\nport 2222\n"
#define USUAL "me@b.example:2222 strict=yes family=0 alias=- agent=- proxy=-"

START_TEST(what_ssh_prints_is_read)
{
    static const struct good_case cases[] = {
        { HEAD, USUAL },
        { HEAD "compression no\nsendenv LANG\n\n  \nnew", USUAL },
        { "HostName b.example\nUSER me\nPort 2222", USUAL },
        { "hostname a\n" HEAD, USUAL },
        { HEAD "stricthostkeychecking ask\nhashknownhosts no\nidentitiesonly no\n", USUAL },
        { HEAD "stricthostkeychecking true\n", USUAL },
        { HEAD "stricthostkeychecking yes\n", USUAL },
        { HEAD "proxycommand none\naddressfamily any\nidentityfile none\n", USUAL },
        { HEAD "certificatefile /k/%h-cert.pub\ncertificatefile none\n",
          USUAL " certificate=/k/b.example-cert.pub" },
        { HEAD "userknownhostsfile none\nglobalknownhostsfile none\n", USUAL },
        { HEAD "identityagent SSH_AUTH_SOCK\n", USUAL },
        { HEAD "sessiontype none\nstdinnull yes\n", USUAL " sessions" },
        { HEAD "stricthostkeychecking false\nhashknownhosts yes\nidentitiesonly yes\n",
          "me@b.example:2222 strict=no hash only family=0 alias=- agent=- proxy=-" },
        { HEAD "stricthostkeychecking off\n",
          "me@b.example:2222 strict=no family=0 alias=- agent=- proxy=-" },
        { HEAD "stricthostkeychecking accept-new\nhostkeyalias c\n",
          "me@b.example:2222 strict=accept-new family=0 alias=c agent=- proxy=-" },
        { HEAD "identityagent none\n",
          "me@b.example:2222 strict=yes family=0 alias=- agent= proxy=-" },
        { HEAD "identityagent $HVD_NO_SUCH_VARIABLE\n",
          "me@b.example:2222 strict=yes family=0 alias=- agent= proxy=-" },
        { HEAD "identityagent $HVD_TEST\n",
          "me@b.example:2222 strict=yes family=0 alias=- agent=/t/est proxy=-" },
        { HEAD "identityagent /a b/c\n",
          "me@b.example:2222 strict=yes family=0 alias=- agent=/a b/c proxy=-" },
        { HEAD "proxyjump me@c:22,d\n",
          "me@b.example:2222 strict=yes family=0 alias=- agent=- proxy=ProxyJump me@c:22,d" },
        { HEAD "proxycommand nc %h %p\n",
          "me@b.example:2222 strict=yes family=0 alias=- agent=- proxy=ProxyCommand nc %h %p" },
        { HEAD "revokedhostkeys /r\n", USUAL " only=RevokedHostKeys /r" },
        { HEAD "knownhostscommand /c %H\n", USUAL " only=KnownHostsCommand /c %H" },
        { HEAD "bindaddress 1.2.3.4\n", USUAL " only=BindAddress 1.2.3.4" },
        { HEAD "bindinterface eth1\n", USUAL " only=BindInterface eth1" },
        { HEAD "revokedhostkeys none\nknownhostscommand none\n", USUAL },
        { HEAD "identityfile /k/%n_%h_%r_%p_%k_%%_%C\nidentityfile /a b\n",
          USUAL " key=/k/b_b.example_me_2222_b_%_%C key=/a b" },
        { HEAD "identityfile ${HVD_TEST}/${HVD_NO_SUCH_VARIABLE}/${\nidentityfile %\n",
          USUAL " key=/t/est/${HVD_NO_SUCH_VARIABLE}/${ key=%" },
        { HEAD "globalknownhostsfile /g /h\nuserknownhostsfile /u  /v_%h\n",
          USUAL " mine=/u mine=/v_b.example global=/g global=/h" },
    };
    setenv("HVD_TEST", "/t/est", 1);
    unsetenv("HVD_NO_SUCH_VARIABLE");
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct ssh_config config;
        struct err err;
        int rc = parse(&config, cases[i].text, strlen(cases[i].text), &err);
        ck_assert_msg(rc == HVD_OK, "%s: %s", cases[i].text, err.text);
        ck_assert_str_eq(render(&config), cases[i].config);
        ssh_config_fini(&config);
    }
}
END_TEST

START_TEST(families_are_those_of_sockets)
{
    struct ssh_config config;
    ck_assert_int_eq(parse(&config, HEAD "addressfamily inet", sizeof HEAD + 17, NULL), HVD_OK);
    ck_assert_int_eq(config.family, AF_INET);
    ssh_config_fini(&config);
    ck_assert_int_eq(parse(&config, HEAD "addressfamily inet6", sizeof HEAD + 18, NULL), HVD_OK);
    ck_assert_int_eq(config.family, AF_INET6);
    ssh_config_fini(&config);
}
END_TEST

START_TEST(what_cannot_be_understood_is_an_error)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "", "ssh -G has printed no host name" },
        { "user me\n", "ssh -G has printed no host name" },
        { "\nhostname\n", "line 2 of what ssh -G printed: 'hostname'" },
        { HEAD "port x", "line 5 of what ssh -G printed: 'port x'" },
        { HEAD "port 0", "line 5 of what ssh -G printed: 'port 0'" },
        { HEAD "port 65536", "line 5 of what ssh -G printed: 'port 65536'" },
        { HEAD "stricthostkeychecking maybe\n",
          "line 5 of what ssh -G printed: 'stricthostkeychecking maybe'" },
        { HEAD "hashknownhosts\n", "line 5 of what ssh -G printed: 'hashknownhosts'" },
        { HEAD "addressfamily inet9\n", "line 5 of what ssh -G printed: 'addressfamily inet9'" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct ssh_config config;
        struct err err;
        ck_assert_int_eq(parse(&config, cases[i].text, strlen(cases[i].text), &err),
                         HVD_ERR_PROTOCOL);
        ck_assert_str_eq(err.text, cases[i].error);
        ck_assert_ptr_null(config.host_name);
        ssh_config_fini(&config);
    }
    static const char nul[] = "hostname a\0b";
    struct ssh_config config;
    ck_assert_int_eq(parse(&config, nul, sizeof nul, NULL), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(home_is_what_the_user_data_base_says)
{
    struct passwd *self = getpwuid(getuid()), *root = getpwnam("root");
    struct ssh_words words = { "b", "b.example", "c", "me", 22 };
    char expected[512];
    if (!self || !root)
        return;
    const struct good_case cases[] = {
        { "~/.ssh/x", "1/.ssh/x" }, { "~", "1" },      { "~root/x", "2/x" },
        { "~root", "2" },           { "%d/x", "1/x" }, { "~no-such-user/x", "~no-such-user/x" },
        { "/x/~/y", "/x/~/y" },     { "%k", "c" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct slice text = { cases[i].text, strlen(cases[i].text) };
        char *found = ssh_config_expand(text, &words);
        const char *rest = cases[i].config;
        const char *home = *rest == '1' ? self->pw_dir : *rest == '2' ? root->pw_dir : "";
        snprintf(expected, sizeof expected, "%s%s", home, *home ? rest + 1 : rest);
        ck_assert_str_eq(found, expected);
        free(found);
    }
}
END_TEST

START_TEST(without_a_client_the_usual_files_are_meant)
{
    struct ssh_config config;
    char *home = ssh_config_home(), *user = ssh_config_local_user(), expected[4096];
    ssh_config_default(&config, "b", "me");
    snprintf(expected, sizeof expected,
             "me@b:22 strict=yes family=0 alias=- agent=- proxy=- key=%s/.ssh/id_rsa "
             "key=%s/.ssh/id_ecdsa key=%s/.ssh/id_ed25519 mine=%s/.ssh/known_hosts "
             "mine=%s/.ssh/known_hosts2 global=/etc/ssh/ssh_known_hosts "
             "global=/etc/ssh/ssh_known_hosts2",
             home, home, home, home, home);
    ck_assert_str_eq(render(&config), expected);
    ssh_config_fini(&config);
    ssh_config_default(&config, "b", NULL);
    ck_assert_str_eq(config.user, user);
    ssh_config_fini(&config);
    free(home);
    free(user);
}
END_TEST

static unsigned long long seed = 4;

static size_t below(size_t limit)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (size_t)(seed >> 33) % limit;
}

START_TEST(every_mutation_of_the_output_is_read_or_refused)
{
    static const char text[] =
        HEAD "stricthostkeychecking ask\nhashknownhosts yes\nidentityagent $X\naddressfamily any\n"
             "identityfile ~/.ssh/%h\nidentityfile ${HOME}/%d\nproxyjump a\nhostkeyalias %\n"
             "userknownhostsfile ~/a ~root/b\nglobalknownhostsfile /etc/%%\nproxycommand a b\n";
    static const char often[] = "\n\0\t ~%${}/ %h";
    int read = 0;
    for (int round = 0; round < 6000; round++) {
        char copy[sizeof text];
        struct ssh_config config;
        struct err err = { 0 };
        size_t length = sizeof text - 1 - (below(3) == 0 ? below(sizeof text - 1) : 0);
        memcpy(copy, text, sizeof text);
        for (size_t n = below(5); n > 0; n--)
            copy[below(sizeof text - 1)] = below(2) ? often[below(sizeof often)] : (char)below(256);
        if (parse(&config, copy, length, &err) == HVD_OK) {
            ck_assert_ptr_nonnull(config.host_name);
            ck_assert_ptr_nonnull(config.user);
            ck_assert_uint_le(config.nuser_files, config.known_hosts.count);
            read++;
        } else {
            ck_assert_str_ne(err.text, "");
        }
        ssh_config_fini(&config);
    }
    ck_assert_int_gt(read, 1000);
}
END_TEST

/* ---- the client ---- */

static char folder[64], program[128], path_before[4096];
static uv_loop_t loop;
static struct children *children;

struct answer {
    int count, code;
    char config[4096], text[500];
};

static void set_up(void)
{
    strcpy(folder, "/tmp/ssh_config_test.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(program, sizeof program, "%s/ssh", folder);
    snprintf(path_before, sizeof path_before, "%s", getenv("PATH"));
    setenv("PATH", folder, 1);
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    children = children_create(&loop);
}

static void tear_down(void)
{
    children_destroy(children);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    setenv("PATH", path_before, 1);
    unlink(program);
    rmdir(folder);
}

static void write_client(const char *script)
{
    FILE *file = fopen(program, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "#!/bin/sh\nPATH=/usr/bin:/bin\n%s", script);
    fclose(file);
    ck_assert_int_eq(chmod(program, 0700), 0);
}

static void on_answer(void *context, struct ssh_config *config, const struct err *err)
{
    struct answer *answer = context;
    answer->count++;
    answer->code = err->code;
    snprintf(answer->text, sizeof answer->text, "%s", err->text);
    if (err->code == HVD_OK)
        snprintf(answer->config, sizeof answer->config, "%s", render(config));
    ssh_config_fini(config);
    uv_stop(&loop);
}

static struct answer ask(const char *host, const char *user, int port)
{
    struct answer answer = { 0 };
    ssh_config_ask(&loop, children, host, user, port, on_answer, &answer);
    ck_assert_int_eq(answer.count, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(answer.count, 1);
    return answer;
}

static void expect_error(int code, const char *text)
{
    struct answer answer = ask("b", NULL, 0);
    ck_assert_str_eq(answer.text, text);
    ck_assert_int_eq(answer.code, code);
}

START_TEST(the_client_is_asked_with_user_and_port)
{
    write_client("echo hostname \"$*\"; echo user me; read x || echo proxyjump eof\n");
    ck_assert_str_eq(ask("b", NULL, 0).config,
                     "me@-G -- b:22 strict=yes family=0 alias=- agent=- proxy=ProxyJump eof");
    ck_assert_str_eq(ask("::1", "you", 2222).config,
                     "me@-G -p 2222 -l you -- ::1:22 strict=yes "
                     "family=0 alias=- agent=- proxy=ProxyJump eof");
}
END_TEST

/* Or with one whose interpreter is not there. */
START_TEST(without_a_client_the_answer_is_the_defaults)
{
    if (_i) {
        int fd = open(program, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
        ck_assert_int_eq(write(fd, "#!/no/sh\n", 9), 9);
        close(fd);
    }
    struct answer answer = ask("b", "me", 2222);
    ck_assert_int_eq(answer.code, HVD_OK);
    ck_assert_int_eq(strncmp(answer.config, "me@b:2222 strict=yes ", 21), 0);
}
END_TEST

START_TEST(the_clients_own_words_say_what_is_wrong)
{
    write_client("echo hostname b\necho >&2; printf '~/.ssh/config: line 3: \\033[1m Bad\\r\\n"
                 "terminating\\n' >&2; exit 255\n");
    expect_error(HVD_ERR_ENVIRONMENT, "ssh -G: ~/.ssh/config: line 3: ?[1m Bad");
    write_client("exit 3\n");
    expect_error(HVD_ERR_ENVIRONMENT, "ssh -G has failed with status 3");
    write_client("kill -9 $$\n");
    expect_error(HVD_ERR_ENVIRONMENT, "ssh -G was killed by signal 9");
    write_client("exit 0\n");
    expect_error(HVD_ERR_PROTOCOL, "ssh -G has printed no host name");
}
END_TEST

START_TEST(what_the_client_says_besides_is_no_matter)
{
    write_client("echo Warning >&2; echo hostname b; echo user me\n");
    ck_assert_str_eq(ask("b", NULL, 0).config,
                     "me@b:22 strict=yes family=0 alias=- agent=- proxy=-");
}
END_TEST

START_TEST(a_client_that_floods_is_an_error)
{
    write_client("echo hostname b; yes 2>/dev/null | head -c 3000000\nexit 0\n");
    expect_error(HVD_ERR_PROTOCOL, "ssh -G has printed more than 1 MiB");
    write_client("yes 2>/dev/null | head -c 3000000 >&2\nexit 1\n");
    expect_error(HVD_ERR_ENVIRONMENT, "ssh -G: y");
}
END_TEST

START_TEST(what_the_client_leaves_behind_is_not_waited_for)
{
    write_client("sleep 600 &\necho hostname b; echo user me; echo proxyjump $!\n");
    struct answer answer = ask("b", NULL, 0);
    ck_assert_int_eq(answer.code, HVD_OK);
    ck_assert_int_eq(kill(atoi(strstr(answer.config, "ProxyJump ") + 10), SIGKILL), 0);
}
END_TEST

/* A file for this machine whose loader is nowhere. No check finds that, since the loader's name is
 * no whole path. */
static void write_client_without_loader(void)
{
    struct {
        ElfW(Ehdr) header;
        ElfW(Phdr) segment;
        char loader[16];
    } image = { .loader = "no/loader" };
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(read(self, &image.header, sizeof image.header), sizeof image.header);
    close(self);
    image.header.e_phoff = offsetof(__typeof__(image), segment);
    image.header.e_phnum = 1;
    image.segment.p_type = PT_INTERP;
    image.segment.p_offset = offsetof(__typeof__(image), loader);
    image.segment.p_filesz = sizeof "no/loader";
    int fd = open(program, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    ck_assert_int_eq(write(fd, &image, sizeof image), sizeof image);
    close(fd);
}

START_TEST(a_client_that_cannot_be_executed_is_an_error)
{
    write_client_without_loader();
    char expected[200];
    snprintf(expected, sizeof expected, "%s: No such file or directory", program);
    expect_error(HVD_ERR_ENVIRONMENT, expected);
}
END_TEST

/* The FIFO ends when the last process that has it open for writing has ended. */
START_TEST(a_client_that_hangs_is_killed_with_what_it_started)
{
    char fifo[128], script[300], word[16];
    snprintf(fifo, sizeof fifo, "%s/life", folder);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    int fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    snprintf(script, sizeof script, "exec 9>%s\nsleep 600 &\necho alive >&9\nsleep 600\n", fifo);
    write_client(script);
    expect_error(HVD_ERR_TIMEOUT, "ssh -G has not ended after 5 s");
    ck_assert_int_eq(fcntl(fd, F_SETFL, 0), 0);
    ck_assert_int_eq(read(fd, word, sizeof word), 6);
    ck_assert_int_eq(read(fd, word, sizeof word), 0);
    close(fd);
    unlink(fifo);
}
END_TEST

START_TEST(nothing_is_answered_after_a_cancel)
{
    struct answer answer = { 0 };
    write_client("sleep 600\n");
    ssh_config_cancel(ssh_config_ask(&loop, children, "b", NULL, 0, on_answer, &answer));
    unlink(program);
    ssh_config_cancel(ssh_config_ask(&loop, children, "b", NULL, 0, on_answer, &answer));
    ssh_config_cancel(NULL);
    children_destroy(children);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(answer.count, 0);
    children = children_create(&loop);
}
END_TEST

START_TEST(many_clients_are_asked_at_once)
{
    enum { CLIENTS = 16 };
    struct answer answers[CLIENTS] = { 0 };
    write_client("echo hostname b; echo user me\n");
    for (int i = 0; i < CLIENTS; i++)
        ssh_config_ask(&loop, children, "b", NULL, 0, on_answer, &answers[i]);
    for (int left = CLIENTS; left > 0;) {
        uv_run(&loop, UV_RUN_DEFAULT);
        left = 0;
        for (int i = 0; i < CLIENTS; i++)
            left += answers[i].count == 0;
    }
    for (int i = 0; i < CLIENTS; i++) {
        ck_assert_int_eq(answers[i].count, 1);
        ck_assert_int_eq(answers[i].code, HVD_OK);
    }
}
END_TEST

/* The real one, where there is one. */
START_TEST(the_output_of_openssh_is_read)
{
    setenv("PATH", path_before, 1);
    struct answer answer = ask("HVD-b.example", "me", 2222);
    ck_assert_msg(answer.code == HVD_OK, "%s", answer.text);
    ck_assert_ptr_eq(strstr(answer.config, "me@"), answer.config);
    ck_assert_ptr_nonnull(strstr(answer.config, ":2222 "));
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("ssh_config");
    TCase *output = tcase_create("output"), *client = tcase_create("client");
    tcase_add_test(output, what_ssh_prints_is_read);
    tcase_add_test(output, families_are_those_of_sockets);
    tcase_add_test(output, what_cannot_be_understood_is_an_error);
    tcase_add_test(output, home_is_what_the_user_data_base_says);
    tcase_add_test(output, without_a_client_the_usual_files_are_meant);
    tcase_add_test(output, every_mutation_of_the_output_is_read_or_refused);
    tcase_add_test(client, the_client_is_asked_with_user_and_port);
    tcase_add_loop_test(client, without_a_client_the_answer_is_the_defaults, 0, 2);
    tcase_add_test(client, the_clients_own_words_say_what_is_wrong);
    tcase_add_test(client, what_the_client_says_besides_is_no_matter);
    tcase_add_test(client, a_client_that_floods_is_an_error);
    tcase_add_test(client, what_the_client_leaves_behind_is_not_waited_for);
    tcase_add_test(client, a_client_that_cannot_be_executed_is_an_error);
    tcase_add_test(client, a_client_that_hangs_is_killed_with_what_it_started);
    tcase_add_test(client, nothing_is_answered_after_a_cancel);
    tcase_add_test(client, many_clients_are_asked_at_once);
    tcase_add_test(client, the_output_of_openssh_is_read);
    tcase_add_checked_fixture(client, set_up, tear_down);
    tcase_set_timeout(output, 60);
    tcase_set_timeout(client, 60);
    suite_add_tcase(suite, output);
    suite_add_tcase(suite, client);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
