/*
 * TCP_KEEPIDLE (TCP_KEEPALIVE), TCP_KEEPINTVL and TCP_KEEPCNT: setsockopt, getsockopt.
 *
 * Fact: Wine 8.0 refuses them with WSAENOPROTOOPT (10042). libuv sets them for every socket that is to be kept alive
 * (v1.44 to v1.51, src/win/tcp.c, uv__tcp_keepalive), so fetch of Node.js does not connect. Linux has the same options
 * by other numbers, in seconds too.
 */
#include "winsock.h"

#include "linux.h"
#include "patch.h"
#include "path.h"

enum
{
    WINDOWS_KEEPIDLE = 3, /* ws2ipdef.h TCP_KEEPIDLE, which is TCP_KEEPALIVE */
    WINDOWS_KEEPCNT = 16,
    WINDOWS_KEEPINTVL = 17,
    LINUX_SOL_TCP = 6, /* linux/tcp.h */
    LINUX_KEEPIDLE = 4,
    LINUX_KEEPINTVL = 5,
    LINUX_KEEPCNT = 6
};

static int(WINAPI *original_get)(SOCKET, int, int, char *, int *);

static int linux_option(int level, int option)
{
    if (level != IPPROTO_TCP)
        return 0;
    switch (option)
    {
    case WINDOWS_KEEPIDLE: return LINUX_KEEPIDLE;
    case WINDOWS_KEEPINTVL: return LINUX_KEEPINTVL;
    case WINDOWS_KEEPCNT: return LINUX_KEEPCNT;
    default: return 0;
    }
}

/* The descriptor of a socket whose option Wine has just refused; negative: Wine's answer stands. */
static int refused_fd(SOCKET s, int level, int option)
{
    return linux_option(level, option) && winsock.WSAGetLastError() == WSAENOPROTOOPT ? path_fd_of((HANDLE)s) : -1;
}

static int answer(int status)
{
    winsock.WSASetLastError(status < 0 ? WSAEINVAL : 0);
    return status < 0 ? SOCKET_ERROR : 0;
}

int keepalive_set(SOCKET s, int level, int option, const char *value, int length)
{
    int fd, status = -LX_EINVAL;

    if ((fd = refused_fd(s, level, option)) < 0)
        return SOCKET_ERROR;
    if (value && length >= (int)sizeof(int))
        status = lx_setsockopt(fd, LINUX_SOL_TCP, linux_option(level, option), value, sizeof(int));
    lx_close(fd);
    return answer(status);
}

static int WINAPI hook_setsockopt(SOCKET s, int level, int option, const char *value, int length)
{
    int result = winsock.setsockopt(s, level, option, value, length);

    return result ? keepalive_set(s, level, option, value, length) : result;
}

static int WINAPI hook_getsockopt(SOCKET s, int level, int option, char *value, int *length)
{
    int result = original_get(s, level, option, value, length);
    int fd, status = -LX_EINVAL;

    if (!result || (fd = refused_fd(s, level, option)) < 0)
        return result;
    if (value && length && *length >= (int)sizeof(int))
    {
        *length = sizeof(int);
        status = (int)lx5(LX_NR_getsockopt, fd, LINUX_SOL_TCP, linux_option(level, option), value, length);
    }
    lx_close(fd);
    return answer(status);
}

void keepalive_start(HMODULE ws2_32)
{
    if (patch_function(ws2_32, "getsockopt", hook_getsockopt, (void **)&original_get))
        patch_function(ws2_32, "setsockopt", hook_setsockopt,
                       (void **)&winsock.setsockopt); /* or afunix.c has it, which asks keepalive_set */
}
