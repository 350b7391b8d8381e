/* What Wine knows of names, paths and handles, and texts of names. */
#include "path.h"

#include <string.h>

#include "heap.h"
#include "names.h"

/*
 * Wine's ntdll.spec, measured in 8.0: wine_nt_to_unix_file_name takes attributes, a buffer, its size and an NT
 * disposition.
 */
static NTSTATUS(CDECL *nt_to_unix)(const OBJECT_ATTRIBUTES *, char *, ULONG *, UINT);
static NTSTATUS(CDECL *unix_to_nt)(const char *, WCHAR *, ULONG *);
static int(CDECL *handle_to_fd)(HANDLE, unsigned, int *, unsigned *);

static char devices[LINUX_PATH_MAX]; /* <prefix>/dosdevices */

BOOL path_start(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    UNICODE_STRING name = {14, 14, (WCHAR *)L"\\??\\C:\\"};
    OBJECT_ATTRIBUTES attributes;
    char *end;

    set_attributes(&attributes, NULL, &name, OBJ_CASE_INSENSITIVE);
    nt_to_unix = (void *)GetProcAddress(ntdll, "wine_nt_to_unix_file_name");
    unix_to_nt = (void *)GetProcAddress(ntdll, "wine_unix_to_nt_file_name");
    handle_to_fd = (void *)GetProcAddress(ntdll, "wine_server_handle_to_fd");
    if (!nt_to_unix || !unix_to_nt || !handle_to_fd || path_plain(&attributes, devices, sizeof(devices)))
        return FALSE;
    if (!(end = strstr(devices, "/dosdevices/c:")))
        return FALSE;
    end[11] = 0;
    return TRUE;
}

const char *path_of_devices(void)
{
    return devices;
}

int path_fd_of(HANDLE handle)
{
    int fd = -1;

    if (handle_to_fd(handle, 0, &fd, NULL))
        return -LX_EBADF;
    lx_keep(fd); /* Wine copies it without the flag, and a program that starts now would keep it open */
    return fd;
}

BOOL path_is_read_only(HANDLE handle)
{
    struct lx_statfs st;
    int fd = path_fd_of(handle);
    BOOL is = fd >= 0 && !lx_fstatfs(fd, &st) && (st.flags & LX_ST_RDONLY);

    if (fd >= 0)
        lx_close(fd);
    return is;
}

ULONG path_utf8_of(const WCHAR *from, ULONG bytes, char *to, ULONG size)
{
    ULONG length = 0;

    RtlUnicodeToUTF8N(to, size - 1, &length, from, bytes);
    to[length] = 0;
    return length;
}

ULONG path_utf16_of(const char *from, ULONG length, WCHAR *to, ULONG size)
{
    ULONG bytes = 0;

    RtlUTF8ToUnicodeN(to, size * sizeof(WCHAR), &bytes, from, length);
    return bytes / sizeof(WCHAR);
}

BOOL path_same_name(const WCHAR *a, const WCHAR *b, ULONG length)
{
    for (; length > 0; length--, a++, b++)
        if (*a != *b && RtlUpcaseUnicodeChar(*a) != RtlUpcaseUnicodeChar(*b))
            return FALSE;
    return TRUE;
}

NTSTATUS path_plain(const OBJECT_ATTRIBUTES *attributes, char *path, ULONG size)
{
    OBJECT_ATTRIBUTES insensitive = *attributes;
    ULONG room = LINUX_PATH_MAX;
    NTSTATUS status;
    char *relative;
    int fd, length;

    insensitive.Attributes = OBJ_CASE_INSENSITIVE;
    if (!attributes->ObjectName || !attributes->ObjectName->Length)
        return STATUS_OBJECT_NAME_INVALID;
    if (!attributes->RootDirectory)
        return nt_to_unix(&insensitive, path, &size, FILE_OPEN_IF);
    if (!(relative = heap_alloc(LINUX_PATH_MAX)))
        return STATUS_NO_MEMORY;
    status = nt_to_unix(&insensitive, relative, &room, FILE_OPEN_IF); /* "./name", relative to the folder */
    if (status == STATUS_SUCCESS || status == STATUS_NO_SUCH_FILE)
    {
        fd = path_fd_of(attributes->RootDirectory);
        length = fd < 0 ? fd : lx_fd_path(fd, path, size - 1);
        if (fd < 0)
            status = STATUS_INVALID_HANDLE;
        else if (length < 0 || length + strlen(relative) >= size)
            status = STATUS_NAME_TOO_LONG;
        else
            memcpy(path + length, relative + 1, strlen(relative));
        if (fd >= 0)
            lx_close(fd);
    }
    heap_free(relative);
    return status;
}

NTSTATUS path_place_open(const char *path, struct place *place)
{
    SIZE_T length = strlen(path), start;
    char *folder;

    while (length > 1 && path[length - 1] == '/')
        length--;
    for (start = length; start > 0 && path[start - 1] != '/';)
        start--;
    if (start == length || start == 0 || length - start >= sizeof(place->name))
        return STATUS_OBJECT_NAME_INVALID;
    memcpy(place->name, path + start, length - start);
    place->name[length - start] = 0;
    if (!(folder = heap_alloc(start + 1)))
        return STATUS_NO_MEMORY;
    memcpy(folder, path, start);
    place->dir = lx_openat(LX_AT_FDCWD, folder, LX_O_PATH | LX_O_DIRECTORY | LX_O_CLOEXEC);
    heap_free(folder);
    return place->dir < 0 ? lx_status(place->dir) : STATUS_SUCCESS;
}

void path_place_close(struct place *place)
{
    if (place->dir >= 0)
        lx_close(place->dir);
    place->dir = -1;
}

/* Where the first name begins that Wine would call otherwise than names.h does, or the end of the path. */
static SIZE_T first_other(const char *path)
{
    char name[NAME_ROOM];
    SIZE_T at = 0, bytes;

    while (path[at])
    {
        at += path[at] == '/';
        bytes = name_bytes(path + at);
        if (bytes < sizeof(name))
        {
            memcpy(name, path + at, bytes);
            name[bytes] = 0;
            if (name_differs(name))
                break;
        }
        at += bytes;
    }
    return at;
}

BOOL path_differs(const char *path)
{
    return path[first_other(path)] != 0;
}

NTSTATUS path_to_nt(const char *path, WCHAR *name, ULONG *size)
{
    SIZE_T at = first_other(path), length;
    ULONG room = *size, needed;
    NTSTATUS status;
    char *known;

    if (!path[at])
        return unix_to_nt(path, name, size);
    if (!(known = heap_alloc(at + 1)))
        return STATUS_NO_MEMORY;
    memcpy(known, path, at > 1 ? at - 1 : at); /* without the slash, if it is not the root */
    status = unix_to_nt(known, name, size);
    heap_free(known);
    if (status)
        return status;
    length = wcslen(name);
    needed = (ULONG)(length + 1 + strlen(path + at) + 1);
    if (needed > room)
        return STATUS_BUFFER_TOO_SMALL;
    if (name[length - 1] != '\\')
        name[length++] = '\\';
    *size = (ULONG)length + names_from_path(path + at, name + length, room - (ULONG)length) + 1;
    return STATUS_SUCCESS;
}
