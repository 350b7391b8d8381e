/*
 * AF_UNIX stream sockets.
 *
 * Fact (Wine 8.0): socket(AF_UNIX) fails with WSAEAFNOSUPPORT (10047), and kubelet.exe exits when it cannot listen on
 * C:\var\lib\kubelet\device-plugins\kubelet.sock.
 *
 * Wine's server owns the descriptors of sockets, so a Linux AF_UNIX socket cannot be handed to a Windows program. The
 * program gets a loopback TCP socket instead, and the relay carries its bytes to and from a real Linux AF_UNIX socket
 * at the path on disk. So the file is a real socket file, the permissions of the file system decide who may connect,
 * connections to a dead server are refused, and the other end may be a Linux program or a program in another network
 * namespace.
 *
 * The TCP port of a listener is open to every program of the same network namespace, so each accepted connection is
 * checked: its source port must be one that the relay has connected from. If a program accepts by AcceptEx, the check
 * is made when it sets SO_UPDATE_ACCEPT_CONTEXT.
 *
 * Not implemented: datagrams, passing of handles, SIO_AF_UNIX_GETPEERPID, sockets inherited by child processes.
 */
#include "winsock.h"

#include <mswsock.h>
#include <string.h>

#include "patch.h"
#include "drive.h"
#include "relay.h"
#include "stream.h"
#include "heap.h"
#include "table.h"

#define PATH_ROOM 108 /* sun_path in afunix.h and in Linux' sys/un.h */
#define LX_SO_SNDTIMEO 21
#define CONNECT_SECONDS 5

struct sockaddr_un
{
    USHORT family;
    char path[PATH_ROOM];
};

/* An AF_UNIX socket of the program. */
struct unix_socket
{
    struct object object;
    SRWLOCK lock;                          /* guards the names */
    char name[PATH_ROOM], peer[PATH_ROOM]; /* as the program wrote them; empty: unnamed */
    BOOL listening;
    struct relay_listener relay; /* fd is -1 while unbound */
};

/* A connection on its way from the program's TCP socket to a Linux AF_UNIX socket. */
struct bridge
{
    int unix_fd, tcp_listener;
    struct lx_in address;
};

static LPFN_CONNECTEX original_connect_ex;
static LPFN_GETACCEPTEXSOCKADDRS original_get_accept_ex_sockaddrs;

static int fail(int error)
{
    winsock.WSASetLastError(error);
    return SOCKET_ERROR;
}

static int wsa_error(int linux_error)
{
    switch (-linux_error)
    {
    case LX_EADDRINUSE: return WSAEADDRINUSE;
    case LX_EACCES:
    case LX_EPERM: return WSAEACCES;
    case LX_EMFILE: return WSAEMFILE;
    case LX_EAGAIN: return WSAETIMEDOUT;
    case LX_ECONNREFUSED:
    case LX_ENOENT: return WSAECONNREFUSED;
    case LX_ENAMETOOLONG: return WSAENAMETOOLONG;
    default: return WSAEINVAL;
    }
}

static void unix_destroy(struct object *object)
{
    struct unix_socket *u = (struct unix_socket *)object;

    relay_unlisten(&u->relay);
    heap_free(u);
}

static struct unix_socket *unix_get(SOCKET s)
{
    return table_get((HANDLE)s, OBJECT_SOCKET);
}

static void unix_release(struct unix_socket *u)
{
    table_object_release(&u->object);
}

static BOOL unix_put(SOCKET s, const char *name)
{
    struct unix_socket *u = heap_alloc(sizeof(*u));

    if (!u)
        return FALSE;
    u->object.type = OBJECT_SOCKET;
    u->object.references = 1;
    u->object.destroy = unix_destroy;
    u->relay.fd = -1;
    if (name)
        memcpy(u->name, name, PATH_ROOM);
    table_put((HANDLE)s, &u->object);
    return TRUE;
}

/* The path in an address, zero-terminated; FALSE: not an AF_UNIX address. */
static BOOL path_in(const struct sockaddr *address, int length, char *path)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)address;
    int room = length - (int)sizeof(USHORT);

    memset(path, 0, PATH_ROOM);
    if (!address || room < 0 || un->family != AF_UNIX)
        return FALSE;
    for (int i = 0; i < room && i < PATH_ROOM - 1 && un->path[i]; i++)
        path[i] = un->path[i];
    return TRUE;
}

/*
 * The Linux address of a program's path: below the folder's descriptor, because the whole path may be too long for
 * an address.
 */
static NTSTATUS linux_address(const char *path, struct sockaddr_un *address, struct place *place)
{
    char *linux_path = heap_alloc(LINUX_PATH_MAX);
    WCHAR wide[PATH_ROOM];
    NTSTATUS status, found;
    int at;

    place->dir = -1;
    if (!linux_path)
        return STATUS_NO_MEMORY;
    wide[path_utf16_of(path, (ULONG)strlen(path), wide, PATH_ROOM - 1)] = 0;
    if (!(found = drive_holds_dos(wide, TRUE)))
        found = path_of_dos(wide, linux_path, LINUX_PATH_MAX);
    status = !found || found == STATUS_NO_SUCH_FILE ? path_place_open(linux_path, place) : found;
    heap_free(linux_path);
    if (status)
        return status;
    memset(address, 0, sizeof(*address));
    address->family = LX_AF_UNIX;
    at = lx_proc_path(place->dir, address->path);
    if (at + 1 + strlen(place->name) >= PATH_ROOM)
        status = STATUS_NAME_TOO_LONG;
    else
    {
        address->path[at] = '/';
        memcpy(address->path + at + 1, place->name, strlen(place->name));
        status = found;
    }
    return status;
}

static SOCKET WINAPI hook_WSASocketW(int family, int type, int protocol, WSAPROTOCOL_INFOW *info, GROUP group,
                                     DWORD flags)
{
    SOCKET s = winsock.WSASocketW(family, type, protocol, info, group, flags);

    if (s != INVALID_SOCKET || family != AF_UNIX || type != SOCK_STREAM || winsock.WSAGetLastError() != WSAEAFNOSUPPORT)
        return s;
    s = winsock.WSASocketW(AF_INET, SOCK_STREAM, IPPROTO_TCP, NULL, group, flags);
    if (s != INVALID_SOCKET && !unix_put(s, NULL))
    {
        winsock.closesocket(s);
        s = (SOCKET)fail(WSAENOBUFS);
    }
    return s;
}

static SOCKET WINAPI hook_WSASocketA(int family, int type, int protocol, WSAPROTOCOL_INFOA *info, GROUP group,
                                     DWORD flags)
{
    return family == AF_UNIX ? hook_WSASocketW(family, type, protocol, NULL, group, flags)
                             : winsock.WSASocketA(family, type, protocol, info, group, flags);
}

static SOCKET WINAPI hook_socket(int family, int type, int protocol)
{
    return family == AF_UNIX ? hook_WSASocketW(family, type, protocol, NULL, 0, WSA_FLAG_OVERLAPPED)
                             : winsock.socket(family, type, protocol);
}

static int bind_unix(SOCKET s, struct unix_socket *u, const char *path)
{
    int fd, result, size = sizeof(struct lx_in);
    struct sockaddr_un address;
    struct lx_in tcp;
    struct place place;
    NTSTATUS status;

    if (u->relay.fd >= 0)
        return fail(WSAEINVAL);
    relay_loopback(&tcp, 0);
    if ((result = winsock.bind(s, (struct sockaddr *)&tcp, sizeof(tcp))) || !path[0])
        return result; /* without a name, as ConnectEx needs it */
    if ((result = winsock.getsockname(s, (struct sockaddr *)&tcp, &size)))
        return result;
    if (!(status = linux_address(path, &address, &place)))
        result = -LX_EADDRINUSE;
    else if (status != STATUS_NO_SUCH_FILE)
        result = status == STATUS_NAME_TOO_LONG ? -LX_ENAMETOOLONG : -LX_EINVAL;
    else if ((fd = lx_socket(LX_AF_UNIX, LX_SOCK_STREAM | LX_SOCK_NONBLOCK)) < 0)
        result = fd;
    else if ((result = lx_bind(fd, &address, sizeof(address))))
        lx_close(fd);
    else
    {
        AcquireSRWLockExclusive(&u->lock);
        memcpy(u->name, path, PATH_ROOM);
        u->relay.port = tcp.port;
        u->relay.fd = fd;
        ReleaseSRWLockExclusive(&u->lock);
    }
    path_place_close(&place);
    return result ? fail(wsa_error(result)) : 0;
}

static int WINAPI hook_bind(SOCKET s, const struct sockaddr *address, int length)
{
    struct unix_socket *u = unix_get(s);
    char path[PATH_ROOM];
    int result;

    if (!u)
        return winsock.bind(s, address, length);
    result = path_in(address, length, path) ? bind_unix(s, u, path) : fail(WSAEAFNOSUPPORT);
    unix_release(u);
    return result;
}

static int WINAPI hook_listen(SOCKET s, int backlog)
{
    struct unix_socket *u = unix_get(s);
    int result = u && u->relay.fd < 0 ? fail(WSAEINVAL) : winsock.listen(s, backlog);

    if (u && !result && !u->listening)
    {
        if ((result = lx_listen(u->relay.fd, backlog > 0 && backlog < 4096 ? backlog : 4096)))
            result = fail(wsa_error(result));
        else if (relay_listen(&u->relay))
            u->listening = TRUE;
        else
            result = fail(WSAENOBUFS);
    }
    if (u)
        unix_release(u);
    return result;
}

static void bridge_close(struct bridge *bridge)
{
    if (bridge->unix_fd >= 0)
        lx_close(bridge->unix_fd);
    if (bridge->tcp_listener >= 0)
        lx_close(bridge->tcp_listener);
    bridge->unix_fd = bridge->tcp_listener = -1;
}

/* Connects to the Linux socket at path and opens the port for the program's end. Returns a WSA error. */
static int bridge_open(const char *path, struct bridge *bridge)
{
    const INT64 timeout[2] = {CONNECT_SECONDS, 0};
    int size = sizeof(bridge->address), result;
    struct sockaddr_un address;
    struct place place;
    NTSTATUS status = linux_address(path, &address, &place);

    bridge->tcp_listener = -1;
    bridge->unix_fd = status ? -LX_ENOENT : lx_socket(LX_AF_UNIX, LX_SOCK_STREAM);
    if ((result = bridge->unix_fd) >= 0)
    {
        lx_setsockopt(bridge->unix_fd, LX_SOL_SOCKET, LX_SO_SNDTIMEO, timeout,
                      sizeof(timeout)); /* for a full backlog */
        while ((result = lx_connect(bridge->unix_fd, &address, sizeof(address))) == -LX_EINTR)
            ;
    }
    path_place_close(&place);
    if (result >= 0 && (result = bridge->tcp_listener = lx_socket(LX_AF_INET, LX_SOCK_STREAM | LX_SOCK_NONBLOCK)) >= 0)
    {
        relay_loopback(&bridge->address, 0);
        if (!(result = lx_bind(bridge->tcp_listener, &bridge->address, size)) &&
            !(result = lx_listen(bridge->tcp_listener, 4)))
            result = lx_getsockname(bridge->tcp_listener, &bridge->address, &size);
    }
    if (result < 0)
        bridge_close(bridge);
    return result < 0 ? wsa_error(result) : 0;
}

/*
 * Accepts the program's connection, and no other's, and gives it to the relay. The kernel completes a loopback
 * connection within connect().
 */
static BOOL bridge_join(SOCKET s, struct bridge *bridge)
{
    static const int yes = 1;
    struct
    {
        int fd;
        short events, revents;
    } poll = {bridge->tcp_listener, 1 /* POLLIN */, 0};
    struct lx_in own, peer;
    int fd = -1, size;

    for (int tries = 0; tries < 16 && fd < 0; tries++)
    {
        if (lx_poll(&poll, 1, 1000) <= 0)
            continue;
        size = sizeof(peer);
        fd = lx_accept(bridge->tcp_listener, &peer, &size);
        size = sizeof(own);
        if (fd >= 0 && (winsock.getsockname(s, (struct sockaddr *)&own, &size) || own.port != peer.port))
        {
            lx_close(fd);
            fd = -1;
        }
    }
    if (fd >= 0)
    {
        winsock.setsockopt(s, IPPROTO_TCP, TCP_NODELAY, (const char *)&yes, sizeof(yes));
        relay_join(bridge->unix_fd, fd);
        bridge->unix_fd = -1;
    }
    bridge_close(bridge);
    return fd >= 0;
}

/* The arguments of ConnectEx beside the address. */
struct connect_ex
{
    void *data;
    DWORD size, *sent;
    OVERLAPPED *overlapped;
};

/*
 * Connects the program's socket, by connect or, with ex, by ConnectEx, to the Linux socket that the address names.
 * Returns the program's error. If the relay does not take a connection whose ConnectEx is under way, ConnectEx is not
 * failed: the program sees the end of the connection when it uses it.
 */
static int connect_through(SOCKET s, struct unix_socket *u, const struct sockaddr *address, int length,
                           const struct connect_ex *ex)
{
    const struct sockaddr *to;
    char path[PATH_ROOM];
    struct bridge bridge;
    BOOL done;
    int error;

    if (!path_in(address, length, path) || !path[0])
        return WSAEINVAL;
    if ((error = bridge_open(path, &bridge)))
        return error;
    to = (const struct sockaddr *)&bridge.address;
    if (ex)
        done = original_connect_ex(s, to, sizeof(bridge.address), ex->data, ex->size, ex->sent, ex->overlapped);
    else
        done = !winsock.connect(s, to, sizeof(bridge.address));
    error = done ? 0 : winsock.WSAGetLastError();
    if (error && error != (ex ? WSA_IO_PENDING : WSAEWOULDBLOCK))
    {
        bridge_close(&bridge);
        return error;
    }
    if (!bridge_join(s, &bridge))
        return ex ? error : WSAECONNREFUSED;
    AcquireSRWLockExclusive(&u->lock);
    memcpy(u->peer, path, PATH_ROOM);
    ReleaseSRWLockExclusive(&u->lock);
    return error;
}

static int WINAPI hook_connect(SOCKET s, const struct sockaddr *address, int length)
{
    struct unix_socket *u = unix_get(s);
    int error;

    if (!u)
        return winsock.connect(s, address, length);
    error = connect_through(s, u, address, length, NULL);
    unix_release(u);
    winsock.WSASetLastError(error);
    return error ? SOCKET_ERROR : 0;
}

static BOOL WINAPI hook_connect_ex(SOCKET s, const struct sockaddr *address, int length, void *data, DWORD size,
                                   DWORD *sent, OVERLAPPED *overlapped)
{
    const struct connect_ex ex = {data, size, sent, overlapped};
    struct unix_socket *u = unix_get(s);
    int error;

    if (!u)
        return original_connect_ex(s, address, length, data, size, sent, overlapped);
    error = connect_through(s, u, address, length, &ex);
    unix_release(u);
    winsock.WSASetLastError(error);
    return !error;
}

/* Whether the relay made the connection that s has accepted from listener. */
static BOOL accepted_from_relay(SOCKET s, struct unix_socket *listener)
{
    static const int yes = 1;
    int size = sizeof(struct lx_in);
    struct lx_in peer;

    if (winsock.getpeername(s, (struct sockaddr *)&peer, &size) || peer.address != 0x0100007f ||
        !relay_is_peer(&listener->relay, peer.port))
        return FALSE;
    winsock.setsockopt(s, IPPROTO_TCP, TCP_NODELAY, (const char *)&yes, sizeof(yes));
    return TRUE;
}

/* Writes an AF_UNIX address to a program's buffer; fails if the buffer is too small for the address. */
static int put_address(const char *path, struct sockaddr *address, int *length)
{
    struct sockaddr_un un = {AF_UNIX, {0}};
    int size = (int)sizeof(USHORT) + (path[0] ? (int)strlen(path) + 1 : 0);

    if (!address || !length || *length < size)
        return fail(WSAEFAULT);
    memcpy(un.path, path, strlen(path));
    memcpy(address, &un, (SIZE_T)(*length < (int)sizeof(un) ? *length : (int)sizeof(un)));
    *length = size;
    return 0;
}

static SOCKET WINAPI hook_accept(SOCKET s, struct sockaddr *address, int *length)
{
    struct unix_socket *u = unix_get(s);
    SOCKET accepted;

    if (!u)
    {
        accepted = winsock.accept(s, address, length);
        if (accepted != INVALID_SOCKET)
            stream_accepted((HANDLE)s, (HANDLE)accepted);
        return accepted;
    }
    while ((accepted = winsock.accept(s, NULL, NULL)) != INVALID_SOCKET && !accepted_from_relay(accepted, u))
        winsock.closesocket(accepted);
    if (accepted != INVALID_SOCKET && !unix_put(accepted, u->name))
    {
        winsock.closesocket(accepted);
        accepted = (SOCKET)fail(WSAENOBUFS);
    }
    else if (accepted != INVALID_SOCKET && address && put_address("", address, length))
    {
        winsock.closesocket(accepted);
        accepted = (SOCKET)fail(WSAEFAULT);
    }
    unix_release(u);
    return accepted;
}

static int WINAPI hook_setsockopt(SOCKET s, int level, int option, const char *value, int length)
{
    struct unix_socket *listener, *u;
    int result = winsock.setsockopt(s, level, option, value, length);
    SOCKET from;

    if (result)
        return keepalive_set(s, level, option, value, length);
    if (level != SOL_SOCKET || option != SO_UPDATE_ACCEPT_CONTEXT || length < (int)sizeof(from))
        return result;
    memcpy(&from, value, sizeof(from));
    if (!(listener = unix_get(from)))
        return result;
    if (!accepted_from_relay(s, listener))
        result = fail(WSAECONNRESET);
    else if ((u = unix_get(s)))
    {
        memcpy(u->name, listener->name, PATH_ROOM);
        unix_release(u);
    }
    unix_release(listener);
    return result;
}

static int name_of(SOCKET s, struct sockaddr *address, int *length, BOOL peer,
                   int(WINAPI *ask)(SOCKET, struct sockaddr *, int *))
{
    struct unix_socket *u = unix_get(s);
    int size = sizeof(struct lx_in), result;
    char name[PATH_ROOM];
    struct lx_in tcp;

    if (!u)
        return ask(s, address, length);
    if (!(result = ask(s, (struct sockaddr *)&tcp, &size))) /* bound, or connected, at all */
    {
        AcquireSRWLockShared(&u->lock);
        memcpy(name, peer ? u->peer : u->name, PATH_ROOM);
        ReleaseSRWLockShared(&u->lock);
        result = put_address(name, address, length);
    }
    unix_release(u);
    return result;
}

static int WINAPI hook_getsockname(SOCKET s, struct sockaddr *address, int *length)
{
    return name_of(s, address, length, FALSE, winsock.getsockname);
}

static int WINAPI hook_getpeername(SOCKET s, struct sockaddr *address, int *length)
{
    return name_of(s, address, length, TRUE, winsock.getpeername);
}

static BOOL listens_on(struct object *object, const void *port)
{
    struct unix_socket *u = (struct unix_socket *)object;

    return u->listening && u->relay.port == *(const USHORT *)port;
}

/* The addresses that AcceptEx wrote to a buffer, each after its length, an int (Wine 8.0 dlls/ws2_32/socket.c). */
static void WINAPI hook_get_accept_ex_sockaddrs(void *buffer, DWORD data, DWORD local_room, DWORD remote_room,
                                                struct sockaddr **local, int *local_length, struct sockaddr **remote,
                                                int *remote_length)
{
    struct unix_socket *u;
    struct lx_in *in;

    original_get_accept_ex_sockaddrs(buffer, data, local_room, remote_room, local, local_length, remote, remote_length);
    in = (struct lx_in *)*local;
    if (in->family != AF_INET || in->address != 0x0100007f ||
        !(u = (struct unix_socket *)table_find(OBJECT_SOCKET, listens_on, &in->port)))
        return;
    *local_length = (int)(local_room - sizeof(int));
    *remote_length = (int)(remote_room - sizeof(int));
    put_address(u->name, *local, local_length);
    put_address("", *remote, remote_length);
    unix_release(u);
}

void afunix_extension(const void *guid, DWORD size, void **function)
{
    static const GUID connect_ex = WSAID_CONNECTEX, sockaddrs = WSAID_GETACCEPTEXSOCKADDRS;

    if (size < sizeof(GUID) || !winsock.WSASocketW)
        return;
    if (!memcmp(guid, &connect_ex, sizeof(GUID)))
    {
        original_connect_ex = (LPFN_CONNECTEX)*function;
        *function = hook_connect_ex;
    }
    else if (!memcmp(guid, &sockaddrs, sizeof(GUID)))
    {
        original_get_accept_ex_sockaddrs = (LPFN_GETACCEPTEXSOCKADDRS)*function;
        *function = hook_get_accept_ex_sockaddrs;
    }
}

void afunix_start(HMODULE ws2_32)
{
    /* the function that makes such sockets comes last, when all others are patched */
    if (patch_function(ws2_32, "bind", hook_bind, (void **)&winsock.bind) &&
        patch_function(ws2_32, "listen", hook_listen, (void **)&winsock.listen) &&
        patch_function(ws2_32, "connect", hook_connect, (void **)&winsock.connect) &&
        patch_function(ws2_32, "accept", hook_accept, (void **)&winsock.accept) &&
        patch_function(ws2_32, "getsockname", hook_getsockname, (void **)&winsock.getsockname) &&
        patch_function(ws2_32, "getpeername", hook_getpeername, (void **)&winsock.getpeername) &&
        patch_function(ws2_32, "setsockopt", hook_setsockopt, (void **)&winsock.setsockopt))
    {
        patch_function(ws2_32, "WSASocketA", hook_WSASocketA, (void **)&winsock.WSASocketA);
        patch_function(ws2_32, "socket", hook_socket, (void **)&winsock.socket);
        patch_function(ws2_32, "WSASocketW", hook_WSASocketW, (void **)&winsock.WSASocketW);
    }
}
