/* SPDX-License-Identifier: Apache-2.0 */
/* Private keys in files, keys of an agent, and the order in which they are tried. */
#include "launcher/base/xalloc.h"
#include "launcher/ssh/ssh_agent.h"
#include "launcher/ssh/ssh_keys.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files as ssh-keygen writes them ---- */

static void put_text(struct text_buffer *buffer, const char *text)
{
    ssh_put_string(buffer, text, strlen(text));
}

/* The public key of that type, told from others by `name`. */
static struct text_buffer make_public(const char *type, const char *name)
{
    struct text_buffer public = { 0 };
    put_text(&public, type);
    put_text(&public, name);
    return public;
}

static char *wrap(const char *kind, const struct text_buffer *body)
{
    size_t size = sodium_base64_encoded_len(body->length, sodium_base64_VARIANT_ORIGINAL);
    char *base64 = xmalloc(size);
    sodium_bin2base64(base64, size, (unsigned char *)body->data, body->length,
                      sodium_base64_VARIANT_ORIGINAL);
    char *text = xasprintf("-----BEGIN %s-----\n%s\n-----END %s-----\n", kind, base64, kind);
    free(base64);
    return text;
}

static char *make_openssh(const char *cipher, const char *type, const char *name)
{
    struct text_buffer body = { 0 }, public = make_public(type, name);
    text_buffer_put(&body, "openssh-key-v1", 15);
    put_text(&body, cipher);
    put_text(&body, "none");
    put_text(&body, "");
    ssh_put_u32(&body, 1);
    ssh_put_string(&body, public.data, public.length);
    put_text(&body, "private");
    char *text = wrap("OPENSSH PRIVATE KEY", &body);
    text_buffer_fini(&body);
    text_buffer_fini(&public);
    return text;
}

static const struct {
    const char *cipher, *type;
    enum ssh_key_kind kind;
} openssh_keys[] = {
    { "none", "ssh-ed25519", SSH_KEY_USABLE },
    { "none", "ecdsa-sha2-nistp521", SSH_KEY_USABLE },
    { "aes256-ctr", "ssh-ed25519", SSH_KEY_ENCRYPTED },
    { "none", "ssh-rsa", SSH_KEY_RSA },
    { "aes256-ctr", "ssh-rsa", SSH_KEY_ENCRYPTED },
    { "none", "sk-ssh-ed25519@openssh.com", SSH_KEY_HARDWARE },
    { "none", "ssh-dss", SSH_KEY_OTHER },
    { "none", "ssh-ed25519-cert-v01@openssh.com", SSH_KEY_CERTIFICATE },
    { "none", "sk-ssh-ed25519-cert-v01@openssh.com", SSH_KEY_CERTIFICATE },
};

START_TEST(a_key_in_opensshs_format_shows_its_kind_and_its_public_half)
{
    char *text = make_openssh(openssh_keys[_i].cipher, openssh_keys[_i].type, "me");
    struct text_buffer public = { 0 }, expected = make_public(openssh_keys[_i].type, "me");
    ck_assert_int_eq(ssh_key_classify(text, strlen(text), &public), openssh_keys[_i].kind);
    ck_assert_uint_eq(public.length, expected.length);
    ck_assert_mem_eq(public.data, expected.data, expected.length);
    text_buffer_fini(&public);
    text_buffer_fini(&expected);
    free(text);
}
END_TEST

START_TEST(a_cut_key_is_garbage)
{
    char *text = make_openssh("none", "ssh-ed25519", "me");
    struct text_buffer public = { 0 };
    for (size_t length = 0; length < strlen(text) - 30; length++)
        ck_assert_int_eq(ssh_key_classify(text, length, &public), SSH_KEY_GARBAGE);
    free(text);
}
END_TEST

static const struct {
    const char *text;
    enum ssh_key_kind kind;
} other_forms[] = {
    { "", SSH_KEY_GARBAGE },
    { "hello\n", SSH_KEY_GARBAGE },
    { "-----BEGIN RSA PRIVATE KEY-----\nMIIE", SSH_KEY_RSA },
    { "-----BEGIN EC PRIVATE KEY-----\nMHcC", SSH_KEY_USABLE },
    { "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", SSH_KEY_ENCRYPTED },
    { "-----BEGIN ENCRYPTED PRIVATE KEY-----\n", SSH_KEY_ENCRYPTED },
    { "-----BEGIN DSA PRIVATE KEY-----\n", SSH_KEY_OTHER },
    { "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n",
      SSH_KEY_USABLE },
    { "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n",
      SSH_KEY_RSA },
    { "-----BEGIN PRIVATE KEY-----\nMC4CAQAw!\n-----END PRIVATE KEY-----\n", SSH_KEY_GARBAGE },
    { "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI me@laptop\n", SSH_KEY_PUBLIC },
    { "ecdsa-sha2-nistp256 AAAA\n", SSH_KEY_PUBLIC },
    { "PuTTY-User-Key-File-3: ssh-ed25519\n", SSH_KEY_OTHER_FORMAT },
    { "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n", SSH_KEY_OTHER_FORMAT },
};

START_TEST(other_forms_are_told_by_their_beginning)
{
    struct text_buffer public = { 0 };
    const char *text = other_forms[_i].text;
    ck_assert_int_eq(ssh_key_classify(text, strlen(text), &public), other_forms[_i].kind);
    ck_assert_uint_eq(public.length, 0);
}
END_TEST

/* ---- a directory of keys ---- */

static char directory[] = "/tmp/ssh_keys_XXXXXX";

static void write_key(const char *name, const char *text, mode_t mode)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    chmod(path, mode);
}

static void make_directory(void)
{
    char *ed = make_openssh("none", "ssh-ed25519", "file"),
         *locked = make_openssh("aes256-ctr", "ssh-ed25519", "locked");
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    setenv("HOME", directory, 1);
    write_key("ed", ed, 0600);
    write_key("open", ed, 0644);
    write_key("locked", locked, 0600);
    write_key("rsa", "-----BEGIN RSA PRIVATE KEY-----\n", 0600);
    write_key("locked-rsa", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", 0600);
    write_key("pem", "-----BEGIN EC PRIVATE KEY-----\n", 0600);
    write_key("public", "ssh-ed25519 AAAA\n", 0644);
    free(ed);
    free(locked);
}

static void remove_directory(void)
{
    static const char *const names[] = { "ed",         "open", "locked", "rsa",
                                         "locked-rsa", "pem",  "public", "ed-cert.pub" };
    char path[100];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        unlink(path);
    }
    rmdir(directory);
}

static int add_file(struct ssh_keys *keys, const char *name, bool must_exist, struct err *err)
{
    char path[100];
    const char *paths[] = { path };
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return ssh_keys_add_files(keys, paths, 1, must_exist, err);
}

static const struct {
    const char *name, *said; /* NULL: it can be tried */
    const char *mend;
} files[] = {
    { "ed", NULL, "ssh-copy-id -i ~/ed -p 2222 me@node1" },
    { "open", "~/open: open to others (mode 0644; chmod 600 it)", "" },
    { "locked", "~/locked: encrypted (give it to ssh-agent with ssh-add)",
      "eval $(ssh-agent); ssh-add ~/locked" },
    { "locked-rsa", "~/locked-rsa: encrypted (give it to ssh-agent with ssh-add)",
      "eval $(ssh-agent); ssh-add ~/locked-rsa" },
    { "rsa", "~/rsa: RSA (libssh2 ", "ssh-keygen -t ed25519 && ssh-copy-id -p 2222 me@node1" },
    { "public", "~/public: a public key; the private one is needed",
      "ssh-keygen -t ed25519 && ssh-copy-id -p 2222 me@node1" },
    { "", "~/: not a file", "ssh-keygen -t ed25519 && ssh-copy-id -p 2222 me@node1" },
};

START_TEST(a_file_that_cannot_be_used_is_named_with_the_cause)
{
    struct ssh_keys keys = { 0 };
    struct err err = { 0 };
    char text[400];
    ck_assert_int_eq(add_file(&keys, files[_i].name, true, &err), HVD_OK);
    ssh_keys_describe(&keys, text, sizeof text);
    if (files[_i].said)
        ck_assert_msg(strstr(text, files[_i].said) == text, "%s", text);
    else
        ck_assert_ptr_eq(ssh_keys_next(&keys), keys.items);
    ssh_keys_fini(&keys);
}
END_TEST

START_TEST(the_command_that_mends_a_refused_login_is_told)
{
    struct ssh_keys keys = { 0 };
    char text[400];
    ssh_keys_mend(&keys, "node1", text, sizeof text);
    ck_assert_str_eq(text, "ssh-keygen -t ed25519 && ssh-copy-id node1");
    add_file(&keys, files[_i].name, true, NULL);
    keys.items[0].refused = !files[_i].said;
    ssh_keys_mend(&keys, "-p 2222 me@node1", text, sizeof text);
    ck_assert_str_eq(text, files[_i].mend);
    ssh_keys_fini(&keys);
}
END_TEST

START_TEST(a_missing_file_matters_only_if_it_was_named)
{
    struct ssh_keys keys = { 0 };
    struct err err = { 0 };
    ck_assert_int_eq(add_file(&keys, "missing", false, &err), HVD_OK);
    ck_assert_uint_eq(keys.count, 0);
    ck_assert_int_eq(add_file(&keys, "missing", true, &err), HVD_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "missing: No such file"));
    ssh_keys_fini(&keys);
}
END_TEST

/* ---- the agent ---- */

static struct text_buffer answer;

static void answer_begin(uint32_t count)
{
    answer = (struct text_buffer){ 0 };
    ssh_put_u8(&answer, 12);
    ssh_put_u32(&answer, count);
}

static void answer_key(const char *type, const char *name)
{
    struct text_buffer public = make_public(type, name);
    ssh_put_string(&answer, public.data, public.length);
    put_text(&answer, name);
    text_buffer_fini(&public);
}

static int add_answer(struct ssh_keys *keys, bool only_files)
{
    struct ssh_bytes bytes = { (unsigned char *)answer.data, answer.length };
    int count = ssh_keys_add_agent(keys, bytes, only_files);
    text_buffer_fini(&answer);
    return count;
}

/* The names of the keys in the order in which they are tried. */
static const char *order(struct ssh_keys *keys, char *text, size_t size)
{
    text[0] = '\0';
    for (struct ssh_key *key; (key = ssh_keys_next(keys)); ssh_key_set_outcome(key, "tried")) {
        strncat(text, key->name, size - strlen(text) - 1);
        strncat(text, " ", size - strlen(text) - 1);
    }
    return text;
}

START_TEST(keys_of_the_agent_that_files_name_come_first_and_are_tried_once)
{
    struct ssh_keys keys = { 0 };
    char text[200];
    add_file(&keys, "ed", true, NULL);
    add_file(&keys, "locked", true, NULL);
    answer_begin(3);
    answer_key("ssh-ed25519", "other");
    answer_key("ssh-ed25519", "locked");
    answer_key("ecdsa-sha2-nistp256", "another");
    ck_assert_int_eq(add_answer(&keys, false), 3);
    ck_assert_str_eq(order(&keys, text, sizeof text), "locked other another ~/ed ");
    ssh_keys_fini(&keys);
}
END_TEST

START_TEST(with_identities_only_the_agent_gives_what_files_name)
{
    struct ssh_keys keys = { 0 };
    char text[200];
    add_file(&keys, "ed", true, NULL);
    answer_begin(2);
    answer_key("ssh-ed25519", "other");
    answer_key("ssh-ed25519", "file");
    add_answer(&keys, true);
    ck_assert_str_eq(order(&keys, text, sizeof text), "file ");
    ssh_keys_fini(&keys);
}
END_TEST

START_TEST(of_many_keys_the_agent_gives_five_that_can_be_used)
{
    struct ssh_keys keys = { 0 };
    char text[400];
    answer_begin(9);
    answer_key("ssh-rsa", "rsa");
    for (int i = 0; i < 8; i++)
        answer_key("ssh-ed25519", (char[]){ (char)('a' + i), '\0' });
    add_answer(&keys, false);
    ck_assert_str_eq(order(&keys, text, sizeof text), "a b c d e ");
    ssh_keys_describe(&keys, text, sizeof text);
    ck_assert_msg(strstr(text, "agent's key 'rsa': RSA (libssh2 ") == text, "%s", text);
    ck_assert_msg(strstr(text, "1.11 and later with SHA-2)") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "the agent's other keys (3) untried") != NULL, "%s", text);
    ssh_keys_fini(&keys);
}
END_TEST

/* "ed" and "rsa" are files of keys that are not the agent's; libssh2 cannot use the second. */
START_TEST(the_agent_leaves_room_for_files)
{
    struct ssh_keys keys = { 0 };
    char text[400];
    for (int i = 0; i < 3; i++)
        add_file(&keys, "ed", true, NULL);
    add_file(&keys, "rsa", true, NULL);
    answer_begin(5);
    for (int i = 0; i < 5; i++)
        answer_key("ssh-ed25519", (char[]){ (char)('a' + i), '\0' });
    add_answer(&keys, false);
    ck_assert_str_eq(order(&keys, text, sizeof text), "a b c ~/ed ~/ed ~/ed ");
    ck_assert_uint_eq(keys.nuntried, 2);
    ssh_keys_fini(&keys);
}
END_TEST

/* ---- what only the external ssh can do ---- */

/* Asserts that the external ssh is needed for a text that begins so, or not if it is NULL. */
static void assert_needs_ssh(struct ssh_keys *keys, const char *certificate, const char *begin)
{
    struct string_list certificates = { 0 };
    char text[200] = "";
    if (certificate)
        string_list_take(&certificates, xasprintf("%s/%s", directory, certificate));
    bool needed = ssh_keys_need_ssh(keys, &certificates, text, sizeof text);
    ck_assert_msg(needed == (begin != NULL), "%s", text);
    ck_assert_msg(strstr(text, begin ? begin : "") == text, "%s", text);
    string_list_fini(&certificates);
    ssh_keys_fini(keys);
}

static const struct {
    const char *file, *agent, *begin;
} external[] = {
    { NULL, NULL, NULL },
    { "ed", "ssh-ed25519", NULL },
    { "open", NULL, NULL },
    { "locked-rsa", NULL, NULL },
    { "public", NULL, NULL },
    { "rsa", NULL, "RSA key ~/rsa: libssh2 " },
    { NULL, "ssh-rsa", "RSA key agent: libssh2 " },
    { "locked-rsa", "ssh-rsa", "RSA key agent: libssh2 " },
    { NULL, "sk-ssh-ed25519@openssh.com", "key agent: libssh2 cannot ask a hardware token" },
    { "ed", "ssh-rsa-cert-v01@openssh.com", "certificate 'agent': libssh2 cannot use it" },
};

START_TEST(the_external_ssh_is_needed_for_keys_that_libssh2_cannot_use)
{
    struct ssh_keys keys = { 0 };
    if (external[_i].file)
        add_file(&keys, external[_i].file, true, NULL);
    if (external[_i].agent) {
        answer_begin(1);
        answer_key(external[_i].agent, "agent");
        add_answer(&keys, false);
    }
    assert_needs_ssh(&keys, NULL, external[_i].begin);
}
END_TEST

START_TEST(the_external_ssh_is_needed_for_a_certificate_beside_a_key_that_can_be_used)
{
    struct ssh_keys keys = { 0 };
    write_key("ed-cert.pub", "ssh-ed25519-cert-v01@openssh.com AAAA\n", 0644);
    add_file(&keys, "ed", true, NULL);
    assert_needs_ssh(&keys, NULL, "certificate ~/ed-cert.pub: libssh2 cannot use it");
    add_file(&keys, "locked", true, NULL);
    assert_needs_ssh(&keys, NULL, NULL);
}
END_TEST

START_TEST(the_external_ssh_is_needed_for_a_certificate_of_the_configuration)
{
    struct ssh_keys keys = { 0 };
    assert_needs_ssh(&keys, "missing", NULL);
    assert_needs_ssh(&keys, "public", "certificate /tmp/ssh_keys_");
}
END_TEST

START_TEST(an_empty_key_of_the_agent_is_none_of_the_files)
{
    struct ssh_keys keys = { 0 };
    char text[400];
    add_file(&keys, "pem", true, NULL);
    answer_begin(1);
    put_text(&answer, "");
    put_text(&answer, "empty");
    add_answer(&keys, false);
    ck_assert_str_eq(order(&keys, text, sizeof text), "~/pem ");
    ssh_keys_fini(&keys);
}
END_TEST

START_TEST(an_agent_that_lies_about_its_keys_is_not_read_past_its_answer)
{
    struct ssh_keys keys = { 0 };
    answer_begin(UINT32_MAX);
    answer_key("ssh-ed25519", "one");
    add_answer(&keys, false);
    ck_assert_uint_eq(keys.count, 1);
    answer = (struct text_buffer){ 0 };
    ssh_put_u8(&answer, 12);
    ck_assert_int_eq(add_answer(&keys, false), -1);
    ssh_keys_fini(&keys);
}
END_TEST

/* type of the answer, type of the signature, bytes expected */
static const struct {
    uint8_t answer;
    const char *type;
    size_t length;
} signatures[] = {
    { 14, "ssh-ed25519", 3 },
    { 14, "ssh-rsa", 0 },
    { 5, "ssh-ed25519", 0 },
    { 14, "", 0 },
};

START_TEST(a_signature_is_taken_if_it_is_of_the_keys_type)
{
    struct text_buffer inside = { 0 }, outside = { 0 };
    static const unsigned char type[] = "ssh-ed25519";
    put_text(&inside, signatures[_i].type);
    put_text(&inside, "sig");
    ssh_put_u8(&outside, signatures[_i].answer);
    ssh_put_string(&outside, inside.data, inside.length);
    for (size_t length = 0; length <= outside.length; length++) {
        struct ssh_bytes bytes =
            ssh_agent_read_signature((struct ssh_bytes){ (unsigned char *)outside.data, length },
                                     (struct ssh_bytes){ type, sizeof type - 1 });
        ck_assert_uint_eq(bytes.length, length == outside.length ? signatures[_i].length : 0);
    }
    text_buffer_fini(&inside);
    text_buffer_fini(&outside);
}
END_TEST

static const struct {
    const char *method, *algorithm, *read;
    uint8_t type;
} requests[] = {
    { "publickey", "ssh-ed25519", "ssh-ed25519", 50 },
    { "publickey", "rsa-sha2-512", "rsa-sha2-512", 50 },
    { "publickey", "rsa-sha2-512", "", 51 },
    { "password", "secret", "", 50 },
    { "publickey", NULL, "", 50 },
};

/* RFC 4252, section 7. */
START_TEST(the_algorithm_of_a_signature_is_read_from_the_request)
{
    struct text_buffer data = { 0 };
    put_text(&data, "session");
    ssh_put_u8(&data, requests[_i].type);
    put_text(&data, "me");
    put_text(&data, "ssh-connection");
    put_text(&data, requests[_i].method);
    ssh_put_u8(&data, 1);
    if (requests[_i].algorithm)
        put_text(&data, requests[_i].algorithm);
    struct ssh_bytes bytes = { (unsigned char *)data.data, data.length };
    struct ssh_bytes algorithm = ssh_agent_algorithm(bytes);
    ck_assert_uint_eq(algorithm.length, strlen(requests[_i].read));
    ck_assert_mem_eq(algorithm.data ? algorithm.data : (const unsigned char *)"", requests[_i].read,
                     algorithm.length);
    text_buffer_fini(&data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ssh_keys");
    TCase *forms = tcase_create("forms");
    descriptors_watch(forms);
    tcase_add_loop_test(forms, a_key_in_opensshs_format_shows_its_kind_and_its_public_half, 0,
                        sizeof openssh_keys / sizeof *openssh_keys);
    tcase_add_test(forms, a_cut_key_is_garbage);
    tcase_add_loop_test(forms, other_forms_are_told_by_their_beginning, 0,
                        sizeof other_forms / sizeof *other_forms);
    suite_add_tcase(suite, forms);
    TCase *order_of = tcase_create("order");
    descriptors_watch(order_of);
    tcase_add_checked_fixture(order_of, make_directory, remove_directory);
    tcase_add_loop_test(order_of, a_file_that_cannot_be_used_is_named_with_the_cause, 0,
                        sizeof files / sizeof *files);
    tcase_add_loop_test(order_of, the_command_that_mends_a_refused_login_is_told, 0,
                        sizeof files / sizeof *files);
    tcase_add_test(order_of, a_missing_file_matters_only_if_it_was_named);
    tcase_add_test(order_of, keys_of_the_agent_that_files_name_come_first_and_are_tried_once);
    tcase_add_test(order_of, with_identities_only_the_agent_gives_what_files_name);
    tcase_add_test(order_of, of_many_keys_the_agent_gives_five_that_can_be_used);
    tcase_add_test(order_of, the_agent_leaves_room_for_files);
    tcase_add_loop_test(order_of, the_external_ssh_is_needed_for_keys_that_libssh2_cannot_use, 0,
                        sizeof external / sizeof *external);
    tcase_add_test(order_of,
                   the_external_ssh_is_needed_for_a_certificate_beside_a_key_that_can_be_used);
    tcase_add_test(order_of, the_external_ssh_is_needed_for_a_certificate_of_the_configuration);
    tcase_add_loop_test(order_of, the_algorithm_of_a_signature_is_read_from_the_request, 0,
                        sizeof requests / sizeof *requests);
    tcase_add_test(order_of, an_empty_key_of_the_agent_is_none_of_the_files);
    tcase_add_test(order_of, an_agent_that_lies_about_its_keys_is_not_read_past_its_answer);
    tcase_add_loop_test(order_of, a_signature_is_taken_if_it_is_of_the_keys_type, 0,
                        sizeof signatures / sizeof *signatures);
    suite_add_tcase(suite, order_of);
    return unit_run(suite);
}
