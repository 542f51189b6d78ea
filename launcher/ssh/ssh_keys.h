/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that a login may try, in their order, and the result of each. Pure but for reading
 * files. */
#ifndef LAUNCHER_SSH_SSH_KEYS_H
#define LAUNCHER_SSH_SSH_KEYS_H

#include "launcher/base/string_list.h"
#include "launcher/ssh/ssh_key_file.h"
#include "launcher/ssh/ssh_wire.h"

/* sshd hangs up after six failures, unless its MaxAuthTries says otherwise. */
enum { SSH_AGENT_KEYS_TRIED = 5, SSH_KEYS_TRIED = 6 };

struct ssh_key {
    char *name; /* owned; "~/.ssh/id_ed25519"; or an agent's comment */
    bool in_agent;
    struct text_buffer public; /* empty if unknown */
    struct ssh_key_file file;  /* of a key that is not in the agent */
    char *certificate;         /* owned; "~/.ssh/id_ed25519-cert.pub" beside the file; or NULL */
    char *outcome; /* owned; why the key cannot be used, "not accepted"; NULL while it may be
                    * tried */
    enum ssh_key_kind kind;
    bool refused; /* the host did not accept it */
    bool skipped; /* not mentioned in messages */
};

/* Set `libssh2` and `signs_sha2` first. */
struct ssh_keys {
    struct ssh_key *items; /* owned: `count` keys */
    size_t count;
    size_t nfiles;    /* how many come from files; these come last */
    size_t nuntried;  /* surplus keys of the agent, which are left out */
    char libssh2[24]; /* the version of libssh2, for messages */
    bool signs_sha2;  /* this libssh2 can use RSA keys */
};

/* Reads the files. Missing files are left out, unless they `must_exist`: then the call returns
 * HVD_ERR_INVALID. */
int ssh_keys_add_files(struct ssh_keys *keys, const char *const *paths, size_t npaths,
                       bool must_exist, struct err *err);

/* Puts an agent's keys (its answer) before the files, beginning with the keys that are also in
 * files. With `only_files`, the other keys are left out. Keys beyond SSH_AGENT_KEYS_TRIED are left
 * out too, and keys that would leave no attempts for the files. A key of a kind that libssh2 cannot
 * use has this as its outcome. Files whose key is in the agent need not be tried. Returns how many
 * keys the agent has, or -1 if the answer is malformed. */
int ssh_keys_add_agent(struct ssh_keys *keys, struct ssh_bytes answer, bool only_files);

/* Sets the result of a key. A copy of the text is kept; NULL changes nothing. */
void ssh_key_set_outcome(struct ssh_key *key, const char *outcome);

/* The next key to try, or NULL. */
struct ssh_key *ssh_keys_next(struct ssh_keys *keys);

/* "ssh-agent: key 'me@laptop' not accepted; ~/.ssh/id_rsa: RSA, ..."; "" if there are none. */
void ssh_keys_describe(const struct ssh_keys *keys, char *text, size_t size);

/* The command that helps when no key is accepted, "ssh-copy-id -i FILE TARGET"; "" if the outcomes
 * of the keys name a remedy. `target` is the host in the form of ssh-copy-id. */
void ssh_keys_mend(const struct ssh_keys *keys, const char *target, char *text, size_t size);

/* Why the external ssh may log in where libssh2 could not: "RSA key ~/.ssh/id_rsa: ..." for a key
 * that can be used, but not by libssh2, or for a certificate beside a file or among `certificates`.
 * False if ssh could do no more. */
bool ssh_keys_need_ssh(const struct ssh_keys *keys, const struct string_list *certificates,
                       char *text, size_t size);

void ssh_keys_fini(struct ssh_keys *keys);

#endif
