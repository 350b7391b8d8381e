/* Connected TCP sockets whose bytes Linux carries at once, without Wine's server (stream.c, transfer.c). */
#ifndef MULLION_STREAM_H
#define MULLION_STREAM_H

#include "nt.h"
#include "table.h"

enum direction
{
    READS,
    WRITES
};

/* Flags of a stream; they are only ever added, but STREAM_NONBLOCKING. */
enum
{
    STREAM_NONBLOCKING = 1, /* FIONBIO */
    STREAM_PORT = 2,        /* it has a completion port */
    STREAM_SKIP = 4,        /* to which nothing is posted when a call succeeds at once */
    STREAM_LEFT = 8         /* << direction: all of it is left to Wine from now on */
};
#define STREAM_LEFT_ALL (STREAM_LEFT << READS | STREAM_LEFT << WRITES)

/*
 * How many overlapped calls Wine has in hand, for each direction. It outlives the socket if a program never asks for a
 * result.
 */
struct counts
{
    volatile LONG references, calls[2];
};

/* A TCP socket that this process has made. */
struct stream
{
    struct object object;
    struct counts *counts;
    volatile LONG fd; /* of Linux; negative until it is needed and the socket is connected */
    volatile LONG flags;
    volatile LONG waiting[2]; /* the thread whose blocking call Wine has in hand; 0: none */
};

/* The arguments of NtDeviceIoControlFile for sending or receiving. */
struct call
{
    HANDLE handle, event;
    void *apc, *apc_context;
    IO_STATUS_BLOCK *io;
    ULONG code;
    void *in;
    ULONG in_size;
    void *out;
    ULONG out_size;
};

/* The originals of what is patched. */
extern NTSTATUS(WINAPI *stream_control)(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, ULONG, void *, ULONG, void *,
                                        ULONG);
NTSTATUS stream_pass(const struct call *call);

void stream_start(void);

/* A socket that accept has made. */
void stream_accepted(HANDLE listener, HANDLE accepted);

/* Others carry this socket's bytes too: all is left to Wine from now on. */
void stream_leave(HANDLE handle);

/* What NtSetInformationFile has set. */
void stream_information(HANDLE handle, const void *buffer, ULONG length, ULONG class);

/* The socket's descriptor; negative: it is not connected. */
int stream_fd(struct stream *stream);

/* pending.c: notes an overlapped call that Wine is about to get, and the end of it. FALSE: it could not be noted. */
BOOL pending_add(struct stream *stream, enum direction direction, void *io);
void pending_done(void *io);
void pending_counts_release(struct counts *counts);

/* transfer.c: does what a call asks for; FALSE: it is Wine's to do. */
BOOL transfer(struct stream *stream, enum direction direction, const struct call *call, NTSTATUS *status);

#endif
