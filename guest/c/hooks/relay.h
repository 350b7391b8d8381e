/*
 * Carries bytes between Linux AF_UNIX sockets and the loopback TCP sockets that stand for them in Windows programs
 * (afunix.c).
 */
#ifndef MULLION_RELAY_H
#define MULLION_RELAY_H

#include <windows.h>

#define RELAY_PEERS 1024

/* A Linux AF_UNIX listener whose connections are carried to a TCP port of 127.0.0.1. */
struct relay_listener
{
    int fd;                    /* set by the caller: bound, listening, non-blocking */
    USHORT port;               /* set by the caller, in network order */
    USHORT peers[RELAY_PEERS]; /* source ports of connections that the relay has made and nobody has accepted yet */
    unsigned next_peer;
    struct relay_listener *next;
};

/*
 * Starts to carry a listener's connections; FALSE: no thread could be made. The listener must exist until
 * relay_unlisten returns.
 */
BOOL relay_listen(struct relay_listener *listener);
void relay_unlisten(struct relay_listener *listener); /* closes fd */

/* Whether the relay made the connection from this source port; TRUE only once for each connection. */
BOOL relay_is_peer(struct relay_listener *listener, USHORT port);

/*
 * Carries between two connected sockets until both directions have ended; takes both over. FALSE: closed, not carried.
 */
BOOL relay_join(int a, int b);

/* A socket connected to or bound to 127.0.0.1 (Linux sockaddr_in). */
struct lx_in
{
    USHORT family, port;
    UINT32 address;
    BYTE zero[8];
};

void relay_loopback(struct lx_in *address, USHORT port);

#endif
