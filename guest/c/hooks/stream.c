/*
 * TCP sockets of this process: which of them Linux may serve at once, and the calls of Winsock to do so.
 *
 * Facts (Wine 8.0 and 10.0, dlls/ws2_32/socket.c, dlls/ntdll/unix/socket.c, server/sock.c): every call of Winsock is a
 * request to a socket's handle, NtDeviceIoControlFile with a code of Wine's own. To send or to receive costs two
 * requests to Wine's server, which is one thread for all processes: the first asks whether it may be done at once, the
 * process does it, the second says so. What the server learns by that matters only
 *  - to who asked for events (WSAEventSelect, WSAAsyncSelect): FD_READ is told again after a call that receives. Calls
 * of select, and AFD's own polls, ask Linux anew each time;
 *  - for the order of calls, while one is under way in the same direction (pending.c);
 *  - after shutdown: the server refuses by a flag of its own;
 *  - for the completion port, an APC, an event and the handle itself, which tell that a call is done.
 *
 * So sockets are served here (transfer.c) that this process has made by WSASocket or accept, and has not shared; for
 * which no events are asked; for a direction that is not shut down, and with nothing under way in it. The rest, and
 * whatever has to wait, goes to Wine unchanged.
 */
#include "disk.h"
#include "heap.h"
#include "reading.h"
#include "stream.h"

#include "hooks.h"
#include "linux.h"
#include "path.h"

#define AFD_CODE(n) (0x10000u | (n) << 2 | 3u) /* CTL_CODE(FILE_DEVICE_BEEP, n, METHOD_NEITHER, FILE_ANY_ACCESS) */
#define WINE_CODE(n) (0x120000u | (n) << 2)    /* CTL_CODE(FILE_DEVICE_NETWORK, n, METHOD_BUFFERED, FILE_ANY_ACCESS) */

/* Wine 8.0 and 10.0, include/wine/afd.h */
enum
{
    CODE_AFD_RECEIVE = AFD_CODE(0x805),
    CODE_EVENT_SELECT = AFD_CODE(0x821),
    CODE_CREATE = WINE_CODE(200),
    CODE_SHUTDOWN = WINE_CODE(204),
    CODE_RECEIVE = WINE_CODE(205),
    CODE_SEND = WINE_CODE(206),
    CODE_TRANSMIT = WINE_CODE(207),
    CODE_NONBLOCKING = WINE_CODE(209),
    CODE_MESSAGE_SELECT = WINE_CODE(215)
};

enum
{
    CLASS_PORT = 30, /* FileCompletionInformation */
    CLASS_MODES = 41 /* FileIoCompletionNotificationInformation */
};

struct create
{
    int family, type, protocol;
    unsigned flags;
};

/* NtRemoveIoCompletionEx, FILE_IO_COMPLETION_INFORMATION */
struct completion
{
    ULONG_PTR key, value;
    IO_STATUS_BLOCK io;
};

static NTSTATUS(WINAPI *original_remove)(HANDLE, ULONG_PTR *, ULONG_PTR *, IO_STATUS_BLOCK *, LARGE_INTEGER *);
static NTSTATUS(WINAPI *original_remove_ex)(HANDLE, struct completion *, ULONG, ULONG *, LARGE_INTEGER *, BOOLEAN);
static NTSTATUS(WINAPI *original_write)(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, const void *, ULONG,
                                        LARGE_INTEGER *, ULONG *);

static void stream_destroy(struct object *object)
{
    struct stream *stream = (struct stream *)object;

    if (stream->fd >= 0)
        lx_close(stream->fd);
    pending_counts_release(stream->counts);
    heap_free(stream);
}

static struct stream *stream_get(HANDLE handle)
{
    return table_get(handle, OBJECT_STREAM);
}

static void stream_put(HANDLE handle, LONG flags)
{
    struct stream *stream = heap_alloc(sizeof(*stream));
    struct counts *counts = heap_alloc(sizeof(*counts));

    if (!stream || !counts)
    {
        heap_free(stream);
        heap_free(counts);
        return; /* Wine has all of it */
    }
    counts->references = 1;
    stream->object.type = OBJECT_STREAM;
    stream->object.references = 1;
    stream->object.destroy = stream_destroy;
    stream->counts = counts;
    stream->fd = -1;
    stream->flags = flags;
    table_put(handle, &stream->object);
}

/* Adds flags to those of a handle's stream, if it has one. */
static void add_flags(HANDLE handle, LONG flags)
{
    struct stream *stream = stream_get(handle);

    if (!stream)
        return;
    InterlockedOr(&stream->flags, flags);
    table_object_release(&stream->object);
}

void stream_leave(HANDLE handle)
{
    add_flags(handle, STREAM_LEFT_ALL);
}

void stream_accepted(HANDLE listener, HANDLE accepted)
{
    struct stream *stream = stream_get(listener);

    if (!stream)
        return;
    if (!(stream->flags & STREAM_LEFT_ALL)) /* a listener's events are those of what it accepts too */
        stream_put(accepted, stream->flags & STREAM_NONBLOCKING);
    table_object_release(&stream->object);
}

void stream_information(HANDLE handle, const void *buffer, ULONG length, ULONG class)
{
    if (class == CLASS_PORT)
        add_flags(handle, STREAM_PORT);
    else if (class == CLASS_MODES && length >= sizeof(ULONG) &&
             (*(const ULONG *)buffer & FILE_SKIP_COMPLETION_PORT_ON_SUCCESS))
        add_flags(handle, STREAM_SKIP);
}

/* Whether nothing is under way in a direction, so that a call may be served here. */
static BOOL is_free(struct stream *stream, enum direction direction)
{
    return !(stream->flags & STREAM_LEFT << direction) && !stream->counts->calls[direction] &&
           !stream->waiting[direction];
}

static NTSTATUS carry(struct stream *stream, enum direction direction, const struct call *call, BOOL overlapped)
{
    LONG self = (LONG)GetCurrentThreadId();
    NTSTATUS status;

    InterlockedCompareExchange(&stream->waiting[direction], 0, self); /* this thread's last call has ended */
    if (is_free(stream, direction) && transfer(stream, direction, call, &status))
        return status;
    if (overlapped && !(stream->flags & STREAM_LEFT << direction) && !pending_add(stream, direction, call->io))
        InterlockedOr(&stream->flags, STREAM_LEFT << direction);
    status = stream_pass(call);
    if (overlapped && status != STATUS_PENDING)
        pending_done(call->io);
    /* The caller waits. Two that wait at a time are more than is kept in mind. */
    if (!overlapped && status == STATUS_PENDING && InterlockedCompareExchange(&stream->waiting[direction], self, 0))
        InterlockedOr(&stream->flags, STREAM_LEFT << direction);
    return status;
}

/* What else is done with a socket, and was done well. */
static void note(HANDLE handle, ULONG code, const void *in, ULONG in_size)
{
    const struct create *create = in;
    int value = in && in_size >= sizeof(value) ? *(const int *)in : 0;
    struct stream *stream;

    switch (code)
    {
    case CODE_CREATE:
        if (in_size >= sizeof(*create) && create->type == 1 /* SOCK_STREAM */ &&
            (create->family == 2 || create->family == 23) /* AF_INET, AF_INET6 */)
            stream_put(handle, 0);
        break;
    case CODE_NONBLOCKING:
        if (!(stream = stream_get(handle)))
            break;
        if (value)
            InterlockedOr(&stream->flags, STREAM_NONBLOCKING);
        else
            InterlockedAnd(&stream->flags, ~STREAM_NONBLOCKING);
        table_object_release(&stream->object);
        break;
    }
}

/* Before Wine does what changes who may carry bytes. */
static void note_before(HANDLE handle, ULONG code, const void *in, ULONG in_size)
{
    switch (code)
    {
    case CODE_AFD_RECEIVE:
    case CODE_EVENT_SELECT:
    case CODE_MESSAGE_SELECT: add_flags(handle, STREAM_LEFT_ALL); break;
    case CODE_TRANSMIT: add_flags(handle, STREAM_LEFT << WRITES); break;
    case CODE_SHUTDOWN:
        /* SD_RECEIVE 0, SD_SEND 1, SD_BOTH 2 */
        if (!in || in_size < sizeof(int) || *(const int *)in != 1)
            add_flags(handle, STREAM_LEFT << READS);
        if (!in || in_size < sizeof(int) || *(const int *)in != 0)
            add_flags(handle, STREAM_LEFT << WRITES);
        break;
    }
}

static NTSTATUS WINAPI hook_NtDeviceIoControlFile(HANDLE handle, HANDLE event, void *apc, void *apc_context,
                                                  IO_STATUS_BLOCK *io, ULONG code, void *in, ULONG in_size, void *out,
                                                  ULONG out_size)
{
    struct call call = {handle, event, apc, apc_context, io, code, in, in_size, out, out_size};
    struct stream *stream;
    NTSTATUS status;

    if (code == CODE_READ_CONSOLE || code == CODE_READ_INPUT)
    {
        reading_begins(handle);
        status = stream_pass(&call);
        reading_ends();
        return status;
    }
    if (code >> 16 == DEVICE_MASS_STORAGE || code >> 16 == DEVICE_DISK)
        return disk_control(handle, event, io, code, in, in_size, out, out_size, &status) ? status : stream_pass(&call);
    if (code >> 16 != 0x12 && code >> 16 != 1)
        return stream_pass(&call);
    if ((code == CODE_RECEIVE || code == CODE_SEND) && (stream = stream_get(handle)))
    {
        BOOL receives = code == CODE_RECEIVE;
        /* force_async of afd_recvmsg_params or afd_sendmsg_params: Winsock was given an OVERLAPPED */
        ULONG at = receives ? 32 : 16;

        status = carry(stream, receives ? READS : WRITES, &call,
                       in_size < at + sizeof(int) || *(int *)((BYTE *)in + at));
        table_object_release(&stream->object);
        return status;
    }
    note_before(handle, code, in, in_size);
    if (!(status = stream_pass(&call)))
        note(handle, code, in, in_size);
    return status;
}

static NTSTATUS WINAPI hook_NtRemoveIoCompletion(HANDLE port, ULONG_PTR *key, ULONG_PTR *value, IO_STATUS_BLOCK *io,
                                                 LARGE_INTEGER *timeout)
{
    NTSTATUS status = original_remove(port, key, value, io, timeout);

    if (!status)
        pending_done((void *)*value);
    return status;
}

static NTSTATUS WINAPI hook_NtRemoveIoCompletionEx(HANDLE port, struct completion *completions, ULONG room,
                                                   ULONG *count, LARGE_INTEGER *timeout, BOOLEAN alertable)
{
    NTSTATUS status = original_remove_ex(port, completions, room, count, timeout, alertable);

    for (ULONG i = 0; !status && i < *count; i++)
        pending_done((void *)completions[i].value);
    return status;
}

/* A socket may be written to as a file, by which Wine's order of calls is another. */
static NTSTATUS WINAPI hook_NtWriteFile(HANDLE file, HANDLE event, void *apc, void *apc_context, IO_STATUS_BLOCK *io,
                                        const void *buffer, ULONG size, LARGE_INTEGER *offset, ULONG *key)
{
    stream_leave(file);
    return original_write(file, event, apc, apc_context, io, buffer, size, offset, key);
}

void stream_start(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");

    if (patch_function(ntdll, "NtRemoveIoCompletion", hook_NtRemoveIoCompletion, (void **)&original_remove) &&
        patch_function(ntdll, "NtRemoveIoCompletionEx", hook_NtRemoveIoCompletionEx, (void **)&original_remove_ex) &&
        patch_function(ntdll, "NtWriteFile", hook_NtWriteFile, (void **)&original_write))
        patch_function(ntdll, "NtDeviceIoControlFile", hook_NtDeviceIoControlFile, (void **)&stream_control);
}
