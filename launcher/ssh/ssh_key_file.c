/* SPDX-License-Identifier: Apache-2.0 */
/* Private keys in files; see ssh_key_file.h. A key in OpenSSH's own format shows its public half
 * and whether it is encrypted; in the older PEM formats the first line tells most. Fails when the
 * file does not exist, cannot be read, is too large for a key or is open to others. */
#include "launcher/ssh/ssh_key_file.h"

#include "launcher/base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_FILE_BYTES = 64 * 1024 };

static const struct {
    const char *begin;
    enum ssh_key_kind kind;
} first_lines[] = {
    { "-----BEGIN RSA PRIVATE KEY-----", SSH_KEY_RSA },
    { "-----BEGIN EC PRIVATE KEY-----", SSH_KEY_USABLE },
    { "-----BEGIN EC PARAMETERS-----", SSH_KEY_USABLE },
    { "-----BEGIN PRIVATE KEY-----", SSH_KEY_USABLE },
    { "-----BEGIN ENCRYPTED PRIVATE KEY-----", SSH_KEY_ENCRYPTED },
    { "-----BEGIN DSA PRIVATE KEY-----", SSH_KEY_OTHER },
    { "-----BEGIN PUBLIC KEY-----", SSH_KEY_PUBLIC },
    { "-----BEGIN RSA PUBLIC KEY-----", SSH_KEY_PUBLIC },
    { "---- BEGIN SSH2 PUBLIC KEY ----", SSH_KEY_PUBLIC },
    { "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----", SSH_KEY_OTHER_FORMAT },
    { "PuTTY-User-Key-File-", SSH_KEY_OTHER_FORMAT },
    { "ssh-", SSH_KEY_PUBLIC },
    { "ecdsa-sha2-", SSH_KEY_PUBLIC },
    { "sk-", SSH_KEY_PUBLIC },
};

const char *ssh_key_kind_problem(enum ssh_key_kind kind)
{
    static const char *const problems[SSH_KEY_KINDS] = {
        [SSH_KEY_ENCRYPTED] = "encrypted (give it to ssh-agent with ssh-add)",
        [SSH_KEY_RSA] = "RSA",
        [SSH_KEY_HARDWARE] = "on a hardware token, which libssh2 cannot ask",
        [SSH_KEY_CERTIFICATE] = "a certificate, which libssh2 cannot use",
        [SSH_KEY_OTHER] = "of a type that libssh2 cannot use",
        [SSH_KEY_PUBLIC] = "a public key; the private one is needed",
        [SSH_KEY_OTHER_FORMAT] = "not in OpenSSH's format (ssh-keygen -i converts it)",
        [SSH_KEY_GARBAGE] = "not a private key",
    };
    return problems[kind];
}

/* "ssh-ed25519-cert-v01@openssh.com" */
static bool is_certificate(struct ssh_bytes type)
{
    return type.length > 0 && memmem(type.data, type.length, "-cert-v", 7) != NULL;
}

enum ssh_key_kind ssh_key_type_kind(struct ssh_bytes type)
{
    static const struct {
        const char *type;
        enum ssh_key_kind kind;
    } types[] = {
        { "ssh-ed25519", SSH_KEY_USABLE },
        { "ecdsa-sha2-nistp256", SSH_KEY_USABLE },
        { "ecdsa-sha2-nistp384", SSH_KEY_USABLE },
        { "ecdsa-sha2-nistp521", SSH_KEY_USABLE },
        { "ssh-rsa", SSH_KEY_RSA },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (ssh_bytes_are(type, types[i].type))
            return types[i].kind;
    if (type.length > 3 && memcmp(type.data, "sk-", 3) == 0 && !is_certificate(type))
        return SSH_KEY_HARDWARE;
    return is_certificate(type) ? SSH_KEY_CERTIFICATE : SSH_KEY_OTHER;
}

/* ---- the contents of a file ---- */

/* The bytes between the first line and the last one. `body` stays empty if they are not base64. */
static void decode_body(const char *data, size_t length, struct text_buffer *body)
{
    const char *begin = memchr(data, '\n', length);
    const char *end = begin ? memmem(begin, length - (size_t)(begin - data), "-----END", 8) : NULL;
    if (!end)
        return;
    size_t nbytes = 0;
    char *room = text_buffer_reserve(body, (size_t)(end - begin));
    if (sodium_base642bin((unsigned char *)room, (size_t)(end - begin), begin,
                          (size_t)(end - begin), "\r\n ", &nbytes, NULL,
                          sodium_base64_VARIANT_ORIGINAL) == 0)
        body->length = nbytes;
}

/* Of these kinds a key with a passphrase is of no use outside the agent. */
static bool may_be_locked(enum ssh_key_kind kind)
{
    return kind == SSH_KEY_USABLE || kind == SSH_KEY_RSA;
}

/*  magic "openssh-key-v1\0"   string cipher   string kdf   string kdf options   u32 keys
 *  string public key   string private keys, encrypted by the cipher */
static enum ssh_key_kind read_openssh(const struct text_buffer *body, struct text_buffer *public)
{
    static const char magic[] = "openssh-key-v1";
    if (body->length < sizeof magic || memcmp(body->data, magic, sizeof magic) != 0)
        return SSH_KEY_GARBAGE;
    struct ssh_reader reader = { (const unsigned char *)body->data + sizeof magic,
                                 body->length - sizeof magic, false };
    struct ssh_bytes cipher = ssh_get_string(&reader);
    ssh_get_string(&reader);
    ssh_get_string(&reader);
    uint32_t count = ssh_get_u32(&reader);
    struct ssh_bytes key = ssh_get_string(&reader);
    ssh_get_string(&reader);
    if (reader.failed || count != 1)
        return SSH_KEY_GARBAGE;
    text_buffer_put(public, key.data, key.length);
    struct ssh_reader inside = { key.data, key.length, false };
    enum ssh_key_kind kind = ssh_key_type_kind(ssh_get_string(&inside));
    bool plain = ssh_bytes_are(cipher, "none");
    return may_be_locked(kind) && !plain ? SSH_KEY_ENCRYPTED : kind;
}

/* PKCS #8 names the algorithm near its beginning. */
static enum ssh_key_kind read_pkcs8(const struct text_buffer *body)
{
    static const unsigned char rsa[] = { 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01 };
    size_t head = body->length < 40 ? body->length : 40;
    if (head == 0)
        return SSH_KEY_GARBAGE;
    return memmem(body->data, head, rsa, sizeof rsa) ? SSH_KEY_RSA : SSH_KEY_USABLE;
}

static bool begins(const char *data, size_t length, const char *prefix)
{
    return length >= strlen(prefix) && memcmp(data, prefix, strlen(prefix)) == 0;
}

static enum ssh_key_kind read_body(const char *data, size_t length, struct text_buffer *public,
                                   bool openssh)
{
    struct text_buffer body = { 0 };
    decode_body(data, length, &body);
    enum ssh_key_kind kind = openssh ? read_openssh(&body, public) : read_pkcs8(&body);
    if (body.data)
        sodium_memzero(body.data, body.capacity);
    text_buffer_fini(&body);
    return kind;
}

enum ssh_key_kind ssh_key_classify(const char *data, size_t length, struct text_buffer *public)
{
    if (begins(data, length, "-----BEGIN OPENSSH PRIVATE KEY-----"))
        return read_body(data, length, public, true);
    if (begins(data, length, "-----BEGIN PRIVATE KEY-----"))
        return read_body(data, length, public, false);
    for (size_t i = 0; i < sizeof first_lines / sizeof *first_lines; i++) {
        if (!begins(data, length, first_lines[i].begin))
            continue;
        bool locked = may_be_locked(first_lines[i].kind) &&
                      memmem(data, length, "Proc-Type: 4,ENCRYPTED", 22);
        return locked ? SSH_KEY_ENCRYPTED : first_lines[i].kind;
    }
    return SSH_KEY_GARBAGE;
}

/* ---- the file ---- */

/* A failure of the system, by errno. */
static int ssh_key_file_fail(struct err *err, int status)
{
    return fail(err, status, "%s", strerror(errno));
}

static int check_file(const struct stat *status, struct err *err)
{
    if (!S_ISREG(status->st_mode))
        return fail(err, HVD_ERR_SYSTEM, "not a file");
    if (status->st_size > KEY_FILE_BYTES)
        return fail(err, HVD_ERR_SYSTEM, "not a private key");
    return HVD_OK;
}

/* As strict as ssh: others may not even read the file. */
static int check_mode(const struct stat *status, struct err *err)
{
    if (status->st_uid != getuid() || (status->st_mode & 077) == 0)
        return HVD_OK;
    return fail(err, HVD_ERR_SYSTEM, "open to others (mode %04o; chmod 600 it)",
                (unsigned)status->st_mode & 07777);
}

static int read_bytes(int fd, struct ssh_key_file *key, struct err *err)
{
    key->data = xmalloc(KEY_FILE_BYTES + 1);
    for (ssize_t n = 1; n != 0 && key->length < KEY_FILE_BYTES; key->length += (size_t)n) {
        n = read(fd, key->data + key->length, KEY_FILE_BYTES - key->length);
        if (n < 0)
            return ssh_key_file_fail(err, HVD_ERR_SYSTEM);
    }
    key->data[key->length] = '\0';
    return HVD_OK;
}

/* TYPE BASE64 [COMMENT] */
static void read_public(const char *path, struct text_buffer *public)
{
    char *name = xasprintf("%s.pub", path);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(name);
    if (fd < 0)
        return;
    char line[16 * 1024];
    ssize_t length = read(fd, line, sizeof line - 1);
    close(fd);
    line[length > 0 ? length : 0] = '\0';
    const char *begin = strchr(line, ' ');
    if (!begin)
        return;
    size_t nbytes = 0, room = strcspn(begin + 1, " \r\n");
    if (sodium_base642bin((unsigned char *)text_buffer_reserve(public, room + 1), room, begin + 1,
                          room, NULL, &nbytes, NULL, sodium_base64_VARIANT_ORIGINAL) == 0)
    public->length = nbytes;
}

int ssh_key_file_read(struct ssh_key_file *key, const char *path, struct err *err)
{
    *key = (struct ssh_key_file){ .kind = SSH_KEY_GARBAGE };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        bool missing = errno == ENOENT || errno == ENOTDIR;
        return ssh_key_file_fail(err, missing ? HVD_ERR_INVALID : HVD_ERR_SYSTEM);
    }
    struct stat status;
    int rc =
        fstat(fd, &status) == 0 ? check_file(&status, err) : ssh_key_file_fail(err, HVD_ERR_SYSTEM);
    if (rc == HVD_OK)
        rc = read_bytes(fd, key, err);
    close(fd);
    if (rc < 0)
        return rc;
    key->kind = ssh_key_classify(key->data, key->length, &key->public);
    if (key->kind != SSH_KEY_PUBLIC && (rc = check_mode(&status, err)) < 0)
        return rc;
    if (key->public.length == 0)
        read_public(path, &key->public);
    return HVD_OK;
}

void ssh_key_file_fini(struct ssh_key_file *key)
{
    if (key->data)
        sodium_memzero(key->data, key->length);
    free(key->data);
    text_buffer_fini(&key->public);
    *key = (struct ssh_key_file){ 0 };
}
