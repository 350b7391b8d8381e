/* Drives, and names that lead out of them. */
#include "drive.h"

#include <string.h>

#include "heap.h"

#define MOST_LINKS 40 /* as Linux follows in one path */

static int drive_c = -1; /* held open: most names begin there */

/* Opens what an entry of dosdevices leads to, as a place only. */
static int device_open(const char *name)
{
    const char *devices = path_of_devices();
    SIZE_T length = strlen(devices), more = strlen(name);
    char *link = heap_alloc(length + more + 2);
    int fd;

    if (!link)
        return -LX_ENOSPC;
    memcpy(link, devices, length);
    link[length] = '/';
    memcpy(link + length + 1, name, more + 1);
    fd = lx_openat(LX_AT_FDCWD, link, LX_O_PATH | LX_O_DIRECTORY | LX_O_CLOEXEC);
    heap_free(link);
    return fd;
}

int drive_open(char letter)
{
    char name[] = {letter, ':', 0};

    return device_open(name);
}

int drive_hold_c(void)
{
    int fd = __atomic_load_n(&drive_c, __ATOMIC_ACQUIRE), first = -1;

    if (fd >= 0 || (fd = drive_open('c')) < 0)
        return fd;
    if (__atomic_compare_exchange_n(&drive_c, &first, fd, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fd;
    lx_close(fd); /* another thread was faster, and others may use its descriptor by now */
    return first;
}

int drive_path(char *path, ULONG size)
{
    int fd = drive_open('c'), length = fd < 0 ? fd : lx_fd_path(fd, path, size);

    if (fd >= 0)
        lx_close(fd);
    return length;
}

int drive_place(int dir, const char *path, int flags, UINT64 resolve)
{
    struct lx_open_how how = {(UINT64)(LX_O_PATH | LX_O_CLOEXEC | flags), 0, resolve | LX_RESOLVE_NO_MAGICLINKS};

    return lx_openat2(dir, path, &how);
}

/* Both paths are canonical, so it is enough to compare their texts. */
BOOL drive_holds_fd(int fd)
{
    char *path = heap_alloc(2 * LINUX_PATH_MAX), *drive = path + LINUX_PATH_MAX;
    int held = __atomic_load_n(&drive_c, __ATOMIC_ACQUIRE), length;
    BOOL found = FALSE;

    if (path && lx_fd_path(fd, path, LINUX_PATH_MAX) > 0)
        for (int i = 0; i <= 27 && !found; i++)
        {
            char letter = (char)('a' + (i + 2) % 26); /* c: first */
            int dir = i == 26                      ? device_open("unc")
                      : i == 27                    ? device_open("volumes")
                      : letter == 'c' && held >= 0 ? held
                                                   : drive_open(letter);

            if (dir < 0)
                continue;
            length = lx_fd_path(dir, drive, LINUX_PATH_MAX);
            if (dir != held)
                lx_close(dir);
            if (length == 1)
                length = 0; /* the drive is the root of Linux */
            found = length >= 0 && !strncmp(path, drive, (SIZE_T)length) && (!path[length] || path[length] == '/');
        }
    heap_free(path);
    return found;
}

/*
 * Puts the target of the link name, which is in folder, in the place of path. STATUS_NOT_A_REPARSE_POINT: name is no
 * link; another error: the path would be too long.
 */
static NTSTATUS follow_text(int folder, const char *name, char *path)
{
    int at = lx_fd_path(folder, path, LINUX_PATH_MAX - 1), length;

    if (at < 0)
        return STATUS_NAME_TOO_LONG;
    path[at++] = '/';
    length = lx_readlinkat(folder, name, path + at, (SIZE_T)(LINUX_PATH_MAX - at));
    if (length <= 0)
        return STATUS_NOT_A_REPARSE_POINT;
    if (length == LINUX_PATH_MAX - at)
        return STATUS_NAME_TOO_LONG;
    path[at + length] = 0;
    if (path[at] == '/')
        memmove(path, path + at, (SIZE_T)length + 1);
    return STATUS_SUCCESS;
}

/* The answer for a place that could not be opened; success if Wine's own open will give the error. */
static NTSTATUS status_of_place(int error)
{
    switch (error)
    {
    case -LX_ENOENT:
    case -LX_ENOTDIR:
    case -LX_EACCES:
    case -LX_ENAMETOOLONG: return STATUS_SUCCESS;
    default: return lx_status(error);
    }
}

/* Splits a path before its last component. FALSE: it has none, or one that is too long for a file's name. */
static BOOL split(char *path, char *name, SIZE_T size)
{
    SIZE_T length = strlen(path), start;

    while (length > 1 && path[length - 1] == '/')
        length--;
    for (start = length; start > 0 && path[start - 1] != '/';)
        start--;
    if (start == length || start == 0 || length - start >= size)
        return FALSE;
    memcpy(name, path + start, length - start);
    name[length - start] = 0;
    path[start] = 0;
    return TRUE;
}

NTSTATUS drive_holds_path(const char *path, BOOL follow)
{
    char *at = heap_alloc(LINUX_PATH_MAX), name[256];
    NTSTATUS status = STATUS_REPARSE_POINT_NOT_RESOLVED;
    BOOL again = at && strlen(path) < LINUX_PATH_MAX;

    if (!again)
    {
        heap_free(at);
        return at ? STATUS_OBJECT_NAME_INVALID : STATUS_NO_MEMORY;
    }
    memcpy(at, path, strlen(path) + 1);
    for (unsigned links = 0; again && links < MOST_LINKS; links++)
    {
        int fd = follow ? drive_place(LX_AT_FDCWD, at, 0, 0) : -LX_ENOENT;
        BOOL missing = fd == -LX_ENOENT && split(at, name, sizeof(name));

        if (missing) /* there is nothing, or a link to nothing: what counts is the folder in which it would be made */
            fd = drive_place(LX_AT_FDCWD, at, LX_O_DIRECTORY, 0);
        again = FALSE;
        if (fd < 0)
            status = status_of_place(fd);
        else if (!drive_holds_fd(fd))
            status = STATUS_OBJECT_PATH_NOT_FOUND;
        else if (!missing || !follow)
            status = STATUS_SUCCESS;
        else if ((status = follow_text(fd, name, at)) == STATUS_NOT_A_REPARSE_POINT)
            status = STATUS_SUCCESS;
        else if (!status)
        {
            again = TRUE;
            status = STATUS_REPARSE_POINT_NOT_RESOLVED;
        }
        if (fd >= 0)
            lx_close(fd);
    }
    heap_free(at);
    return status;
}

BOOL drive_holds_handle(HANDLE handle)
{
    int fd = path_fd_of(handle);
    BOOL held = fd >= 0 && drive_holds_fd(fd);

    if (fd >= 0)
        lx_close(fd);
    return held;
}
