/* The ports that prefixes need, each with one socket for IPv4 and IPv6. */
#include "core.h"

#include <string.h>

static struct link listeners;

static void accept_next(struct listener *listener);

static SOCKET bound(int family, uint16_t port)
{
    SOCKADDR_IN6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    SOCKADDR_IN four = {.sin_family = AF_INET, .sin_port = htons(port)};
    SOCKET s = WSASocketW(family, SOCK_STREAM, IPPROTO_TCP, NULL, 0, WSA_FLAG_OVERLAPPED);
    DWORD off = 0;
    int error;

    if (s == INVALID_SOCKET)
        return s;
    if (family == AF_INET6)
        setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, (const char *)&off, sizeof(off));
    if (!bind(s, family == AF_INET6 ? (SOCKADDR *)&six : (SOCKADDR *)&four,
              family == AF_INET6 ? sizeof(six) : sizeof(four)) &&
        !listen(s, SOMAXCONN) && http_net_add(s))
        return s;
    error = WSAGetLastError();
    closesocket(s);
    WSASetLastError(error);
    return INVALID_SOCKET;
}

static int why(int error)
{
    switch (error)
    {
    case WSAEADDRINUSE: return SHARED;
    case WSAEACCES: return NO_ACCESS;
    default: return NO_MEMORY;
    }
}

static void accepted(struct io *io, DWORD bytes, bool failed)
{
    struct listener *listener = CONTAINING_RECORD(io, struct listener, io);
    SOCKADDR *local, *remote;
    int local_length, remote_length;

    (void)bytes;
    http_lock();
    if (listener->prefixes && !failed)
    {
        setsockopt(listener->accepted, SOL_SOCKET, SO_UPDATE_ACCEPT_CONTEXT, (char *)&listener->socket,
                   sizeof(listener->socket));
        GetAcceptExSockaddrs(listener->addresses, 0, sizeof(listener->addresses) / 2, sizeof(listener->addresses) / 2,
                             &local, &local_length, &remote, &remote_length);
        http_serve(listener->accepted, listener->port, local, remote);
    }
    else if (listener->accepted != INVALID_SOCKET)
        closesocket(listener->accepted);
    listener->accepted = INVALID_SOCKET;
    if (listener->prefixes)
        accept_next(listener);
    else
        http_memory_free(listener);
    http_unlock();
}

static void accept_next(struct listener *listener)
{
    DWORD bytes;

    memset(&listener->io.overlapped, 0, sizeof(listener->io.overlapped));
    listener->accepted = WSASocketW(listener->family, SOCK_STREAM, IPPROTO_TCP, NULL, 0, WSA_FLAG_OVERLAPPED);
    if (listener->accepted != INVALID_SOCKET)
    {
        if (AcceptEx(listener->socket, listener->accepted, listener->addresses, 0, sizeof(listener->addresses) / 2,
                     sizeof(listener->addresses) / 2, &bytes, &listener->io.overlapped) ||
            WSAGetLastError() == ERROR_IO_PENDING)
            return;
        closesocket(listener->accepted);
        listener->accepted = INVALID_SOCKET;
    }
    listener->io.done = NULL; /* there is nothing to accept with now; http_listen_retry comes later */
}

void http_listen_retry(void)
{
    for (struct link *at = listeners.next; at && at != &listeners; at = at->next)
    {
        struct listener *listener = CONTAINING_RECORD(at, struct listener, all);

        if (listener->io.done)
            continue;
        listener->io.done = accepted;
        accept_next(listener);
    }
}

int http_listen_on(uint16_t port, struct listener **result)
{
    struct listener *listener;

    if (!listeners.next)
        http_link_init(&listeners);
    for (struct link *at = listeners.next; at != &listeners; at = at->next)
    {
        listener = CONTAINING_RECORD(at, struct listener, all);
        if (listener->port != port)
            continue;
        listener->prefixes++;
        *result = listener;
        return DONE;
    }
    listener = http_memory_new(sizeof(*listener));
    if (!listener)
        return NO_MEMORY;
    listener->port = port;
    listener->prefixes = 1;
    listener->family = AF_INET6;
    listener->socket = bound(AF_INET6, port);
    if (listener->socket == INVALID_SOCKET && why(WSAGetLastError()) == NO_MEMORY)
    {
        listener->family = AF_INET; /* a machine without IPv6 */
        listener->socket = bound(AF_INET, port);
    }
    if (listener->socket == INVALID_SOCKET)
    {
        int status = why(WSAGetLastError());

        http_memory_free(listener);
        return status;
    }
    http_link_add(&listeners, &listener->all);
    listener->io.done = accepted;
    accept_next(listener);
    *result = listener;
    return DONE;
}

void http_listen_release(struct listener *listener)
{
    uint16_t port = listener->port;
    bool waits = listener->io.done != NULL;

    if (--listener->prefixes)
        return;
    http_link_remove(&listener->all);
    closesocket(listener->socket);
    if (!waits)
        http_memory_free(listener);
    http_connection_close_port(port);
}
