/* SPDX-License-Identifier: Apache-2.0 */
/* An allow list for libseccomp; see syscall_filter.h. Names that this machine's kernel does not
 * have are skipped. Fails when the kernel has no seccomp or refuses the filter. */
#include <config.h>

#include "launcher/base/syscall_filter.h"

#if defined HAVE_SECCOMP && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define HAVE_FILTER 1
#include <errno.h>
#include <seccomp.h>
#include <unistd.h>
#endif

#ifdef HAVE_FILTER

static int refuse_io_uring(scmp_filter_ctx filter)
{
    int number = seccomp_syscall_resolve_name("io_uring_setup");
    return number >= 0 ? seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0) : 0;
}

/* 0, or a negative errno. */
static int allow(scmp_filter_ctx filter, const char *name)
{
    int number = seccomp_syscall_resolve_name(name);
    return number >= 0 ? seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0) : 0;
}

/* As above. */
static int allow_with_argument(scmp_filter_ctx filter, const struct syscall_argument *row)
{
    int number = seccomp_syscall_resolve_name(row->name);
    const struct scmp_arg_cmp compare = { row->argument, SCMP_CMP_MASKED_EQ, row->mask,
                                          row->value };
    return number >= 0 ? seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, 1, &compare) : 0;
}

/* As above. The kernel reads 32 bits of a process id. */
static int allow_to_self(scmp_filter_ctx filter, const char *name)
{
    const struct syscall_argument row = { name, 0, UINT32_MAX, (uint64_t)getpid() };
    return allow_with_argument(filter, &row);
}

/* As above. */
static int add_rules(scmp_filter_ctx filter, const struct syscall_list *list)
{
    int rc = 0;
    for (size_t i = 0; i < list->count && rc == 0; i++)
        rc = allow(filter, list->allowed[i]);
    for (size_t i = 0; i < list->with_argument_count && rc == 0; i++)
        rc = allow_with_argument(filter, &list->with_argument[i]);
    for (size_t i = 0; i < list->to_self_count && rc == 0; i++)
        rc = allow_to_self(filter, list->to_self[i]);
    return rc;
}

/* `list` may be NULL for none. */
static int load_filter(uint32_t otherwise, const struct syscall_list *list, struct err *err)
{
    scmp_filter_ctx filter = seccomp_init(otherwise);
    if (!filter)
        return fail(err, HVD_ERR_SYSTEM, "seccomp: no filter can be made");
    int rc = refuse_io_uring(filter);
    if (rc == 0 && list)
        rc = add_rules(filter, list);
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    return rc == 0 ? HVD_OK : fail_errno(err, HVD_ERR_SYSTEM, -rc, "seccomp");
}

bool syscall_filter_exists(void)
{
    return true;
}

int syscall_filter_prepare(struct err *err)
{
    return load_filter(SCMP_ACT_ALLOW, NULL, err);
}

int syscall_filter_apply(const struct syscall_list *list, struct err *err)
{
    return load_filter(SCMP_ACT_ERRNO(EPERM), list, err);
}

#else

bool syscall_filter_exists(void)
{
    return false;
}

int syscall_filter_prepare(struct err *err)
{
    return fail(err, HVD_ERR_SYSTEM, "seccomp: built without it");
}

int syscall_filter_apply(const struct syscall_list *list, struct err *err)
{
    (void)list;
    return syscall_filter_prepare(err);
}

#endif
