/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that a login may try, in their order, and the result of each. Pure but for reading
 * files. */
#ifndef LAUNCHER_SSH_SSH_KEYS_H
#define LAUNCHER_SSH_SSH_KEYS_H

#include "launcher/ssh/ssh_key_file.h"
#include "launcher/ssh/ssh_wire.h"

/* sshd hangs up after six failures, unless its MaxAuthTries says otherwise. */
enum { SSH_AGENT_KEYS_TRIED = 5, SSH_KEYS_TRIED = 6 };

struct ssh_key {
    char *name; /* owned; "~/.ssh/id_ed25519"; an agent's comment */
    bool in_agent;
    struct text_buffer public; /* empty if it is not known */
    struct ssh_key_file file;  /* of a key that is not in the agent */
    char *outcome; /* owned; why it is of no use, "not accepted"; NULL while it may be tried */
    bool rsa;      /* of no use since it is an RSA key */
    bool refused;  /* the host did not accept it */
    bool skipped;  /* not worth a word */
};

struct ssh_keys {
    struct ssh_key *items; /* owned: `count` keys */
    size_t count;
    size_t nfiles;   /* how many come from files: the last ones */
    size_t nuntried; /* keys of the agent that are too many, and left out */
};

/* Reads the files. Those that are not there are left out, unless they `must_exist`: then that is
 * the outcome, HVD_ERR_INVALID. */
int ssh_keys_add_files(struct ssh_keys *keys, const char *const *paths, size_t npaths,
                       bool must_exist, struct err *err);

/* Puts an agent's keys (its answer) before the files: those that are also in files first. With
 * `only_files`, the others are left out, and so are more than SSH_AGENT_KEYS_TRIED, or so many that
 * not all files could be tried. Keys of a kind that libssh2 cannot use have that as their outcome; files that are in the agent need not be tried.
 * Returns how many keys the agent has, or -1 if that is not an answer. */
int ssh_keys_add_agent(struct ssh_keys *keys, struct ssh_bytes answer, bool only_files);

/* What came of it. A copy of the text is kept; NULL changes nothing. */
void ssh_key_set_outcome(struct ssh_key *key, const char *outcome);

/* The next one to try, or NULL. */
struct ssh_key *ssh_keys_next(struct ssh_keys *keys);

/* "ssh-agent: key 'me@laptop' not accepted; ~/.ssh/id_rsa: RSA, ..."; "" if there are none. */
void ssh_keys_describe(const struct ssh_keys *keys, char *text, size_t size);

/* The command that mends it when none of the keys is accepted, "ssh-copy-id -i FILE TARGET"; "" if
 * their outcomes say what to do. `target` is the host, as ssh-copy-id takes it. */
void ssh_keys_mend(const struct ssh_keys *keys, const char *target, char *text, size_t size);

void ssh_keys_fini(struct ssh_keys *keys);

#endif
