/* The parts of linux.h that are more than one system call. */
#include "linux.h"

#include "nt.h"

LONG lx_status(int error)
{
    switch (error < 0 ? -error : error)
    {
    case 0: return STATUS_SUCCESS;
    case LX_EAGAIN: return STATUS_SHARING_VIOLATION;
    case LX_EBADF: return STATUS_INVALID_HANDLE;
    case LX_EBUSY: return STATUS_DEVICE_BUSY;
    case LX_ENOSPC: return STATUS_DISK_FULL;
    case LX_EPERM:
    case LX_EROFS:
    case LX_EACCES: return STATUS_ACCESS_DENIED;
    case LX_ENOTDIR: return STATUS_OBJECT_PATH_NOT_FOUND;
    case LX_ENOENT: return STATUS_OBJECT_NAME_NOT_FOUND;
    case LX_EISDIR: return STATUS_FILE_IS_A_DIRECTORY;
    case LX_EMFILE: return STATUS_TOO_MANY_OPENED_FILES;
    case LX_EINVAL: return STATUS_INVALID_PARAMETER;
    case LX_ENOTEMPTY: return STATUS_DIRECTORY_NOT_EMPTY;
    case LX_EEXIST: return STATUS_OBJECT_NAME_COLLISION;
    case LX_EXDEV: return STATUS_NOT_SAME_DEVICE;
    case LX_ELOOP: return STATUS_REPARSE_POINT_NOT_RESOLVED;
    case LX_ENAMETOOLONG: return STATUS_OBJECT_NAME_INVALID;
    default: return STATUS_UNSUCCESSFUL;
    }
}

int lx_proc_path(int fd, char *path)
{
    static const char head[] = "/proc/self/fd/";
    int n = 0, at = 0;
    char digits[12];

    for (; head[at]; at++)
        path[at] = head[at];
    do
        digits[n++] = (char)('0' + fd % 10);
    while ((fd /= 10) > 0);
    while (n > 0)
        path[at++] = digits[--n];
    path[at] = 0;
    return at;
}

int lx_fd_path(int fd, char *path, SIZE_T size)
{
    char link[32];
    int length;

    lx_proc_path(fd, link);
    length = lx_readlinkat(LX_AT_FDCWD, link, path, size - 1);
    if (length < 0)
        return length;
    path[length] = 0;
    return length;
}
