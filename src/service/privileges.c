/* SPDX-License-Identifier: Apache-2.0 */
/* Becoming another user; see privileges.h. Groups go first, because only root may give them up; at
 * the end the way back must be closed. */
#include "src/service/privileges.h"

#include "launcher/base/bad_input.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

int privileges_drop(const char *user, struct err *err)
{
    struct shown shown;
    if (geteuid() != 0)
        return bad_input(err, "--user", "only root can become another user");
    const struct passwd *entry = getpwnam(user);
    if (!entry)
        return bad_input(err, "--user", "no such user: '%s'",
                         show_token(&shown, user, strlen(user)));
    if (entry->pw_uid == 0)
        return bad_input(err, "--user", "'%s' is root", show_token(&shown, user, strlen(user)));
    if (setgroups(0, NULL) < 0 || setgid(entry->pw_gid) < 0 || setuid(entry->pw_uid) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "--user %s", user);
    if (setuid(0) == 0 || geteuid() != entry->pw_uid || getegid() != entry->pw_gid)
        return fail(err, HVD_ERR_SYSTEM, "--user %s: this process can become root again", user);
    return HVD_OK;
}
