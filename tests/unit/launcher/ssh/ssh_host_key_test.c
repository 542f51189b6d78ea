/* SPDX-License-Identifier: Apache-2.0 */
/* Which host keys are asked for, who is trusted, and what people are told. */
#include "launcher/ssh/ssh_host_key_prefer.h"
#include "launcher/ssh/ssh_trust.h"
#include "tests/support/host_keys.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *known[4], *order;
} orders[] = {
    { { NULL }, "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521" },
    { { "ecdsa-sha2-nistp384" },
      "ecdsa-sha2-nistp384,ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp521" },
    { { "ecdsa-sha2-nistp256", "ssh-ed25519" },
      "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521" },
    { { "ssh-rsa", "ssh-dss", "new" },
      "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521" },
};

START_TEST(kinds_of_keys_that_are_known_are_asked_for_first)
{
    struct string_list known = { 0 };
    for (int i = 0; i < 4 && orders[_i].known[i]; i++)
        string_list_add(&known, orders[_i].known[i], strlen(orders[_i].known[i]));
    char *order = ssh_host_key_order(&known);
    ck_assert_str_eq(order, orders[_i].order);
    free(order);
    string_list_fini(&known);
}
END_TEST

START_TEST(libssh2_knows_algorithms_without_sha1_and_cbc)
{
    struct string_list none = { 0 };
    char *kinds = ssh_host_key_order(&none);
    ck_assert_int_eq(libssh2_init(0), 0);
    LIBSSH2_SESSION *ssh = libssh2_session_init();
    ck_assert_int_eq(ssh_host_key_prefer(ssh, kinds), 0);
    libssh2_session_free(ssh);
    free(kinds);
}
END_TEST

static const struct {
    enum known_hosts_verdict verdict;
    bool incomplete;
    enum strict_host_key strict;
    bool accept_new;
    enum ssh_host_key_answer answer;
} decisions[] = {
    { KNOWN_HOSTS_MATCH, false, STRICT_YES, false, SSH_HOST_KEY_TRUST },
    { KNOWN_HOSTS_UNKNOWN, false, STRICT_YES, false, SSH_HOST_KEY_REFUSE },
    { KNOWN_HOSTS_UNKNOWN, false, STRICT_YES, true, SSH_HOST_KEY_ADD },
    { KNOWN_HOSTS_UNKNOWN, false, STRICT_ACCEPT_NEW, false, SSH_HOST_KEY_ADD },
    { KNOWN_HOSTS_UNKNOWN, false, STRICT_NO, false, SSH_HOST_KEY_ADD },
    { KNOWN_HOSTS_CHANGED, false, STRICT_NO, true, SSH_HOST_KEY_REFUSE },
    { KNOWN_HOSTS_REVOKED, false, STRICT_NO, true, SSH_HOST_KEY_REFUSE },
    { KNOWN_HOSTS_NEEDS_CA, false, STRICT_NO, true, SSH_HOST_KEY_NEEDS_SSH },
    { KNOWN_HOSTS_NEEDS_CA, true, STRICT_YES, false, SSH_HOST_KEY_NEEDS_SSH },
    { KNOWN_HOSTS_UNKNOWN, true, STRICT_NO, true, SSH_HOST_KEY_REFUSE },
    { KNOWN_HOSTS_MATCH, true, STRICT_YES, false, SSH_HOST_KEY_TRUST },
};

START_TEST(only_an_unknown_key_can_be_accepted)
{
    ck_assert_int_eq(ssh_host_key_decide(decisions[_i].verdict, !decisions[_i].incomplete,
                                         decisions[_i].strict, decisions[_i].accept_new),
                     decisions[_i].answer);
}
END_TEST

static const unsigned char blob[] = "\0\0\0\013ssh-ed25519\0\0\0\04keys";
static char file[] = "/etc/known";
static char *files[] = { file };
static const char print[] = "ssh-ed25519 SHA256:";

/* Each row: a configuration, a verdict, and what the refusal must hold. */
static const struct {
    const char *alias;
    int port;
    const char *known_type;
    enum known_hosts_verdict verdict;
    const char *holds[3];
} refusals[] = {
    { NULL,
      22,
      NULL,
      KNOWN_HOSTS_UNKNOWN,
      { print, "ssh-keyscan -t ed25519 real.name >> /etc/known", "--ssh-accept-new" } },
    { NULL,
      2222,
      NULL,
      KNOWN_HOSTS_UNKNOWN,
      { "unknown: ssh-ed25519 SHA256:", "ssh-keyscan -p 2222 -t ed25519 real.name >> " } },
    { "alias", 22, NULL, KNOWN_HOSTS_UNKNOWN, { "connect once with: ssh nick" } },
    { NULL,
      22,
      "ssh-rsa",
      KNOWN_HOSTS_CHANGED,
      { "not the one in /etc/known:7, which is ssh-rsa: ", print,
        "ssh-keyscan -t ed25519 real.name >> /etc/known" } },
    { NULL,
      22,
      NULL,
      KNOWN_HOSTS_CHANGED,
      { "HAS CHANGED: ", print,
        "/etc/known:7. Somebody may be listening in, or the host is another one now; if that is "
        "right: ssh-keygen -R real.name -f /etc/known" } },
    { NULL,
      2222,
      NULL,
      KNOWN_HOSTS_CHANGED,
      { "if that is right: ssh-keygen -R '[real.name]:2222' -f /etc/known" } },
    { "alias", 2222, NULL, KNOWN_HOSTS_CHANGED, { "right: ssh-keygen -R alias -f /etc/known" } },
    { NULL, 22, NULL, KNOWN_HOSTS_REVOKED, { "REVOKED", print, "/etc/known:7" } },
    { NULL,
      22,
      NULL,
      KNOWN_HOSTS_NEEDS_CA,
      { "certificate authority only", "/etc/known:7", "libssh2 cannot check" } },
};

START_TEST(a_refusal_names_the_key_and_what_mends_it)
{
    struct ssh_config config = {
        .host_name = (char[]){ "real.name" },
        .host_key_alias = (char *)refusals[_i].alias,
        .port = refusals[_i].port,
        .known_hosts = { files, 1, 1 },
        .nuser_files = 1,
    };
    struct ssh_host_key key = { "nick", &config, NULL, blob, sizeof blob - 1 };
    struct known_hosts_found found = { refusals[_i].verdict, file, 7, refusals[_i].known_type };
    char text[700];
    ssh_host_key_refusal(text, sizeof text, &key, &found);
    for (int i = 0; i < 3 && refusals[_i].holds[i]; i++)
        ck_assert_msg(strstr(text, refusals[_i].holds[i]), "%s", text);
    ck_assert_msg(!strcasestr(text, "host key of"), "said before it already: %s", text);
    ck_assert_uint_lt(strlen(text), 400);
}
END_TEST

START_TEST(the_file_that_ssh_keygen_changes_by_itself_is_not_named)
{
    static char own[] = "/home/me/.ssh/known_hosts";
    static const char end[] = "if that is right: ssh-keygen -R real.name";
    struct ssh_config config = {
        .host_name = (char[]){ "real.name" },
        .port = 22,
        .known_hosts = { (char *[]){ own }, 1, 1 },
        .nuser_files = 1,
    };
    struct ssh_host_key key = { "nick", &config, NULL, blob, sizeof blob - 1 };
    struct known_hosts_found found = { KNOWN_HOSTS_CHANGED, own, 7, NULL };
    char text[700];
    setenv("HOME", "/home/me", 1);
    ssh_host_key_refusal(text, sizeof text, &key, &found);
    const char *command = strstr(text, end);
    ck_assert_msg(command && strcmp(command, end) == 0, "%s", text);
}
END_TEST

START_TEST(an_alias_has_no_port)
{
    struct ssh_config config = { .host_name = (char[]){ "name" }, .port = 2222 };
    int port;
    ck_assert_str_eq(ssh_host_key_name(&config, &port), "name");
    ck_assert_int_eq(port, 2222);
    config.host_key_alias = (char[]){ "alias" };
    ck_assert_str_eq(ssh_host_key_name(&config, &port), "alias");
    ck_assert_int_eq(port, 22);
}
END_TEST

/* Rows: a verdict, what is said of the key, and whether the file that cannot be read is named. */
static const struct {
    enum known_hosts_verdict verdict;
    const char *holds;
    bool is_named;
} unread[] = {
    { KNOWN_HOSTS_UNKNOWN, "not in the files that can be read: ssh-ed25519 SHA256:", true },
    { KNOWN_HOSTS_CHANGED, "HAS CHANGED: ", true },
    { KNOWN_HOSTS_NEEDS_CA, "certificate authority only", true },
    { KNOWN_HOSTS_REVOKED, "REVOKED: ", false },
};

START_TEST(a_file_that_cannot_be_read_is_named)
{
    struct ssh_config config = { .host_name = (char[]){ "real.name" },
                                 .port = 22,
                                 .known_hosts = { files, 1, 1 },
                                 .nuser_files = 1 };
    struct ssh_host_key key = { "nick", &config, "/other cannot be read: Why", blob,
                                sizeof blob - 1 };
    struct known_hosts_found found = { unread[_i].verdict, file, 7, "ssh-ed25519" };
    char text[700];
    ssh_host_key_refusal(text, sizeof text, &key, &found);
    ck_assert_msg(strstr(text, unread[_i].holds), "%s", text);
    ck_assert_int_eq(strstr(text, "; /other cannot be read: Why") != NULL, unread[_i].is_named);
    ck_assert_msg(!strstr(text, ">>"), "%s", text);
}
END_TEST

/* Rows: the known types, the one that only the external ssh can check, and whether libssh2 supports
 * another. */
static const struct {
    const char *known[3], *for_ssh;
    bool is_supported;
} types[] = {
    { { NULL }, NULL, false },
    { { "ssh-ed25519", "ecdsa-sha2-nistp521" }, NULL, true },
    { { "ssh-rsa" }, "ssh-rsa", false },
    { { "ssh-dss" }, NULL, false },
    { { "ssh-rsa-cert-v01@openssh.com" }, NULL, false },
    { { "ssh-dss", "ssh-rsa" }, "ssh-rsa", false },
    { { "sk-ssh-ed25519@openssh.com" }, "sk-ssh-ed25519@openssh.com", false },
    { { "sk-ecdsa-sha2-nistp256@openssh.com" }, "sk-ecdsa-sha2-nistp256@openssh.com", false },
    { { "ssh-ed25519", "ssh-rsa" }, "ssh-rsa", true },
    { { "ssh-rsa", "ssh-ed25519" }, "ssh-rsa", true },
};

START_TEST(types_that_only_the_external_ssh_can_check_are_found)
{
    struct string_list known = { 0 };
    for (int i = 0; i < 3 && types[_i].known[i]; i++)
        string_list_add(&known, types[_i].known[i], strlen(types[_i].known[i]));
    ck_assert_pstr_eq(ssh_host_key_type_for_ssh(&known), types[_i].for_ssh);
    ck_assert_int_eq(ssh_host_key_is_supported(&known), types[_i].is_supported);
    string_list_fini(&known);
}
END_TEST

/* ---- the files of two hosts ---- */

static char folder[] = "/tmp/ssh_host_key_XXXXXX", path[64];
static char *own_files[] = { path };

static void make_folder(void)
{
    strcpy(folder, "/tmp/ssh_host_key_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/known", folder);
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

#define ED25519 "\0\0\0\013ssh-ed25519\0\0\0\040"
static const unsigned char good_key[] = ED25519 "abcdefghijklmnopqrstuvwxyz012345";
static const unsigned char other_key[] = ED25519 "Abcdefghijklmnopqrstuvwxyz012345";

/* Each has its files read before the other's key comes. Rows: the second's key, and what is
 * said. */
static const struct {
    const unsigned char *key;
    enum ssh_host_key_answer answer;
    const char *holds;
} seconds[] = {
    { good_key, SSH_HOST_KEY_TRUST, "" },
    { other_key, SSH_HOST_KEY_REFUSE, "HAS CHANGED" },
};

START_TEST(of_two_hosts_with_one_alias_only_one_key_is_added)
{
    struct ssh_config config = {
        .host_name = (char[]){ "real.name" },
        .host_key_alias = (char[]){ "alias" },
        .port = 22,
        .known_hosts = { own_files, 1, 1 },
        .nuser_files = 1,
    };
    struct string_list warnings = { 0 };
    struct ssh_trust *first = ssh_trust_create("a", &config, true, true, &warnings);
    struct ssh_trust *second = ssh_trust_create("b", &config, true, true, &warnings);
    char text[700];
    ck_assert_int_eq(ssh_trust_judge(first, good_key, sizeof good_key - 1, text, sizeof text),
                     SSH_HOST_KEY_ADD);
    ck_assert_msg(strstr(text, "accepted, added to"), "%s", text);
    ck_assert_int_eq(
        ssh_trust_judge(second, seconds[_i].key, sizeof good_key - 1, text, sizeof text),
        seconds[_i].answer);
    ck_assert_msg(strstr(text, seconds[_i].holds), "%s", text);
    ck_assert_uint_eq(warnings.count, 0);
    ssh_trust_destroy(first);
    ssh_trust_destroy(second);
}
END_TEST

static void write_known(const char *text)
{
    FILE *stream = fopen(path, "w");
    ck_assert_ptr_nonnull(stream);
    fputs(text, stream);
    ck_assert_int_eq(fclose(stream), 0);
}

/* Rows: what known_hosts have, the port, whether there is an external ssh; and whether the host is
 * left to it before it is asked, and what becomes of an ed25519 key. */
static const struct {
    const char *known;
    int port;
    bool has_ssh, needs_ssh;
    enum ssh_host_key_answer answer;
    const char *holds;
} others[] = {
    { "name " RSA "\n", 22, true, true, SSH_HOST_KEY_NEEDS_SSH,
      "known as ssh-rsa, which libssh2 cannot check" },
    { "name " RSA "\nname " EC "\n", 22, true, false, SSH_HOST_KEY_NEEDS_SSH,
      "known as ssh-rsa, which libssh2 cannot check" },
    { "[name]:2222 " RSA "\n", 2222, true, true, SSH_HOST_KEY_NEEDS_SSH, "known as ssh-rsa, " },
    { "name " RSA "\n", 2222, true, false, SSH_HOST_KEY_REFUSE, "unknown: ssh-ed25519 SHA256:" },
    { "name " RSA "\n", 22, false, false, SSH_HOST_KEY_REFUSE,
      "known:1, which is ssh-rsa: ssh-ed25519 SHA256:" },
    { "name " DSS "\n", 22, true, false, SSH_HOST_KEY_REFUSE,
      "known:1, which is ssh-dss: ssh-ed25519 SHA256:" },
    { "name " RSA "\nname " ED1 "\n", 22, true, false, SSH_HOST_KEY_REFUSE, "HAS CHANGED" },
    { "elsewhere " RSA "\n", 22, true, false, SSH_HOST_KEY_REFUSE, "unknown: " },
};

START_TEST(a_host_with_another_key_that_cannot_be_checked_needs_ssh)
{
    struct ssh_config config = { .host_name = (char[]){ "name" },
                                 .port = others[_i].port,
                                 .strict = STRICT_YES,
                                 .known_hosts = { own_files, 1, 1 },
                                 .nuser_files = 1 };
    char text[700];
    write_known(others[_i].known);
    struct ssh_trust *trust = ssh_trust_create("name", &config, false, others[_i].has_ssh, NULL);
    ck_assert_int_eq(ssh_trust_needs_ssh(trust, text, sizeof text), others[_i].needs_ssh);
    if (others[_i].needs_ssh)
        ck_assert_msg(strstr(text, others[_i].holds), "%s", text);
    ck_assert_int_eq(ssh_trust_judge(trust, good_key, sizeof good_key - 1, text, sizeof text),
                     others[_i].answer);
    ck_assert_msg(strstr(text, others[_i].holds), "%s", text);
    ssh_trust_destroy(trust);
}
END_TEST

/* Rows: the user's file, or NULL for none, and what is to be done. */
static const struct {
    const char *user_file, *holds, *holds_not;
} places[] = {
    { "/.ssh/known",
      "if it is right: mkdir -p -m 700 ~/.ssh && ssh-keyscan -t ed25519 nick >> ~/.ssh/known (or ",
      "none" },
    { "/known", "if it is right: ssh-keyscan -t ed25519 nick >> ~/known (or ", "mkdir" },
    { NULL, "if it is right: set ssh's UserKnownHostsFile, which is none (or --ssh-accept-new)",
      ">>" },
};

START_TEST(the_line_to_type_works_as_it_stands)
{
    char user_file[100];
    char *user_files[] = { user_file };
    struct ssh_config config = { .host_name = (char[]){ "nick" },
                                 .port = 22,
                                 .known_hosts = { user_files, places[_i].user_file != NULL, 1 },
                                 .nuser_files = places[_i].user_file != NULL };
    struct ssh_host_key key = { "nick", &config, NULL, blob, sizeof blob - 1 };
    struct known_hosts_found found = { KNOWN_HOSTS_UNKNOWN, NULL, 0, NULL };
    char text[700];
    setenv("HOME", folder, 1);
    snprintf(user_file, sizeof user_file, "%s%s", folder,
             places[_i].user_file ? places[_i].user_file : "");
    ssh_host_key_refusal(text, sizeof text, &key, &found);
    ck_assert_msg(strstr(text, places[_i].holds), "%s", text);
    ck_assert_msg(!strstr(text, places[_i].holds_not), "%s", text);
}
END_TEST

START_TEST(a_key_that_is_not_told_is_refused)
{
    struct ssh_config config = { .host_name = (char[]){ "name" },
                                 .port = 22,
                                 .strict = STRICT_NO,
                                 .known_hosts = { own_files, 1, 1 },
                                 .nuser_files = 1 };
    struct ssh_trust *trust = ssh_trust_create("name", &config, true, true, NULL);
    char text[100];
    ck_assert_int_eq(ssh_trust_judge(trust, NULL, 0, text, sizeof text), SSH_HOST_KEY_REFUSE);
    ck_assert_str_eq(text, "libssh2 does not give it");
    ssh_trust_destroy(trust);
    ssh_trust_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ssh_host_key");
    TCase *tcase = tcase_create("host key");
    tcase_add_loop_test(tcase, kinds_of_keys_that_are_known_are_asked_for_first, 0,
                        sizeof orders / sizeof *orders);
    tcase_add_test(tcase, libssh2_knows_algorithms_without_sha1_and_cbc);
    tcase_add_loop_test(tcase, only_an_unknown_key_can_be_accepted, 0,
                        sizeof decisions / sizeof *decisions);
    tcase_add_loop_test(tcase, a_refusal_names_the_key_and_what_mends_it, 0,
                        sizeof refusals / sizeof *refusals);
    tcase_add_loop_test(tcase, a_file_that_cannot_be_read_is_named, 0,
                        sizeof unread / sizeof *unread);
    tcase_add_loop_test(tcase, types_that_only_the_external_ssh_can_check_are_found, 0,
                        sizeof types / sizeof *types);
    tcase_add_test(tcase, the_file_that_ssh_keygen_changes_by_itself_is_not_named);
    tcase_add_test(tcase, an_alias_has_no_port);
    suite_add_tcase(suite, tcase);
    TCase *trust = tcase_create("trust");
    tcase_add_checked_fixture(trust, make_folder, remove_folder);
    tcase_add_loop_test(trust, of_two_hosts_with_one_alias_only_one_key_is_added, 0,
                        sizeof seconds / sizeof *seconds);
    tcase_add_loop_test(trust, a_host_with_another_key_that_cannot_be_checked_needs_ssh, 0,
                        sizeof others / sizeof *others);
    tcase_add_loop_test(trust, the_line_to_type_works_as_it_stands, 0,
                        sizeof places / sizeof *places);
    tcase_add_test(trust, a_key_that_is_not_told_is_refused);
    suite_add_tcase(suite, trust);
    return unit_run(suite);
}
