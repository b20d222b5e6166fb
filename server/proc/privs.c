/* privs.c - looks users up, gives rights up, sets limits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/privs.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bt.h"

/* Text of the configuration ends in NUL. */
static const struct passwd *user_find(bt_str name)
{
    if (name.at != NULL)
        return getpwnam(name.at);
    /* Squid's packages made "proxy"; "nobody" is everywhere. */
    const struct passwd *user = getpwnam("proxy");
    return user != NULL ? user : getpwnam("nobody");
}

bool privs_resolve(struct privs *privs, bt_str user, bt_str group, struct bt_arena *arena,
                   struct bt_error *err)
{
    *privs = (struct privs){.drop = false};
    if (geteuid() != 0)
        return true;
    const struct passwd *found = user_find(user);
    if (found == NULL && user.at != NULL)
        return bt_complain(err, NULL,
                           "cache_effective_user: there is no user \"%.*s\"; create it, or name "
                           "one that exists",
                           BT_STR_ARGS(user));
    if (found == NULL)
        return bt_complain(err, NULL,
                           "started as root, and there is neither a user \"proxy\" nor \"nobody\" "
                           "to run as; name one with cache_effective_user");
    privs->uid = found->pw_uid;
    privs->gid = found->pw_gid;
    privs->user = bt_str_copy(arena, (bt_str){found->pw_name, strlen(found->pw_name)}).at;
    if (group.at != NULL) {
        const struct group *named = getgrnam(group.at);
        if (named == NULL)
            return bt_complain(err, NULL,
                               "cache_effective_group: there is no group \"%.*s\"; create it, or "
                               "leave the line out for the main group of \"%s\"",
                               BT_STR_ARGS(group), privs->user);
        privs->gid = named->gr_gid;
        privs->lone_group = true;
    }
    privs->drop = privs->uid != 0;
    return true;
}

static bool refused(const char *what, const char *user)
{
    bt_log(NULL, BT_ERROR,
           "cannot become user \"%s\": %s: %s; start as that user, or name another with "
           "cache_effective_user",
           user, what, strerror(errno));
    return false;
}

/* Of all rights of root this one stays, in this process alone: programs that it starts lose it. */
static bool raw_keep(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {
        {.effective = 1u << CAP_NET_RAW, .permitted = 1u << CAP_NET_RAW}};

    return syscall(SYS_capset, &head, data) == 0;
}

/* Nor can they be had again, by any program. Without the right to do this (CAP_SETPCAP) nothing is
 * lost: no new privileges says the same. */
static void bounds_drop(const struct privs *privs)
{
    for (int right = 0; right <= CAP_LAST_CAP; right++)
        if (!privs->raw || right != CAP_NET_RAW)
            (void)prctl(PR_CAPBSET_DROP, right, 0, 0, 0);
}

static bool user_set(const struct privs *privs)
{
    bounds_drop(privs);
    if (privs->raw)
        (void)prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
    if (privs->lone_group ? setgroups(1, &privs->gid) != 0
                          : initgroups(privs->user, privs->gid) != 0)
        return refused("setting the groups", privs->user);
    if (setresgid(privs->gid, privs->gid, privs->gid) != 0)
        return refused("setting the group", privs->user);
    if (setresuid(privs->uid, privs->uid, privs->uid) != 0)
        return refused("setting the user", privs->user);
    /* What cannot fail to be dropped is worth one look: root that comes back is no drop. */
    if (setuid(0) == 0) {
        errno = EPERM;
        return refused("the rights of root did not go", privs->user);
    }
    if (privs->raw && !raw_keep())
        return refused("keeping CAP_NET_RAW for tproxy", privs->user);
    return true;
}

static void core_set(const char *folder)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_CORE, &limit);
    }
    if (chdir(folder) != 0)
        bt_log(NULL, BT_WARN,
               "coredump_dir %s: %s; a core would go to the folder that the server was started in",
               folder, strerror(errno));
    /* Changing the user took it away. */
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

bool privs_drop(const struct privs *privs)
{
    if (privs->drop && !user_set(privs))
        return false;
    /* No program that we start, and nobody who breaks in, gets more by a setuid file. */
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (privs->coredump_dir != NULL)
        core_set(privs->coredump_dir);
    return true;
}

void privs_descriptors(int64_t wanted)
{
    enum { USUAL = 65536 };
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    rlim_t soft = limit.rlim_max < USUAL ? limit.rlim_max : USUAL;
    if (wanted > 0)
        soft = (rlim_t)wanted;
    else if (limit.rlim_cur > soft)
        return;
    struct rlimit raised = {soft, soft > limit.rlim_max ? soft : limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
        return;
    raised = (struct rlimit){limit.rlim_max, limit.rlim_max};
    (void)setrlimit(RLIMIT_NOFILE, &raised);
    bt_log(
        NULL, BT_WARN,
        "max_filedescriptors %lld: the system grants %llu; raise the limit of whoever starts the "
        "server (ulimit -n, LimitNOFILE=)",
        (long long)soft, (unsigned long long)limit.rlim_max);
}
