/* SPDX-License-Identifier: Apache-2.0 */
/* A known_hosts file, and a host's key.
 *
 *   u8: bits 0 and 1 the key, bits 2 to 4 the host and port, bit 5 the key is then appended, hashed if bit 6
 *   is set too; then the file, in which \1N stands for key N in base64, \2N for the host of number N
 *   hashed, \3N for key N with its type
 *
 * Whatever the file holds: the verdict is the weightiest of those on its lines alone, so that no
 * line hides another; the line that is named says so by itself; revoked and known keys stand in the
 * file; a key that is of a known type is not unknown. A line that is appended is understood, and
 * hides nothing. (That lines mean to us what they mean to OpenSSH is seen by
 * tests/unit/launcher/ssh/known_hosts_files_test.c, beside ssh-keygen.) */
#include "launcher/base/text_buffer.h"
#include "launcher/ssh/known_hosts.h"
#include "launcher/ssh/known_hosts_line.h"
#include "tests/fuzz/fuzz.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KEYS = 4, HOSTS = 8, LINES_MAX = 200 };

static const struct {
    const char *type, *base64;
} keys[KEYS] = {
    { "ssh-ed25519", "AAAAC3NzaC1lZDI1NTE5AAAAILxl4ej75Z9bJp7VMvr8lFP8xT4GL5aBIyLEU8Fev9wL" },
    { "ssh-ed25519", "AAAAC3NzaC1lZDI1NTE5AAAAIHlheYx81KRQsTpI8rWZt7R9o1Df5mIv3MRe38f6Evax" },
    { "ecdsa-sha2-nistp256",
      "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBLd4pFBSb+9WW+VsUx9vK9P2RKC9HCxujn6Z8552"
      "B8xRjfcmBCVQ5RKN/utOx7W9PjwX7KMvbicOZXTbRoF08lY=" },
    { "ssh-rsa",
      "AAAAB3NzaC1yc2EAAAADAQABAAAAgQC0QmaWlSOgB+Yc+FUiTtwsVhFqh69VL+SS36kRwK94ISXC6DgqBoe90dp1v1IJ"
      "vmY3zeZ1rf2fA2rmnn7Z/butcjWojFEFfHNcSQuRP94bwpzaMrPUavioUiqYQsde6uK++oEUKqnVRktAIgYwk/2Dlj4T"
      "ZD5jO+TPRHVQiwHWfQ==" },
};

static const struct host {
    const char *name;
    int port;
    const char *in_file; /* as lines have it */
} hosts[HOSTS] = {
    { "a", 22, "a" },
    { "Node12.Example", 22, "node12.example" },
    { "a", 2222, "[a]:2222" },
    { "::1", 22, "::1" },
    { "::1", 2222, "[::1]:2222" },
    { "192.0.2.1", 22, "192.0.2.1" },
    { "b", 22, "b" },
    { "fe80::1%eth0", 1, "[fe80::1%eth0]:1" },
};

struct blob {
    unsigned char bytes[512];
    size_t nbytes;
};

static struct blob decode(int key)
{
    struct blob blob;
    PROMISE(sodium_base642bin(blob.bytes, sizeof blob.bytes, keys[key].base64,
                              strlen(keys[key].base64), NULL, &blob.nbytes, NULL,
                              sodium_base64_VARIANT_ORIGINAL) == 0);
    return blob;
}

/* ---- the file ---- */

static void put_hashed(struct text_buffer *text, const char *name)
{
    char hashed[HASHED_NAME_SIZE];
    unsigned char salt[HOST_HASH_BYTES];
    randombytes_buf(salt, sizeof salt);
    known_name_hash(hashed, salt, name);
    text_buffer_put_string(text, hashed);
}

static void put_byte(struct text_buffer *text, struct fuzz_input *input)
{
    char byte = (char)fuzz_u8(input);
    if (byte < 1 || byte > 3 || input->left == 0) {
        text_buffer_put(text, &byte, 1);
        return;
    }
    int number = fuzz_u8(input);
    if (byte == 3) {
        text_buffer_put_string(text, keys[number % KEYS].type);
        text_buffer_put_string(text, " ");
    }
    if (byte == 2)
        put_hashed(text, hosts[number % HOSTS].in_file);
    else
        text_buffer_put_string(text, keys[number % KEYS].base64);
}

/* ---- verdicts ---- */

static struct known_hosts *parse(const char *text, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1); /* so that a read beyond it is seen */
    PROMISE(copy);
    if (length > 0)
        memcpy(copy, text, length);
    struct known_hosts *known = known_hosts_parse(copy, length, "k");
    free(copy);
    return known;
}

static struct known_hosts_found check(const struct known_hosts *known, const struct host *host,
                                      const struct blob *blob)
{
    return known_hosts_check(known, host->name, host->port, blob->bytes, blob->nbytes);
}

static int weight(enum known_hosts_verdict verdict)
{
    static const int weights[] = {
        [KNOWN_HOSTS_UNKNOWN] = 0, [KNOWN_HOSTS_NEEDS_CA] = 1, [KNOWN_HOSTS_CHANGED] = 2,
        [KNOWN_HOSTS_MATCH] = 3,   [KNOWN_HOSTS_REVOKED] = 4,
    };
    return weights[verdict];
}

static bool occurs(const struct text_buffer *text, const char *word)
{
    return memmem(text->data, text->length, word, strlen(word)) != NULL;
}

/* The verdict on each line of its own, for a host at port 22: elsewhere two names count. */
static void check_lines(const struct text_buffer *text, const struct host *host,
                        const struct blob *blob, const struct known_hosts_found *found)
{
    int heaviest = 0, number = 0;
    const char *at = text->data, *end = text->data + text->length;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *next = newline ? newline + 1 : end;
        struct known_hosts *line = parse(at, (size_t)(next - at));
        struct known_hosts_found alone = check(line, host, blob);
        if (weight(alone.verdict) > heaviest)
            heaviest = weight(alone.verdict);
        PROMISE(++number != found->line || alone.verdict == found->verdict);
        known_hosts_destroy(line);
        at = next;
    }
    PROMISE(weight(found->verdict) == heaviest);
    PROMISE(found->line <= number);
}

static void check_types(const struct known_hosts *known, const struct host *host, int key,
                        const struct known_hosts_found *found)
{
    struct string_list types = { 0 };
    bool are_own = known_hosts_types(known, host->name, host->port, &types);
    PROMISE(!are_own || types.count > 0);
    PROMISE(host->port != 22 || are_own || types.count == 0);
    PROMISE(!are_own || weight(found->verdict) >= weight(KNOWN_HOSTS_CHANGED));
    for (size_t i = 0; i < types.count; i++) {
        for (size_t other = 0; other < i; other++)
            PROMISE(strcmp(types.items[i], types.items[other]) != 0);
        if (found->verdict == KNOWN_HOSTS_CHANGED && strcmp(types.items[i], keys[key].type) == 0)
            PROMISE(strcmp(found->type, keys[key].type) == 0);
    }
    string_list_fini(&types);
}

static struct known_hosts_found check_file(const struct text_buffer *text, const struct host *host,
                                           int key)
{
    struct blob blob = decode(key);
    struct known_hosts *known = parse(text->data, text->length);
    struct known_hosts_found found = check(known, host, &blob);
    PROMISE((found.verdict == KNOWN_HOSTS_UNKNOWN) == (found.line == 0));
    PROMISE((found.line == 0) == !found.path && !found.path == !found.type);
    PROMISE(found.verdict != KNOWN_HOSTS_REVOKED || occurs(text, "@revoked"));
    PROMISE(found.verdict != KNOWN_HOSTS_NEEDS_CA || occurs(text, "@cert-authority"));
    PROMISE(found.verdict != KNOWN_HOSTS_MATCH || strcmp(found.type, keys[key].type) == 0);
    if (host->port == 22 && text->length > 0)
        check_lines(text, host, &blob, &found);
    check_types(known, host, key, &found);
    known_hosts_destroy(known);
    found.path = NULL;
    return found;
}

/* ---- one line more ---- */

static void append(const struct text_buffer *text, const struct host *host, int key, bool hashed,
                   const struct known_hosts_found *before)
{
    char path[32];
    struct blob blob = decode(key);
    struct err err = { .code = HVD_OK };
    int fd = memfd_create("known_hosts", MFD_CLOEXEC);
    PROMISE(fd >= 0 && write(fd, text->data, text->length) == (ssize_t)text->length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int rc = known_hosts_add(path, host->name, host->port, hashed, blob.bytes, blob.nbytes, &err);
    PROMISE(rc == HVD_OK);
    struct known_hosts *known = known_hosts_read((char *[]){ path }, 1, NULL);
    PROMISE(!known_hosts_unread(known));
    struct known_hosts_found found = check(known, host, &blob);
    bool revoked = before->verdict == KNOWN_HOSTS_REVOKED;
    PROMISE(found.verdict == (revoked ? KNOWN_HOSTS_REVOKED : KNOWN_HOSTS_MATCH));
    known_hosts_destroy(known);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    struct text_buffer text = { 0 };
    uint8_t how = fuzz_u8(&input);
    const struct host *host = &hosts[how >> 2 & 7];
    while (input.left > 0)
        put_byte(&text, &input);
    struct known_hosts_found found = check_file(&text, host, how & 3);
    if (how & 32)
        append(&text, host, how & 3, how & 64, &found);
    text_buffer_fini(&text);
    return 0;
}
