/*
 * Sends and receives at once, by Linux: what Wine does for the same call when its server lets it
 * (dlls/ntdll/unix/socket.c of Wine 8.0, try_recv, try_send), without asking. A call that would have to wait is Wine's,
 * but where the socket is non-blocking, and the answer is that it would.
 */
#include <string.h>

#include "hooks.h"
#include "linux.h"
#include "stream.h"

#define MOST_BUFFERS 32
#define MOST_BYTES 0x40000000u
#define MARGIN 16384 /* what Linux keeps for itself beside the bytes to send */

enum
{
    LX_EFAULT = 14,
    LX_MSG_DONTWAIT = 0x40,
    LX_SO_MEMINFO = 55,
    MEMINFO_SNDBUF = 3, /* linux/sock_diag.h SK_MEMINFO_… */
    MEMINFO_WMEM_QUEUED = 5
};

/* afd_recvmsg_params and afd_sendmsg_params, include/wine/afd.h of Wine 8.0 and 10.0 */
struct receive
{
    UINT64 control, address, address_length, flags;
    int overlapped;
    UINT32 count;
    UINT64 buffers;
};

struct send
{
    UINT64 address;
    UINT32 address_length, flags;
    int overlapped;
    UINT32 count;
    UINT64 buffers;
};

struct buffer
{
    ULONG length;
    char *data;
};

struct lx_iovec
{
    void *data;
    SIZE_T length;
};

struct lx_msghdr
{
    void *name;
    UINT32 name_length;
    struct lx_iovec *parts;
    SIZE_T count;
    void *control;
    SIZE_T control_length;
    int flags;
};

/* The NT status of a Linux error on a socket, as Wine 8.0 dlls/ntdll/unix/socket.c sock_errno_to_status has it. */
static NTSTATUS socket_status(INT64 error)
{
    switch (-error)
    {
    case 12 /* ENOMEM */: return STATUS_NO_MEMORY;
    case 32 /* EPIPE */:
    case 104 /* ECONNRESET */: return STATUS_CONNECTION_RESET;
    case 103 /* ECONNABORTED */: return STATUS_CONNECTION_ABORTED;
    case 107 /* ENOTCONN */: return STATUS_INVALID_CONNECTION;
    case 110 /* ETIMEDOUT */: return STATUS_IO_TIMEOUT;
    case 101 /* ENETUNREACH */: return STATUS_NETWORK_UNREACHABLE;
    case 113 /* EHOSTUNREACH */: return STATUS_HOST_UNREACHABLE;
    case 100 /* ENETDOWN */: return STATUS_NETWORK_BUSY;
    case LX_ECONNREFUSED: return STATUS_CONNECTION_REFUSED;
    default: return STATUS_UNSUCCESSFUL;
    }
}

/* Lays out a call's buffers; returns their bytes, or -1 if they are more than are served here. */
static INT64 lay_out(UINT64 buffers, UINT32 count, struct lx_iovec *parts)
{
    const struct buffer *buffer = (const struct buffer *)(UINT_PTR)buffers;
    UINT64 total = 0;

    if (!count || count > MOST_BUFFERS || !buffer)
        return -1;
    for (UINT32 i = 0; i < count; i++)
    {
        parts[i].data = buffer[i].data;
        parts[i].length = buffer[i].length;
        total += buffer[i].length;
    }
    return total > MOST_BYTES ? -1 : (INT64)total;
}

static INT64 message(int number, int fd, struct lx_iovec *parts, UINT32 count, int flags)
{
    struct lx_msghdr header = {.parts = parts, .count = count};
    INT64 n;

    while ((n = lx3(number, fd, &header, flags)) == -LX_EINTR)
        ;
    return n;
}

/* Whether the program learns of a call that is done at once, without Wine. */
static BOOL can_tell(const struct stream *stream, const struct call *call, BOOL overlapped)
{
    if (call->apc || !call->io)
        return FALSE;
    if (!overlapped)
        return TRUE;
    if (!call->apc_context || ((UINT_PTR)call->event & 3))
        return FALSE; /* the low bit asks for no completion */
    return stream->flags & STREAM_PORT ? (stream->flags & STREAM_SKIP) != 0 : call->event != NULL;
}

static NTSTATUS succeed(const struct call *call, BOOL overlapped, ULONG_PTR bytes)
{
    call->io->Information = bytes;
    call->io->Status = STATUS_SUCCESS;
    if (overlapped && call->event)
        SetEvent(call->event);
    return STATUS_SUCCESS;
}

/* A call that fails for good: Linux has told the error for the only time, so the rest of this socket is Wine's. */
static NTSTATUS fail(struct stream *stream, INT64 error)
{
    InterlockedOr(&stream->flags, STREAM_LEFT_ALL);
    return socket_status(error);
}

static BOOL receive_now(struct stream *stream, const struct call *call, NTSTATUS *status)
{
    const struct receive *receive = call->in;
    struct lx_iovec parts[MOST_BUFFERS];
    INT64 total, n;
    int fd;

    if (call->in_size < sizeof(*receive) || receive->control || receive->address || !receive->flags ||
        *(const UINT32 *)(UINT_PTR)receive->flags)
        return FALSE;
    if (!can_tell(stream, call, receive->overlapped) ||
        (total = lay_out(receive->buffers, receive->count, parts)) < 0 || (fd = stream_fd(stream)) < 0)
        return FALSE;
    n = message(LX_NR_recvmsg, fd, parts, receive->count, LX_MSG_DONTWAIT);
    if (n >= 0)
        *status = succeed(call, receive->overlapped, (ULONG_PTR)n);
    else if (n == -LX_EAGAIN && !receive->overlapped && (stream->flags & STREAM_NONBLOCKING))
        *status = STATUS_DEVICE_NOT_READY;
    else if (n == -LX_EAGAIN ||
             n == -LX_EFAULT) /* Wine knows what is behind memory that cannot be written to: a watch of writes */
        return FALSE;
    else
        *status = fail(stream, n);
    return TRUE;
}

/* Whether Linux takes that many bytes at once: a part of an overlapped call must not be left over. */
static BOOL has_room(int fd, INT64 bytes)
{
    UINT32 memory[16] = {0};
    int size = sizeof(memory);

    if (lx5(LX_NR_getsockopt, fd, LX_SOL_SOCKET, LX_SO_MEMINFO, memory, &size) < 0 ||
        size < (int)((MEMINFO_WMEM_QUEUED + 1) * sizeof(UINT32)))
        return FALSE;
    return memory[MEMINFO_WMEM_QUEUED] + bytes + MARGIN <= memory[MEMINFO_SNDBUF];
}

/* Sends by Wine what Linux has not taken of a call that has to send all, and waits for it. */
static NTSTATUS send_rest(struct stream *stream, const struct call *call, INT64 sent)
{
    const struct send *all = call->in;
    struct buffer buffers[MOST_BUFFERS];
    struct send rest = *all;
    IO_STATUS_BLOCK io = {.Information = 0};
    struct call part = *call;
    UINT32 from = 0;
    NTSTATUS status;

    memcpy(buffers, (const void *)(UINT_PTR)all->buffers, all->count * sizeof(*buffers));
    for (; from < all->count && (UINT64)sent >= buffers[from].length; from++)
        sent -= buffers[from].length;
    buffers[from].data += sent;
    buffers[from].length -= (ULONG)sent;
    rest.buffers = (UINT64)(UINT_PTR)(buffers + from);
    rest.count = all->count - from;
    part.in = &rest;
    part.io = &io;
    part.apc_context = NULL; /* nothing is posted to a port */
    if (!(part.event = CreateEventW(NULL, TRUE, FALSE, NULL)))
        return STATUS_NO_MEMORY;
    InterlockedIncrement(&stream->counts->calls[WRITES]); /* what others send comes after it */
    io.Status = STATUS_PENDING;
    status = stream_pass(&part);
    if (status == STATUS_PENDING)
    {
        WaitForSingleObject(part.event, INFINITE);
        status = io.Status;
    }
    InterlockedDecrement(&stream->counts->calls[WRITES]);
    CloseHandle(part.event);
    return status;
}

static BOOL send_now(struct stream *stream, const struct call *call, NTSTATUS *status)
{
    const struct send *send = call->in;
    struct lx_iovec parts[MOST_BUFFERS];
    INT64 total, n;
    int fd;

    if (call->in_size < sizeof(*send) || send->address || send->flags || !can_tell(stream, call, send->overlapped))
        return FALSE;
    if ((total = lay_out(send->buffers, send->count, parts)) < 0 || (fd = stream_fd(stream)) < 0 ||
        (send->overlapped && !has_room(fd, total)))
        return FALSE;
    n = message(LX_NR_sendmsg, fd, parts, send->count, LX_MSG_DONTWAIT | LX_MSG_NOSIGNAL);
    if (n == total || (n >= 0 && !send->overlapped && (stream->flags & STREAM_NONBLOCKING)))
        *status = succeed(call, send->overlapped, (ULONG_PTR)n);
    else if (n >= 0)
        *status = (*status = send_rest(stream, call, n)) ? *status : succeed(call, send->overlapped, (ULONG_PTR)total);
    else if (n == -LX_EAGAIN && !send->overlapped && (stream->flags & STREAM_NONBLOCKING))
        *status = STATUS_DEVICE_NOT_READY;
    else if (n == -LX_EAGAIN || n == -LX_EFAULT)
        return FALSE;
    else
        *status = fail(stream, n);
    return TRUE;
}

BOOL transfer(struct stream *stream, enum direction direction, const struct call *call, NTSTATUS *status)
{
    return direction == READS ? receive_now(stream, call, status) : send_now(stream, call, status);
}
