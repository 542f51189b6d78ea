/* SPDX-License-Identifier: Apache-2.0 */
/* What ssh and its agent say, and what key files hold.
 *
 *   u8 what: 0 the output of ssh -G   1 a file with a key   2 the same, OpenSSH's, of which only what is inside
 *      is given   3 ssh-agent's keys   4 its signature   5 a command for --remote-shell   6 a text to expand
 *      7 a report of hvdssh
 *   the bytes
 *
 * Whatever it is: it is understood, or refused; what is understood is complete and lies within what
 * came. */
#include "launcher/base/xalloc.h"
#include "launcher/connect/command_words.h"
#include "launcher/ssh/ssh_agent.h"
#include "launcher/ssh/ssh_config.h"
#include "launcher/ssh/ssh_config_expand.h"
#include "launcher/ssh/ssh_key_file.h"
#include "launcher/ssh/ssh_message.h"
#include "tests/fuzz/fuzz.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void take_config(const uint8_t *data, size_t length)
{
    struct ssh_config config;
    struct err err = { .code = HVD_OK };
    int rc = ssh_config_parse(&config, (const char *)data, length, &err);
    if (rc < 0) {
        PROMISE(rc == HVD_ERR_PROTOCOL && err.code == rc);
        fuzz_check_line(err.text, "");
        PROMISE(!config.host_name && !config.user && config.known_hosts.count == 0);
        return;
    }
    PROMISE(*config.host_name && *config.user);
    PROMISE(config.port >= 1 && config.port <= 65535);
    PROMISE(config.nuser_files <= config.known_hosts.count);
    PROMISE(!config.proxy || strncmp(config.proxy, "Proxy", 5) == 0);
    PROMISE(!config.ssh_only || strchr(config.ssh_only, ' '));
    for (size_t i = 0; i < config.identity_files.count; i++)
        PROMISE(*config.identity_files.items[i]);
    ssh_config_fini(&config);
}

/* The file holds what its bytes do, as long as it is no longer than a key's may be. */
static void check_key_file(const uint8_t *data, size_t length, enum ssh_key_kind kind)
{
    char path[32];
    struct ssh_key_file key;
    int fd = memfd_create("key", MFD_CLOEXEC);
    PROMISE(fd >= 0 && fchmod(fd, 0600) == 0 && write(fd, data, length) == (ssize_t)length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    PROMISE(ssh_key_file_read(&key, path, NULL) == HVD_OK);
    PROMISE(key.kind == kind && key.length == length && memcmp(key.data, data, length) == 0);
    ssh_key_file_fini(&key);
    close(fd);
}

static void take_key(const uint8_t *data, size_t length)
{
    struct text_buffer public = { 0 };
    enum ssh_key_kind kind = ssh_key_classify((const char *)data, length, &public);
    PROMISE((kind == SSH_KEY_USABLE) == !ssh_key_kind_problem(kind));
    PROMISE(public.length <= length);
    if (length > 0 && length <= 4096)
        check_key_file(data, length, kind);
    text_buffer_fini(&public);
}

static void take_key_inside(const uint8_t *data, size_t length)
{
    struct text_buffer text = { 0 };
    size_t room = sodium_base64_encoded_len(length, sodium_base64_VARIANT_ORIGINAL);
    text_buffer_put_string(&text, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    sodium_bin2base64(text_buffer_reserve(&text, room), room, data, length,
                      sodium_base64_VARIANT_ORIGINAL);
    text.length += room - 1;
    text_buffer_put_string(&text, "\n-----END OPENSSH PRIVATE KEY-----\n");
    take_key((const uint8_t *)text.data, text.length);
    text_buffer_fini(&text);
}

static bool lies_in(struct ssh_bytes bytes, const uint8_t *data, size_t length)
{
    return bytes.length == 0 || (bytes.data >= data && bytes.length <= length &&
                                 (size_t)(bytes.data - data) <= length - bytes.length);
}

static void take_agent_keys(const uint8_t *data, size_t length)
{
    struct ssh_reader reader;
    struct ssh_bytes public, comment;
    uint32_t count = ssh_agent_read_keys(&reader, (struct ssh_bytes){ data, length });
    for (uint32_t i = 0; i < count && !reader.failed; i++) {
        size_t left = reader.left;
        ssh_agent_read_key(&reader, &public, &comment);
        PROMISE(reader.failed || reader.left < left);
        PROMISE(lies_in(public, data, length) && lies_in(comment, data, length));
    }
}

static void take_agent_signature(const uint8_t *data, size_t length)
{
    static const char type[] = "ssh-ed25519";
    struct ssh_bytes wanted = { (const unsigned char *)type, strlen(type) };
    struct ssh_bytes signature =
        ssh_agent_read_signature((struct ssh_bytes){ data, length }, wanted);
    PROMISE(lies_in(signature, data, length));
}

static void take_command(const uint8_t *data, size_t length)
{
    struct string_list words = { 0 };
    struct err err = { .code = HVD_OK };
    char *text = xstrndup((const char *)data, length);
    int rc = command_words_make(&words, text, "--remote-shell", "host", "user", &err);
    if (rc < 0)
        fuzz_check_line(err.text, "--remote-shell: ");
    PROMISE(rc == HVD_ERR_INVALID || (rc == HVD_OK && words.count > 0));
    string_list_fini(&words);
    free(text);
}

static void take_words(const uint8_t *data, size_t length)
{
    static const struct ssh_words words = { "n", "h.example", NULL, "u", 22 };
    char *text = xstrndup((const char *)data, length);
    char *expanded = ssh_config_expand((struct slice){ text, strlen(text) }, &words);
    PROMISE(expanded);
    if (!strpbrk(text, "~%$"))
        PROMISE(strcmp(text, expanded) == 0);
    free(expanded);
    free(text);
}

static void check_printable(const char *text, size_t size)
{
    PROMISE(memchr(text, '\0', size));
    for (; *text; text++)
        PROMISE(*text >= ' ' && *text <= '~');
}

/* The same fields are written again as bytes that mean the same. */
static void take_report(const uint8_t *data, size_t length)
{
    struct ssh_report report, again;
    struct text_buffer message = { 0 };
    if (!ssh_report_decode(&report, (struct ssh_bytes){ data, length }))
        return;
    PROMISE(report.type < SSH_REPORTS && report.result < SSH_RESULTS);
    PROMISE(memchr(report.noise, '\0', sizeof report.noise));
    check_printable(report.version, sizeof report.version);
    check_printable(report.lost, sizeof report.lost);
    check_printable(report.problem, sizeof report.problem);
    PROMISE(report.bytes.length <= length);
    ssh_report_encode(&message, &report);
    PROMISE(ssh_report_decode(&again,
                              (struct ssh_bytes){ (unsigned char *)message.data, message.length }));
    PROMISE(again.code == report.code && ssh_bytes_equal(again.bytes, report.bytes));
    PROMISE(strcmp(again.lost, report.lost) == 0 && again.is_lost == report.is_lost);
    text_buffer_fini(&message);
}

static void (*const takers[])(const uint8_t *data, size_t length) = {
    take_config,          take_key,     take_key_inside, take_agent_keys,
    take_agent_signature, take_command, take_words,      take_report,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    size_t length;
    uint8_t what = fuzz_u8(&input) % (sizeof takers / sizeof *takers);
    uint8_t *bytes = fuzz_rest(&input, &length);
    takers[what](bytes, length);
    free(bytes);
    return 0;
}
