/*
 * Standard handles that are Linux pipes, socket pairs or files: a container's output, what `mullion node exec` reads
 * and writes.
 *
 * Facts (Wine 8.0, measured): such a handle has the type FILE_TYPE_PIPE and is synchronous, but what a program asks of
 * a pipe is refused: FilePipeInformation and FilePipeLocalInformation (STATUS_NOT_IMPLEMENTED), setting the former
 * (STATUS_OBJECT_TYPE_MISMATCH), FSCTL_PIPE_PEEK (STATUS_NOT_SUPPORTED), FileBasicInformation, FileNameInformation,
 * flushing. A read of no bytes returns at once, CancelSynchronousIo finds nothing. A file that was opened by Linux has
 * no name, so FileAllInformation fails; Wine 10.0 refuses FileNameInformation of it with STATUS_INVALID_INFO_CLASS.
 *
 * Facts (libuv v1.44 to v1.51, src/win/pipe.c): uv_pipe_open sets the pipe's mode and gives up if that fails (Node.js:
 * "open EBADF"). A thread reads no bytes, to wait until there are some; PeekNamedPipe says how many; to stop, the
 * thread is cancelled until it returns. A pipe without a name has a name of length zero.
 *
 * Windows' answers: [MS-FSCC] 2.4.8, 2.4.35 and 2.4.36, 2.3.49 FSCTL_PIPE_PEEK.
 */
#include "stdhandle.h"

#include <string.h>

#include "hooks.h"
#include "linux.h"
#include "path.h"
#include "reading.h"
#include "services.h"
#include "stream.h"
#include "heap.h"

#define CODE_PIPE_PEEK 0x11400cu /* winioctl.h FSCTL_PIPE_PEEK */

/* clang-format off */
enum
{
    CLASS_PIPE = 23, CLASS_PIPE_LOCAL = 24, /* FILE_INFORMATION_CLASS */
    PIPE_CONNECTED = 3, PIPE_INBOUND = 0, PIPE_DUPLEX = 2,
    LX_S_IFIFO = 0010000, LX_SO_SNDBUF = 7, LX_SO_DOMAIN = 39, LX_MSG_PEEK = 2, LX_MSG_DONTWAIT = 0x40,
    LX_F_GETPIPE_SZ = 1032, LX_FIONREAD = 0x541b, LX_SPLICE_NONBLOCK = 2, LX_POLLIN = 1
};
/* clang-format on */

struct nt_pipe_info
{
    ULONG read_mode, completion_mode;
};

struct nt_pipe_local_info
{
    ULONG type, configuration, most_instances, instances, in_quota, readable, out_quota, writable, state, end;
};

struct nt_pipe_peek
{
    ULONG state, available, messages, message_length;
    char data[];
};

struct lx_pollfd
{
    int fd;
    short events, got;
};

/* A thread that waits for a pipe to become readable; the list is guarded by waiting_lock. */
struct waiting
{
    struct waiting *next;
    DWORD thread;
    int wake; /* an eventfd */
    BOOL cancelled;
};

typedef NTSTATUS(WINAPI *nt_read_file)(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, void *, ULONG,
                                       LARGE_INTEGER *, ULONG *);
typedef NTSTATUS(WINAPI *nt_cancel)(HANDLE, IO_STATUS_BLOCK *, IO_STATUS_BLOCK *);
typedef NTSTATUS(WINAPI *nt_flush)(HANDLE, IO_STATUS_BLOCK *);

static nt_read_file original_read;
static nt_cancel original_cancel;
static nt_flush original_flush;

static SRWLOCK waiting_lock = SRWLOCK_INIT;
static struct waiting *waiting;

/*
 * A descriptor of the pipe or pair of sockets behind a handle, to be closed; negative for anything else, such as a
 * socket of Winsock.
 */
static int pipe_fd(HANDLE handle, BOOL *fifo)
{
    struct lx_stat st;
    int fd = path_fd_of(handle), domain = 0, size = sizeof(domain);

    if (fd < 0)
        return fd;
    if (!lx_fstat(fd, &st))
    {
        *fifo = (st.mode & LX_S_IFMT) == LX_S_IFIFO;
        if (*fifo)
            return fd;
        if ((st.mode & LX_S_IFMT) == LX_S_IFSOCK &&
            !lx5(LX_NR_getsockopt, fd, LX_SOL_SOCKET, LX_SO_DOMAIN, &domain, &size) && domain == LX_AF_UNIX)
            return fd;
    }
    lx_close(fd);
    return -LX_EBADF;
}

static ULONG access_of(HANDLE handle)
{
    IO_STATUS_BLOCK io;
    ULONG access = 0;

    originals.NtQueryInformationFile(handle, &io, &access, sizeof(access), CLASS_ACCESS);
    return access;
}

static ULONG readable_bytes(int fd)
{
    int n = 0;

    return lx3(LX_NR_ioctl, fd, LX_FIONREAD, &n) < 0 || n < 0 ? 0 : (ULONG)n;
}

/* Whether the pipe is empty and nobody can write to it any more. */
static BOOL has_ended(int fd)
{
    struct lx_pollfd poll = {fd, LX_POLLIN, 0};

    return lx_poll(&poll, 1, 0) > 0 && !readable_bytes(fd);
}

static ULONG capacity(int fd, BOOL fifo)
{
    int n = 0, size = sizeof(n);

    if (fifo)
        n = (int)lx3(LX_NR_fcntl, fd, LX_F_GETPIPE_SZ, 0);
    else
        lx5(LX_NR_getsockopt, fd, LX_SOL_SOCKET, LX_SO_SNDBUF, &n, &size);
    return n > 0 ? (ULONG)n : 65536;
}

/* Answers as for the ends that CreatePipe makes: the reading end is the server's. */
static void fill_local(int fd, BOOL fifo, ULONG access, struct nt_pipe_local_info *info)
{
    BOOL reads = (access & FILE_READ_DATA) != 0, writes = (access & FILE_WRITE_DATA) != 0;
    ULONG inside = readable_bytes(fd); /* a pipe tells its writing end too */

    memset(info, 0, sizeof(*info));
    info->configuration = reads && writes ? PIPE_DUPLEX : PIPE_INBOUND;
    info->most_instances = info->instances = 1;
    info->in_quota = info->out_quota = capacity(fd, fifo);
    info->readable = reads ? inside : 0;
    if (writes)
        info->writable = fifo && inside < info->out_quota ? info->out_quota - inside : fifo ? 0 : info->out_quota;
    info->state = PIPE_CONNECTED;
    info->end = reads && !writes ? PIPE_SERVER_END : 0;
}

/* The size of the answer for a class that is answered here for pipes; 0 for any other. */
static ULONG size_of_pipe_class(ULONG class)
{
    switch (class)
    {
    case CLASS_BASIC: return sizeof(struct nt_basic_info);
    case CLASS_NAME: return sizeof(ULONG);
    case CLASS_PIPE: return sizeof(struct nt_pipe_info);
    case CLASS_PIPE_LOCAL: return sizeof(struct nt_pipe_local_info);
    default: return 0;
    }
}

/* FALSE: the handle is not a pipe. */
static BOOL query_pipe(HANDLE handle, void *buffer, ULONG class)
{
    BOOL fifo;
    int fd = pipe_fd(handle, &fifo);

    if (fd < 0)
        return FALSE;
    memset(buffer, 0, size_of_pipe_class(class)); /* the name is empty, the pipe one of bytes that waits */
    if (class == CLASS_BASIC)
        ((struct nt_basic_info *)buffer)->attributes = FILE_ATTRIBUTE_NORMAL;
    else if (class == CLASS_PIPE_LOCAL)
        fill_local(fd, fifo, access_of(handle), buffer);
    lx_close(fd);
    return TRUE;
}

/*
 * The name of a Linux file below the root, as FileNameInformation has it: without a drive. Returns its length in
 * characters, or 0.
 */
static ULONG linux_name(HANDLE handle, WCHAR *name, ULONG size)
{
    char *path = heap_alloc(LINUX_PATH_MAX);
    int fd = path ? path_fd_of(handle) : -1, length = 0;
    struct lx_stat st;
    ULONG chars = 0;

    if (fd >= 0 && !lx_fstat(fd, &st) && (st.mode & LX_S_IFMT) == LX_S_IFREG &&
        (length = lx_fd_path(fd, path, LINUX_PATH_MAX)) > 0 && path[0] == '/')
        chars = path_utf16_of(path, (ULONG)length, name, size);
    for (ULONG i = 0; i < chars; i++)
        if (name[i] == '/')
            name[i] = '\\';
    if (fd >= 0)
        lx_close(fd);
    heap_free(path);
    return chars;
}

static NTSTATUS fill_linux_name(HANDLE handle, ULONG *length, WCHAR *name, ULONG room)
{
    WCHAR *full = heap_alloc(LINUX_PATH_MAX * sizeof(WCHAR));
    ULONG bytes = full ? linux_name(handle, full, LINUX_PATH_MAX) * sizeof(WCHAR) : 0;

    if (bytes)
    {
        *length = bytes;
        memcpy(name, full, bytes < room ? bytes : room);
    }
    heap_free(full);
    return !bytes ? STATUS_OBJECT_TYPE_MISMATCH : bytes > room ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

/* FileAllInformation and FileNetworkOpenInformation, put together from the classes that Wine answers. */
static NTSTATUS fill_parts(HANDLE handle, void *buffer, ULONG class)
{
    struct nt_network_open_info *open = buffer;
    struct nt_all_info all;
    IO_STATUS_BLOCK io;
    NTSTATUS status;

    memset(&all, 0, sizeof(all));
    if ((status = originals.NtQueryInformationFile(handle, &io, &all.basic, sizeof(all.basic), CLASS_BASIC)) ||
        (status = originals.NtQueryInformationFile(handle, &io, &all.standard, sizeof(all.standard), CLASS_STANDARD)))
        return status;
    originals.NtQueryInformationFile(handle, &io, &all.index, sizeof(all.index), CLASS_INTERNAL);
    originals.NtQueryInformationFile(handle, &io, &all.access_flags, sizeof(all.access_flags), CLASS_ACCESS);
    originals.NtQueryInformationFile(handle, &io, &all.position, sizeof(all.position), CLASS_POSITION);
    originals.NtQueryInformationFile(handle, &io, &all.mode, sizeof(all.mode), CLASS_MODE);
    if (class == CLASS_ALL)
    {
        memcpy(buffer, &all, FIELD_OFFSET(struct nt_all_info, name));
        return STATUS_SUCCESS;
    }
    memset(open, 0, sizeof(*open));
    memcpy(open, &all.basic, 4 * sizeof(LARGE_INTEGER));
    open->allocation = all.standard.allocation;
    open->size = all.standard.size;
    open->attributes = all.basic.attributes;
    return STATUS_SUCCESS;
}

static NTSTATUS query_file(HANDLE handle, IO_STATUS_BLOCK *io, void *buffer, ULONG length, ULONG class)
{
    struct nt_all_info *all = buffer;
    ULONG before = class == CLASS_NAME  ? sizeof(ULONG)
                   : class == CLASS_ALL ? FIELD_OFFSET(struct nt_all_info, name)
                                        : sizeof(struct nt_network_open_info);
    ULONG *name_length = class == CLASS_ALL ? &all->name_length : buffer;
    NTSTATUS status;

    if (length < before)
        return STATUS_INFO_LENGTH_MISMATCH;
    if (class != CLASS_NAME && (status = fill_parts(handle, buffer, class)))
        return status;
    io->Information = before;
    if (class == CLASS_NETWORK_OPEN)
        return STATUS_SUCCESS;
    if ((status = fill_linux_name(handle, name_length, (WCHAR *)((char *)buffer + before), length - before)) >= 0)
        io->Information += *name_length;
    else if (status == STATUS_BUFFER_OVERFLOW)
        io->Information = length;
    return status;
}

NTSTATUS stdhandle_query(NTSTATUS status, HANDLE handle, IO_STATUS_BLOCK *io, void *buffer, ULONG length, ULONG class)
{
    IO_STATUS_BLOCK done = {.Information = 0};
    NTSTATUS answer;

    if (status != STATUS_NOT_IMPLEMENTED && status != STATUS_OBJECT_TYPE_MISMATCH &&
        status != STATUS_INVALID_INFO_CLASS)
        return status;
    if (size_of_pipe_class(class) && length >= size_of_pipe_class(class) && query_pipe(handle, buffer, class))
    {
        io->Information = size_of_pipe_class(class);
        return io->Status = STATUS_SUCCESS;
    }
    if (status == STATUS_NOT_IMPLEMENTED || (class != CLASS_ALL && class != CLASS_NAME && class != CLASS_NETWORK_OPEN))
        return status;
    answer = query_file(handle, &done, buffer, length, class);
    if (answer && answer != STATUS_BUFFER_OVERFLOW)
        return status;
    io->Information = done.Information;
    return io->Status = answer;
}

/* Setting a pipe's mode succeeds if it asks for the mode that the pipe has: bytes, and waiting. */
NTSTATUS stdhandle_set(NTSTATUS status, HANDLE handle, IO_STATUS_BLOCK *io, const void *buffer, ULONG length,
                       ULONG class)
{
    const struct nt_pipe_info *info = buffer;
    BOOL fifo;
    int fd;

    if (!status)
        stream_information(handle, buffer, length, class);
    if (class != CLASS_PIPE || length < sizeof(*info) ||
        (status != STATUS_OBJECT_TYPE_MISMATCH && status != STATUS_NOT_IMPLEMENTED))
        return status;
    if ((fd = pipe_fd(handle, &fifo)) < 0)
        return status;
    lx_close(fd);
    io->Information = 0;
    return io->Status = info->read_mode         ? STATUS_INVALID_PARAMETER
                        : info->completion_mode ? STATUS_NOT_SUPPORTED
                                                : STATUS_SUCCESS;
}

/* Copies up to size bytes and leaves them in the pipe; returns how many. */
static ULONG copy_bytes(int fd, BOOL fifo, char *data, ULONG size)
{
    INT64 n;
    int copy[2];

    if (!size)
        return 0;
    if (!fifo)
        n = lx_call6(LX_NR_recvfrom, fd, (INT64)data, size, LX_MSG_PEEK | LX_MSG_DONTWAIT, 0, 0);
    else if ((n = lx2(LX_NR_pipe2, copy, LX_O_CLOEXEC | LX_O_NONBLOCK)) >= 0)
    {
        if ((n = lx4(LX_NR_tee, fd, copy[1], size, LX_SPLICE_NONBLOCK)) > 0)
            n = lx_read(copy[0], data, (SIZE_T)n);
        lx_close(copy[0]);
        lx_close(copy[1]);
    }
    return n > 0 ? (ULONG)n : 0;
}

NTSTATUS stdhandle_control(NTSTATUS status, HANDLE handle, HANDLE event, IO_STATUS_BLOCK *io, ULONG code, void *out,
                           ULONG out_size)
{
    struct nt_pipe_peek *peek = out;
    BOOL fifo;
    int fd;

    if (code != CODE_PIPE_PEEK || (status != STATUS_NOT_SUPPORTED && status != STATUS_OBJECT_TYPE_MISMATCH) ||
        out_size < sizeof(*peek))
        return status;
    if (!(access_of(handle) & FILE_READ_DATA) || (fd = pipe_fd(handle, &fifo)) < 0)
        return status;
    memset(peek, 0, sizeof(*peek));
    peek->state = PIPE_CONNECTED;
    peek->available = readable_bytes(fd);
    io->Information = sizeof(*peek) + copy_bytes(fd, fifo, peek->data, out_size - sizeof(*peek));
    io->Status = !peek->available && has_ended(fd) ? STATUS_PIPE_BROKEN : STATUS_SUCCESS;
    lx_close(fd);
    if (event)
        SetEvent(event);
    return io->Status;
}

/* Takes w out of the list and frees it; TRUE: it was cancelled. */
static BOOL end_waiting(struct waiting *w)
{
    struct waiting **at;
    BOOL cancelled;

    AcquireSRWLockExclusive(&waiting_lock);
    for (at = &waiting; *at != w; at = &(*at)->next)
        ;
    *at = w->next;
    cancelled = w->cancelled;
    ReleaseSRWLockExclusive(&waiting_lock);
    lx_close(w->wake);
    heap_free(w);
    return cancelled;
}

/* Waits until there is something to read, or there can be nothing any more, or the thread is cancelled. */
static NTSTATUS wait_readable(int fd)
{
    struct waiting *self = heap_alloc(sizeof(*self)); /* not on the stack: who ends the thread leaves it in the list */
    struct lx_pollfd polls[] = {{fd, LX_POLLIN, 0}, {-1, LX_POLLIN, 0}};

    if (!self || (self->wake = (int)lx2(LX_NR_eventfd2, 0, LX_O_CLOEXEC)) < 0)
    {
        heap_free(self);
        return STATUS_NO_MEMORY;
    }
    polls[1].fd = self->wake;
    self->thread = GetCurrentThreadId();
    AcquireSRWLockExclusive(&waiting_lock);
    self->next = waiting;
    waiting = self;
    ReleaseSRWLockExclusive(&waiting_lock);
    while (lx_poll(polls, 2, -1) == -LX_EINTR)
        ;
    if (end_waiting(self))
        return STATUS_CANCELLED;
    return readable_bytes(fd) ? STATUS_SUCCESS : STATUS_PIPE_BROKEN;
}

static NTSTATUS WINAPI hook_NtReadFile(HANDLE file, HANDLE event, void *apc, void *apc_argument, IO_STATUS_BLOCK *io,
                                       void *buffer, ULONG size, LARGE_INTEGER *offset, ULONG *key)
{
    BOOL fifo;
    int fd;

    stream_leave(file);
    if (size && file == GetStdHandle(STD_INPUT_HANDLE))
    {
        NTSTATUS status;

        reading_begins(file);
        status = original_read(file, event, apc, apc_argument, io, buffer, size, offset, key);
        reading_ends();
        return status;
    }
    if (size || event || apc || (fd = pipe_fd(file, &fifo)) < 0)
        return original_read(file, event, apc, apc_argument, io, buffer, size, offset, key);
    io->Status = access_of(file) & FILE_READ_DATA ? wait_readable(fd) : STATUS_ACCESS_DENIED;
    io->Information = 0;
    lx_close(fd);
    return io->Status;
}

static NTSTATUS WINAPI hook_NtCancelSynchronousIoFile(HANDLE thread, IO_STATUS_BLOCK *which, IO_STATUS_BLOCK *io)
{
    static const UINT64 one = 1;
    DWORD id = waiting ? GetThreadId(thread) : 0;
    struct waiting *w;

    AcquireSRWLockExclusive(&waiting_lock);
    for (w = waiting; w && w->thread != id; w = w->next)
        ;
    if (w)
    {
        w->cancelled = TRUE;
        lx_write(w->wake, &one, sizeof(one));
    }
    ReleaseSRWLockExclusive(&waiting_lock);
    if (!w)
        return original_cancel(thread, which, io);
    io->Information = 0;
    return io->Status = STATUS_SUCCESS;
}

/* Nothing to flush: what was written to a Linux pipe stays in it, even if the writer ends. */
static NTSTATUS WINAPI hook_NtFlushBuffersFile(HANDLE handle, IO_STATUS_BLOCK *io)
{
    NTSTATUS status = original_flush(handle, io);
    BOOL fifo;
    int fd;

    if (status != STATUS_INVALID_PARAMETER || (fd = pipe_fd(handle, &fifo)) < 0)
        return status;
    lx_close(fd);
    io->Information = 0;
    return io->Status = STATUS_SUCCESS;
}

static NTSTATUS WINAPI hook_NtSetInformationFile(HANDLE handle, IO_STATUS_BLOCK *io, void *buffer, ULONG length,
                                                 ULONG class)
{
    return stdhandle_set(originals.NtSetInformationFile(handle, io, buffer, length, class), handle, io, buffer, length,
                         class);
}

static NTSTATUS WINAPI hook_NtFsControlFile(HANDLE handle, HANDLE event, void *apc, void *apc_context,
                                            IO_STATUS_BLOCK *io, ULONG code, void *in, ULONG in_size, void *out,
                                            ULONG out_size)
{
    NTSTATUS status = originals.NtFsControlFile(handle, event, apc, apc_context, io, code, in, in_size, out, out_size);

    return stdhandle_control(status, handle, event, io, code, out, out_size);
}

void stdhandle_start(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");

    PATCH(ntdll, NtSetInformationFile); /* already done where links are: setinfo.c asks stdhandle_set, reparse.c
                                           stdhandle_control */
    PATCH(ntdll, NtFsControlFile);
    patch_function(ntdll, "NtFlushBuffersFile", hook_NtFlushBuffersFile, (void **)&original_flush);
    if (patch_function(ntdll, "NtCancelSynchronousIoFile", hook_NtCancelSynchronousIoFile, (void **)&original_cancel))
        patch_function(ntdll, "NtReadFile", hook_NtReadFile, (void **)&original_read);
}
