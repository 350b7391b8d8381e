/* What a socket is to Linux, and to Wine. */
#include "stream.h"

#include "linux.h"
#include "path.h"

NTSTATUS(WINAPI *stream_control)
(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, ULONG, void *, ULONG, void *, ULONG);

int stream_fd(struct stream *stream)
{
    int fd = stream->fd, size;
    BYTE peer[128];

    if (fd >= 0)
        return fd;
    if ((fd = path_fd_of(stream->object.handle)) < 0)
        return fd;
    size = sizeof(peer);
    if (lx3(LX_NR_getpeername, fd, peer, &size) < 0)
    {
        lx_close(fd);
        return -LX_EBADF;
    }
    if (InterlockedCompareExchange(&stream->fd, fd, -1) != -1)
    {
        lx_close(fd); /* another thread was faster */
        fd = stream->fd;
    }
    return fd;
}

NTSTATUS stream_pass(const struct call *call)
{
    return stream_control(call->handle, call->event, call->apc, call->apc_context, call->io, call->code, call->in,
                          call->in_size, call->out, call->out_size);
}
