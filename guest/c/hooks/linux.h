/*
 * Linux system calls made directly from Windows code, and the structures they take (x86-64; include/uapi of the
 * kernel).
 *
 * Wine 8.0 does not trap them: a `syscall` instruction in a PE module reaches the kernel. Nothing here touches errno or
 * thread storage: results below zero are negative error numbers.
 */
#ifndef MULLION_LINUX_H
#define MULLION_LINUX_H

#include <windows.h>

#define LINUX_PATH_MAX 4096
#define LINUX_LISTING 16384 /* bytes of a folder's listing that are read at once */

/* clang-format off */
/* Numbers of system calls (arch/x86/entry/syscalls/syscall_64.tbl). */
enum
{
    LX_NR_read = 0, LX_NR_write = 1, LX_NR_close = 3, LX_NR_fstat = 5, LX_NR_poll = 7, LX_NR_ioctl = 16,
    LX_NR_pread64 = 17, LX_NR_getpid = 39, LX_NR_socket = 41, LX_NR_connect = 42, LX_NR_sendto = 44,
    LX_NR_recvfrom = 45, LX_NR_sendmsg = 46, LX_NR_recvmsg = 47, LX_NR_shutdown = 48, LX_NR_bind = 49,
    LX_NR_listen = 50, LX_NR_getsockname = 51, LX_NR_getpeername = 52, LX_NR_setsockopt = 54, LX_NR_getsockopt = 55,
    LX_NR_fcntl = 72, LX_NR_fchmod = 91, LX_NR_fchown = 93, LX_NR_getuid = 102, LX_NR_capget = 125, LX_NR_fstatfs = 138,
    LX_NR_setpriority = 141, LX_NR_gettid = 186, LX_NR_setxattr = 188, LX_NR_getxattr = 191, LX_NR_getdents64 = 217,
    LX_NR_epoll_wait = 232, LX_NR_epoll_ctl = 233, LX_NR_openat = 257, LX_NR_mkdirat = 258, LX_NR_newfstatat = 262,
    LX_NR_unlinkat = 263, LX_NR_linkat = 265, LX_NR_symlinkat = 266, LX_NR_readlinkat = 267, LX_NR_tee = 276,
    LX_NR_utimensat = 280, LX_NR_accept4 = 288, LX_NR_eventfd2 = 290, LX_NR_epoll_create = 291, LX_NR_pipe2 = 293,
    LX_NR_renameat2 = 316, LX_NR_getrandom = 318, LX_NR_membarrier = 324, LX_NR_openat2 = 437
};

enum
{
    LX_EPERM = 1, LX_ENOENT = 2, LX_EINTR = 4, LX_EBADF = 9, LX_EAGAIN = 11, LX_EACCES = 13, LX_EBUSY = 16,
    LX_EEXIST = 17, LX_EXDEV = 18, LX_ENOTDIR = 20, LX_EISDIR = 21, LX_EINVAL = 22, LX_EMFILE = 24, LX_ENOSPC = 28,
    LX_EROFS = 30, LX_ENAMETOOLONG = 36, LX_ENOTEMPTY = 39, LX_ELOOP = 40, LX_EOPNOTSUPP = 95, LX_EADDRINUSE = 98,
    LX_ECONNREFUSED = 111
};

enum
{
    LX_O_RDONLY = 0, LX_O_NONBLOCK = 04000, LX_O_DIRECTORY = 0200000, LX_O_NOFOLLOW = 0400000, LX_O_CLOEXEC = 02000000,
    LX_O_PATH = 010000000,
    LX_RESOLVE_NO_MAGICLINKS = 2, LX_RESOLVE_NO_SYMLINKS = 4, LX_RESOLVE_BENEATH = 8,
    LX_AT_FDCWD = -100, LX_AT_SYMLINK_NOFOLLOW = 0x100, LX_AT_REMOVEDIR = 0x200, LX_AT_EMPTY_PATH = 0x1000,
    LX_RENAME_NOREPLACE = 1,
    LX_S_IFMT = 0170000, LX_S_IFDIR = 0040000, LX_S_IFREG = 0100000, LX_S_IFLNK = 0120000, LX_S_IFSOCK = 0140000,
    LX_AF_UNIX = 1, LX_AF_INET = 2, LX_SOCK_STREAM = 1, LX_SOCK_NONBLOCK = 04000, LX_SOCK_CLOEXEC = 02000000,
    LX_SOL_SOCKET = 1, LX_MSG_NOSIGNAL = 0x4000,
    LX_DT_UNKNOWN = 0, LX_DT_LNK = 10, LX_DT_SOCK = 12,
    LX_F_SETFD = 2, LX_F_SETFL = 4, LX_F_DUPFD_CLOEXEC = 1030, LX_FD_CLOEXEC = 1,
    LX_O_RDWR = 02, LX_O_CREAT = 0100, LX_O_EXCL = 0200
};
/* clang-format on */

struct lx_timespec
{
    INT64 sec, nsec;
};

struct lx_stat
{
    UINT64 dev, ino, nlink;
    UINT32 mode, uid, gid, pad;
    UINT64 rdev;
    INT64 size, blksize, blocks;
    struct lx_timespec atime, mtime, ctime;
    INT64 unused[3];
};

#define LX_ST_RDONLY 1

struct lx_statfs
{
    INT64 type, bsize;
    UINT64 blocks, bfree, bavail, files, ffree;
    INT32 fsid[2];
    INT64 namelen, frsize, flags, spare[4];
};

struct lx_dirent
{
    UINT64 ino;
    INT64 off;
    UINT16 reclen;
    BYTE type;
    char name[];
};

struct lx_open_how
{
    UINT64 flags, mode, resolve;
};

/* Whether a name of a listing is the folder itself or the one above it. */
static inline BOOL lx_is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

static inline INT64 lx_call(INT64 number, INT64 a, INT64 b, INT64 c, INT64 d, INT64 e)
{
    register INT64 r10 __asm__("r10") = d;
    register INT64 r8 __asm__("r8") = e;
    INT64 result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
}

static inline INT64 lx_call6(INT64 number, INT64 a, INT64 b, INT64 c, INT64 d, INT64 e, INT64 f)
{
    register INT64 r10 __asm__("r10") = d;
    register INT64 r8 __asm__("r8") = e;
    register INT64 r9 __asm__("r9") = f;
    INT64 result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* clang-format off */
#define lx0(nr)             lx_call(nr, 0, 0, 0, 0, 0)
#define lx1(nr, a)          lx_call(nr, (INT64)(a), 0, 0, 0, 0)
#define lx2(nr, a, b)       lx_call(nr, (INT64)(a), (INT64)(b), 0, 0, 0)
#define lx3(nr, a, b, c)    lx_call(nr, (INT64)(a), (INT64)(b), (INT64)(c), 0, 0)
#define lx4(nr, a, b, c, d) lx_call(nr, (INT64)(a), (INT64)(b), (INT64)(c), (INT64)(d), 0)
#define lx5(nr, a, b, c, d, e) lx_call(nr, (INT64)(a), (INT64)(b), (INT64)(c), (INT64)(d), (INT64)(e))

static inline INT64 lx_read(int fd, void *p, SIZE_T n) { return lx3(LX_NR_read, fd, p, n); }
static inline INT64 lx_pread(int fd, void *p, SIZE_T n, INT64 at) { return lx4(LX_NR_pread64, fd, p, n, at); }
static inline INT64 lx_write(int fd, const void *p, SIZE_T n) { return lx3(LX_NR_write, fd, p, n); }
static inline int lx_close(int fd) { return (int)lx1(LX_NR_close, fd); }
static inline int lx_fstat(int fd, struct lx_stat *st) { return (int)lx2(LX_NR_fstat, fd, st); }
static inline int lx_fstatfs(int fd, struct lx_statfs *st) { return (int)lx2(LX_NR_fstatfs, fd, st); }
static inline int lx_dup(int fd) { return (int)lx3(LX_NR_fcntl, fd, LX_F_DUPFD_CLOEXEC, 0); }
/* Programs that are started do not get the descriptor. */
static inline int lx_keep(int fd) { return (int)lx3(LX_NR_fcntl, fd, LX_F_SETFD, LX_FD_CLOEXEC); }
static inline int lx_getdents(int fd, void *p, SIZE_T n) { return (int)lx3(LX_NR_getdents64, fd, p, n); }
static inline int lx_fchmod(int fd, UINT32 mode) { return (int)lx2(LX_NR_fchmod, fd, mode); }
static inline int lx_fchown(int fd, UINT32 user, UINT32 group) { return (int)lx3(LX_NR_fchown, fd, user, group); }
static inline int lx_openat(int dir, const char *name, int flags)
{
    return (int)lx4(LX_NR_openat, dir, name, flags, 0);
}
static inline int lx_openat2(int dir, const char *name, const struct lx_open_how *how)
{
    return (int)lx4(LX_NR_openat2, dir, name, how, sizeof(*how));
}
static inline int lx_creatat(int dir, const char *name, UINT32 mode)
{
    return (int)lx4(LX_NR_openat, dir, name, LX_O_CREAT | LX_O_EXCL | LX_O_RDWR | LX_O_CLOEXEC, mode);
}
static inline int lx_mkdirat(int dir, const char *name, UINT32 mode)
{
    return (int)lx3(LX_NR_mkdirat, dir, name, mode);
}
static inline int lx_fstatat(int dir, const char *name, struct lx_stat *st, int flags)
{
    return (int)lx4(LX_NR_newfstatat, dir, name, st, flags);
}
static inline int lx_unlinkat(int dir, const char *name, int flags)
{
    return (int)lx3(LX_NR_unlinkat, dir, name, flags);
}
static inline int lx_setxattr(const char *path, const char *name, const void *p, SIZE_T n)
{
    return (int)lx5(LX_NR_setxattr, path, name, p, n, 0);
}
static inline int lx_getxattr(const char *path, const char *name, void *p, SIZE_T n)
{
    return (int)lx4(LX_NR_getxattr, path, name, p, n);
}
static inline int lx_capget(void *head, void *sets) { return (int)lx2(LX_NR_capget, head, sets); }
static inline int lx_getpid(void) { return (int)lx0(LX_NR_getpid); }
static inline int lx_getuid(void) { return (int)lx0(LX_NR_getuid); }
static inline int lx_linkat(int od, const char *on, int nd, const char *nn)
{
    return (int)lx5(LX_NR_linkat, od, on, nd, nn, 0);
}
static inline int lx_symlinkat(const char *text, int dir, const char *name)
{
    return (int)lx3(LX_NR_symlinkat, text, dir, name);
}
static inline int lx_readlinkat(int dir, const char *name, char *p, SIZE_T n)
{
    return (int)lx4(LX_NR_readlinkat, dir, name, p, n);
}
static inline int lx_utimensat(int dir, const char *name, const struct lx_timespec *t, int flags)
{
    return (int)lx4(LX_NR_utimensat, dir, name, t, flags);
}
static inline int lx_renameat2(int od, const char *on, int nd, const char *nn, int flags)
{
    return (int)lx5(LX_NR_renameat2, od, on, nd, nn, flags);
}
static inline int lx_poll(void *fds, int n, int ms) { return (int)lx3(LX_NR_poll, fds, n, ms); }
static inline int lx_socket(int family, int type) { return (int)lx3(LX_NR_socket, family, type | LX_SOCK_CLOEXEC, 0); }
static inline int lx_connect(int fd, const void *a, int n) { return (int)lx3(LX_NR_connect, fd, a, n); }
static inline INT64 lx_send(int fd, const void *p, SIZE_T n)
{
    return lx_call6(LX_NR_sendto, fd, (INT64)p, (INT64)n, LX_MSG_NOSIGNAL, 0, 0);
}
static inline int lx_shutdown(int fd, int how) { return (int)lx2(LX_NR_shutdown, fd, how); }
static inline int lx_bind(int fd, const void *a, int n) { return (int)lx3(LX_NR_bind, fd, a, n); }
static inline int lx_listen(int fd, int backlog) { return (int)lx2(LX_NR_listen, fd, backlog); }
static inline int lx_getsockname(int fd, void *a, int *n) { return (int)lx3(LX_NR_getsockname, fd, a, n); }
static inline int lx_setsockopt(int fd, int level, int name, const void *p, int n)
{
    return (int)lx5(LX_NR_setsockopt, fd, level, name, p, n);
}
static inline int lx_accept(int fd, void *a, int *n)
{
    return (int)lx4(LX_NR_accept4, fd, a, n, LX_SOCK_CLOEXEC | LX_SOCK_NONBLOCK);
}
static inline int lx_set_flags(int fd, int flags) { return (int)lx3(LX_NR_fcntl, fd, LX_F_SETFL, flags); }
static inline int lx_epoll_create(void) { return (int)lx1(LX_NR_epoll_create, LX_O_CLOEXEC); }
static inline int lx_epoll_ctl(int ep, int op, int fd, void *event)
{
    return (int)lx4(LX_NR_epoll_ctl, ep, op, fd, event);
}
static inline int lx_epoll_wait(int ep, void *events, int n, int ms)
{
    return (int)lx4(LX_NR_epoll_wait, ep, events, n, ms);
}
static inline int lx_getpriority(int thread) { return 20 - (int)lx2(140, 0, thread); }
static inline int lx_setpriority(int thread, int nice) { return (int)lx3(LX_NR_setpriority, 0, thread, nice); }
static inline int lx_gettid(void) { return (int)lx0(LX_NR_gettid); }
static inline int lx_getrandom(void *p, SIZE_T n) { return (int)lx3(LX_NR_getrandom, p, n, 0); }
/* clang-format on */

/*
 * The NT status of a (negative or positive) Linux error number, as Wine 8.0 dlls/ntdll/unix/file.c errno_to_status maps
 * them.
 */
LONG lx_status(int error);

/* Writes the canonical path of an open descriptor (/proc/self/fd); returns its length or a negative error number. */
int lx_fd_path(int fd, char *path, SIZE_T size);

/* Writes "/proc/self/fd/<fd>" to path, which has room for 32 bytes; returns its length. */
int lx_proc_path(int fd, char *path);

#endif
