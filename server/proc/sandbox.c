/* sandbox.c - what a worker may still do when somebody has broken into it.
 *
 * Neither libseccomp nor anything else is needed: the filter is a list of system calls, and landlock
 * three of them. A call that is not allowed fails with EPERM; nobody is killed for it, since a library
 * may well try and go on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "bt.h"
#include "conf/file.h"
#include "net/helper.h"

/* A sanitizer traces its own process, and starts a program that knows names of functions. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

/* ---- files ---- */

enum {
    READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    WRITE = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
            LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
            LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
            LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
            LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM,
    ALL = READ | WRITE | LANDLOCK_ACCESS_FS_EXECUTE
};

/* What does not exist needs no rule. The whole tree is given to nobody. */
static void allow(int rules, const char *path, uint64_t what)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = what};
    struct stat st;

    if (strcmp(path, "/") == 0)
        return;
    rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0)
        return;
    if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rule.allowed_access &= LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
    (void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
}

/* A folder itself; of a file its folder, since it may be made again, or renamed. */
static void allow_place(int rules, const char *path, uint64_t what)
{
    char place[PATH_MAX];
    struct stat st;

    if (strlen(path) >= sizeof place)
        return;
    strcpy(place, path);
    if (stat(place, &st) == 0 && S_ISDIR(st.st_mode))
        allow(rules, place, what);
    else
        allow(rules, dirname(place), what);
}

/* Directives whose words are no paths, or those of files that the master alone reads: a pattern that
 * begins as a path does opens nothing. */
static bool names_no_place(bt_str name)
{
    static const char *const names[] = {"acl", "refresh_pattern", "logformat", "deny_info"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (bt_str_eq(name, str_from(names[i])))
            return true;
    return false;
}

/* Directives that name what is written: logs, and folders of caches and cores. */
static bool writes(bt_str name)
{
    return str_find(name, BT_STR("log")) >= 0 || str_ends(name, BT_STR("_dir"));
}

/* "/x", "stdio:/x", "tls-cert=/x". */
static void allow_word(int rules, bt_str word, uint64_t what)
{
    char path[PATH_MAX];
    ptrdiff_t slash = str_find_char(word, '/');
    bool begins = slash == 0 || (slash > 0 && strchr(":=", word.at[slash - 1]) != NULL);

    if (!begins || word.len - (size_t)slash >= sizeof path || str_find(word, BT_STR("://")) >= 0)
        return;
    memcpy(path, word.at + slash, word.len - (size_t)slash);
    path[word.len - (size_t)slash] = '\0';
    allow_place(rules, path, what);
}

static void allow_configured(int rules, const struct generation *gen)
{
    allow_place(rules, gen->path, READ); /* list files beside it */
    for (size_t i = 0; i < gen->n_lines; i++) {
        const struct file_line *line = &gen->line[i];
        for (size_t k = 0; k < line->n && !names_no_place(line->name.text); k++)
            allow_word(rules, line->word[k].text, writes(line->name.text) ? READ | WRITE : READ);
    }
}

static void allow_system(int rules)
{
    static const char *const folders[] = {"/usr",  "/lib", "/lib64", "/etc",
                                          "/proc", "/sys", "/run"};
    static const char *const variables[] = {"SSL_CERT_FILE", "SSL_CERT_DIR"};

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        allow(rules, folders[i], READ);
    allow(rules, "/dev", READ | LANDLOCK_ACCESS_FS_WRITE_FILE);
    allow(rules, LOCALSTATEDIR "/log/bobtail",
          READ | WRITE); /* cache_log, when no line says where */
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]) != NULL)
            allow_place(rules, getenv(variables[i]), READ);
}

static bool fence_files(const struct generation *gen)
{
    struct landlock_ruleset_attr all = {.handled_access_fs = ALL};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);

    if (rules < 0)
        return false;
    allow_system(rules);
    allow_configured(rules, gen);
    bool good = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return good;
}

/* ---- system calls ---- */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0 /* not known: no filter */
#endif

static const int programs[] = {SYS_execve, SYS_execveat};
static const int tracing[] = {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev};
static const int useless[] = {SYS_acct,
                              SYS_add_key,
                              SYS_adjtimex,
                              SYS_bpf,
                              SYS_chroot,
                              SYS_clock_adjtime,
                              SYS_clock_settime,
                              SYS_delete_module,
                              SYS_finit_module,
                              SYS_fsopen,
                              SYS_init_module,
                              SYS_io_uring_setup,
                              SYS_kexec_load,
                              SYS_keyctl,
                              SYS_mount,
                              SYS_move_mount,
                              SYS_open_by_handle_at,
                              SYS_open_tree,
                              SYS_perf_event_open,
                              SYS_pivot_root,
                              SYS_quotactl,
                              SYS_reboot,
                              SYS_request_key,
                              SYS_setdomainname,
                              SYS_setgid,
                              SYS_setgroups,
                              SYS_sethostname,
                              SYS_setns,
                              SYS_setregid,
                              SYS_setresgid,
                              SYS_setresuid,
                              SYS_setreuid,
                              SYS_settimeofday,
                              SYS_setuid,
                              SYS_swapoff,
                              SYS_swapon,
                              SYS_syslog,
                              SYS_umount2,
                              SYS_unshare,
                              SYS_userfaultfd,
                              SYS_vhangup};

enum { STEPS_MAX = 160 };
struct filter {
    struct sock_filter step[STEPS_MAX];
    unsigned short n;
};

static void step(struct filter *f, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    f->step[f->n++] = (struct sock_filter){code, yes, no, k};
}

static void load(struct filter *f, size_t offset)
{
    step(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void fail(struct filter *f, int error)
{
    step(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error, 0, 0);
}

static void allow_rest(struct filter *f)
{
    step(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

static void refuse(struct filter *f, const int *call, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        step(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call[i], 0, 1);
        fail(f, EPERM);
    }
}

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Of sockets those of the network, of this machine, and the kernel's list of addresses. */
static void only_our_sockets(struct filter *f)
{
    static const uint32_t families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

    step(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 2 * COUNT(families) + 2);
    load(f, offsetof(struct seccomp_data, args[0]));
    for (size_t i = 0; i < COUNT(families); i++) {
        step(f, BPF_JMP | BPF_JEQ | BPF_K, families[i], 0, 1);
        allow_rest(f);
    }
    fail(f, EAFNOSUPPORT);
}

/* No name spaces of one's own, where one would be root. What clone3 asks for cannot be seen: the C
 * library takes the other one when it is not there. */
static void no_name_spaces(struct filter *f)
{
    const uint32_t any = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                         CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

    step(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
    fail(f, ENOSYS);
    step(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
    load(f, offsetof(struct seccomp_data, args[0]));
    step(f, BPF_JMP | BPF_JSET | BPF_K, any, 0, 1);
    fail(f, EPERM);
    allow_rest(f);
}

static bool fence_calls(bool may_run_programs)
{
    struct filter f = {.n = 0};

    if (ARCH == 0) {
        errno = ENOSYS;
        return false;
    }
    load(&f, offsetof(struct seccomp_data, arch));
    step(&f, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    fail(&f, EPERM);
    load(&f, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
    step(&f, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* of the x32 interface */
    fail(&f, EPERM);
#endif
    refuse(&f, useless, COUNT(useless));
    if (!SANITIZED)
        refuse(&f, tracing, COUNT(tracing));
    if (!may_run_programs)
        refuse(&f, programs, COUNT(programs));
    only_our_sockets(&f);
    no_name_spaces(&f);
    allow_rest(&f);
    struct sock_fprog program = {f.n, f.step};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* ---- both ---- */

static bool unable(enum sandbox wish, const char *what)
{
    if (wish == SANDBOX_ON) {
        bt_log(NULL, BT_ERROR,
               "sandbox on: %s: %s; this kernel does not have it: say sandbox auto, or off", what,
               strerror(errno));
        return false;
    }
    bt_log(NULL, BT_DEBUG, "sandbox: %s: %s", what, strerror(errno));
    return true;
}

bool sandbox_enter(enum sandbox wish, const struct generation *gen)
{
    bool programs_wanted = helper_any();

    if (wish == SANDBOX_OFF || (wish == SANDBOX_AUTO && SANITIZED))
        return true;
    if (programs_wanted && wish == SANDBOX_ON)
        bt_log(NULL, BT_INFO,
               "sandbox: this configuration has helper programs, which inherit it: files are not "
               "fenced, and programs can be run");
    if (!programs_wanted && !fence_files(gen) && !unable(wish, "landlock"))
        return false;
    return fence_calls(programs_wanted || SANITIZED) || unable(wish, "seccomp");
}
