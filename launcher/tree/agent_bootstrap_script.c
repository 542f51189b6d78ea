/* SPDX-License-Identifier: Apache-2.0 */
/* The script for /bin/sh on another machine; see agent_bootstrap_script.h. For any POSIX shell,
 * with head -c, mktemp and uname. The script is one compound command, which a shell must read to
 * its end before it does anything: no bytes sent later are taken for the script.
 *
 * A program at the path of ours may be anybody's, as below /tmp: the script runs it only if the
 * program, its folder and all folders above belong to root or to us, and nobody else may write to
 * them, as sshd requires of authorized_keys (StrictModes). Nobody else is:
 *   others, except in a sticky folder (/tmp): they can neither remove nor rename there what is ours
 *   the group, except where it is root's own (0 and 0). An access control list shows its mask as
 *   the rights of the group, so it counts as one; with root's group, the "+" behind the rights
 *   tells. An ls without "+" (busybox) leaves one case open: a list on a file of root and group 0.
 * The script changes to that folder and follows no symbolic link, so nobody can replace the program
 * between the check and the exec. Otherwise hvdrun sends its own hvdagent. */
#include "launcher/tree/agent_bootstrap_script.h"

#include "launcher/base/text_buffer.h"
#include "lib/base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* The assignments to nonce, agent and size come between these two texts. */
static const char script_begin[] = "{\n"
                                   "umask 077\n"
                                   "set -f\n";

/* ours NAME...: nobody else can have created any of them. ls -n is POSIX, unlike [ -O ] and
 * stat; one ls lists all names, which needs no more processes than one name. A newline inside a
 * name makes more lines than names, which is refused. The list is split into lines, and a line into
 * fields, by the shell itself: "set -f" keeps it from expanding patterns, of which this script has
 * none. above PROGRAM: the program is ours, and so are its folder and all folders above. After cd
 * -P, $PWD has no links. try PLACE: makes a private folder $d there that can hold and execute the
 * copy $f; or leaves $why. */
static const char script_functions[] =
    "mark() { printf '\\nhvd-%s %s\\n' \"$nonce\" \"$*\"; }\n"
    "fail() { mark fail \"$node$*\"; clean; exit 1; }\n"
    "clean() {\n"
    "    [ -z \"$d\" ] || { rm -f \"$d/hvdagent\" \"$d/x\"; rmdir \"$d\"; } 2>/dev/null\n"
    "    d=\n"
    "}\n"
    "ours() {\n"
    "    names=$# n=0 me=\n"
    "    list=$(LC_ALL=C ls -lnd \"$@\" 2>/dev/null) || return 1\n"
    "    IFS='\n"
    "'\n"
    "    set -- $list\n"
    "    unset IFS\n"
    "    for line; do\n"
    "        set -- $line\n"
    "        case $1 in\n"
    "        l*) return 1 ;;\n"
    "        d????????[tT]*) ;;\n"
    "        ????????w*) return 1 ;;\n"
    "        ?????w*)\n"
    "            case $3:$4:$1 in 0:0:*+*) return 1 ;; 0:0:*) ;; *) return 1 ;; esac ;;\n"
    "        esac\n"
    "        [ \"$3\" = 0 ] || [ \"$3\" = \"${me:=$(id -u)}\" ] || return 1\n"
    "        n=$((n + 1))\n"
    "    done\n"
    "    [ $n = $names ]\n"
    "}\n"
    "above() {\n"
    "    r=$PWD u=\n"
    "    set -- . \"$1\"\n"
    "    while [ \"${r%/}\" ]; do r=${r%/*} u=../$u; set -- \"$@\" \"$u\"; done\n"
    "    ours \"$@\"\n"
    "}\n"
    "try() {\n"
    "    [ -n \"$1\" ] || return 1\n"
    "    tried=\"$tried${tried:+, }$1\"\n"
    "    d=$(mktemp -d \"$1/hvdagent.XXXXXXXXXX\" 2>&1) || { why=$d; d=; return 1; }\n"
    "    f=$d/hvdagent\n"
    "    why=$( { head -c \"$size\" /dev/zero >\"$f\" && chmod 700 \"$f\" &&\n"
    "        printf '#!/bin/sh\\nexit 0\\n' >\"$d/x\" && chmod 700 \"$d/x\" && \"$d/x\" &&\n"
    "        rm \"$d/x\"; } 2>&1 ) && return 0\n"
    "    clean\n"
    "    return 1\n"
    "}\n"
    "installed() {\n"
    "    p=./${agent##*/}\n"
    "    [ -x \"$agent\" ] && cd -P \"${agent%/*}/\" 2>/dev/null && above \"$p\" &&\n"
    "        \"$p\" --version </dev/null >/dev/null 2>&1\n"
    "}\n"
    "place() {\n"
    "    cd /\n"
    "    trap 'clean; exit 1' HUP INT PIPE TERM\n"
    "    try \"$XDG_RUNTIME_DIR\" || try \"${TMPDIR:-/tmp}\" || try /dev/shm || try \"$HOME\" ||\n"
    "        fail \"no place for a copy (tried $tried): $why\"\n"
    "}\n"
    "receive() {\n"
    "    why=$( { head -c \"$size\" >\"$f\"; } 2>&1 ) || fail \"$why\"\n"
    "    got=$(wc -c <\"$f\")\n"
    "    [ \"${got##* }\" = \"$size\" ] || fail \"only ${got##* } bytes of it have come\"\n"
    "    why=$( { \"$f\" --version </dev/null >/dev/null; } 2>&1 ) ||\n"
    "        fail \"the copy does not run: $why\"\n"
    "}\n"
    "d= tried= why=\n";

/* On a stream of its own. */
static const char script_stream[] = "mark here\n"
                                    "if installed; then\n"
                                    "    mark run\n"
                                    "    exec \"$p\" --supervise\n"
                                    "    exit 126\n"
                                    "fi\n"
                                    "place\n"
                                    "mark send \"$(uname -sm)\"\n"
                                    "receive\n"
                                    "mark run\n"
                                    "exec \"$f\" --supervise --sent \"$d\"\n"
                                    "exit 126\n"
                                    "}\n";

/* Under srun, whose output has the marks of all nodes. */
static const char script_task[] = "if installed; then\n"
                                  "    exec \"$p\" --supervise --dial\n"
                                  "    exit 126\n"
                                  "fi\n"
                                  "mark missing \"$node$(uname -sm)\"\n"
                                  "}\n";

/* The same, where stdin begins with a copy. */
static const char script_task_copy[] = "place\n"
                                       "receive\n"
                                       "exec \"$f\" --supervise --sent \"$d\" --dial\n"
                                       "exit 126\n"
                                       "}\n";

/* Quotes a text as one word of a shell: 'it'\''s'. */
static void put_quoted(struct text_buffer *script, const char *text)
{
    text_buffer_put_string(script, "'");
    for (size_t length; *text; text += length) {
        length = strcspn(text, "'");
        text_buffer_put(script, text, length);
        if (text[length] != '\'')
            continue;
        text_buffer_put_string(script, "'\\''");
        length++;
    }
    text_buffer_put_string(script, "'\n");
}

void agent_bootstrap_nonce(char nonce[BOOTSTRAP_NONCE_SIZE])
{
    uint64_t bits = 0;
    if (getrandom(&bits, sizeof bits, 0) != sizeof bits)
        bits = monotonic_ns(); /* it is no secret */
    snprintf(nonce, BOOTSTRAP_NONCE_SIZE, "%016" PRIx64, bits);
}

bool agent_bootstrap_nonce_is_valid(const char *nonce)
{
    return strlen(nonce) == BOOTSTRAP_NONCE_SIZE - 1 &&
           strspn(nonce, "0123456789abcdef") == BOOTSTRAP_NONCE_SIZE - 1;
}

static char *make_script(const char *nonce, const char *agent, uint64_t size, const char *node,
                         const char *rest)
{
    struct text_buffer script;
    text_buffer_init(&script);
    text_buffer_put_string(&script, script_begin);
    text_buffer_printf(&script, "nonce=%s\nsize=%" PRIu64 "\nnode=%s\nagent=", nonce, size, node);
    put_quoted(&script, agent);
    text_buffer_put_string(&script, script_functions);
    text_buffer_put_string(&script, rest);
    return text_buffer_take(&script);
}

char *agent_bootstrap_script(const char *nonce, const char *agent, uint64_t size)
{
    return make_script(nonce, agent, size, "", script_stream);
}

char *agent_bootstrap_task_script(const char *nonce, const char *agent, uint64_t copy_size)
{
    return make_script(nonce, agent, copy_size, "\"$SLURMD_NODENAME \"",
                       copy_size > 0 ? script_task_copy : script_task);
}
