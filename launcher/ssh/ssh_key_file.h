/* SPDX-License-Identifier: Apache-2.0 */
/* A file that should hold a private key: the kind of the key, and whether libssh2 can use it
 * without asking anybody. */
#ifndef LAUNCHER_SSH_SSH_KEY_FILE_H
#define LAUNCHER_SSH_SSH_KEY_FILE_H

#include "launcher/ssh/ssh_wire.h"
#include "lib/base/status.h"

#include <stdbool.h>

enum ssh_key_kind {
    SSH_KEY_USABLE,
    SSH_KEY_ENCRYPTED,
    SSH_KEY_RSA,
    SSH_KEY_HARDWARE,     /* sk-...: a token signs */
    SSH_KEY_CERTIFICATE,  /* a public key that an authority has signed */
    SSH_KEY_OTHER,        /* DSA, future types */
    SSH_KEY_PUBLIC,       /* a public key */
    SSH_KEY_OTHER_FORMAT, /* PuTTY, ssh.com */
    SSH_KEY_GARBAGE,
    SSH_KEY_KINDS
};

struct ssh_key_file {
    enum ssh_key_kind kind;
    char *data; /* owned: the file; wiped when it is released */
    size_t length;
    struct
        text_buffer public; /* the public key in the form of the ssh protocol; empty if unknown */
};

/* Why a key of that kind is not used, "encrypted (ssh-add it)"; NULL if it is usable. */
const char *ssh_key_kind_problem(enum ssh_key_kind kind);

/* The kind of a public key by its type, "ssh-ed25519". */
enum ssh_key_kind ssh_key_type_kind(struct ssh_bytes type);

/* The kind of the contents of a file; `public` is set to the public key if the contents show it.
 * Pure. */
enum ssh_key_kind ssh_key_classify(const char *data, size_t length, struct text_buffer *public);

/* Reads the file, and FILE.pub if only that shows the public key. HVD_ERR_INVALID if the file does
 * not exist; HVD_ERR_SYSTEM if it cannot be read, is no regular file or is open to others: then
 * nobody should use it. `err` has the cause without the path. ssh_key_file_fini() must follow in
 * any case. */
int ssh_key_file_read(struct ssh_key_file *key, const char *path, struct err *err);
void ssh_key_file_fini(struct ssh_key_file *key);

#endif
