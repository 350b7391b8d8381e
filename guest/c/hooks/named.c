/* Opening and naming what has a name that Wine cannot say. */
#include "named.h"

#include <string.h>

#include "deep.h"
#include "drive.h"
#include "entry.h"
#include "heap.h"
#include "hooks.h"
#include "linkopen.h"
#include "names.h"
#include "security.h"

/* Makes a new file or folder. A link in its place is none that Linux would follow. */
static NTSTATUS make(const struct place *place, ULONG file_attributes, ULONG options)
{
    int fd;

    if (options & FILE_DIRECTORY_FILE)
        return lx_status(lx_mkdirat(place->dir, place->name, 0777));
    fd = lx_creatat(place->dir, place->name, file_attributes & FILE_ATTRIBUTE_READONLY ? 0444 : 0666);
    if (fd >= 0)
        lx_close(fd);
    return fd < 0 ? lx_status(fd) : STATUS_SUCCESS;
}

/* Opens a link itself: its handle is one of its folder. */
static NTSTATUS open_link(HANDLE *handle, const OBJECT_ATTRIBUTES *attributes, IO_STATUS_BLOCK *io, struct place *place,
                          ULONG options)
{
    struct stand_in folder;
    NTSTATUS status;

    way_stand_in_for(&folder, place->dir, attributes);
    folder.attributes.SecurityDescriptor = NULL;
    status = originals.NtOpenFile(handle, FILE_READ_ATTRIBUTES | SYNCHRONIZE, &folder.attributes, io,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                  FILE_DIRECTORY_FILE | FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_FOR_BACKUP_INTENT);
    if (!status)
        status = linkopen_done(*handle, place, options);
    io->Status = status;
    io->Information = FILE_OPENED;
    return status;
}

/* Whether a file is made if there is none. */
static BOOL makes(ULONG disposition)
{
    return disposition == FILE_CREATE || disposition == FILE_OPEN_IF || disposition == FILE_OVERWRITE_IF ||
           disposition == FILE_SUPERSEDE;
}

NTSTATUS named_create(HANDLE *handle, ACCESS_MASK access, const OBJECT_ATTRIBUTES *attributes, IO_STATUS_BLOCK *io,
                      LARGE_INTEGER *size, ULONG file_attributes, ULONG share, ULONG disposition, ULONG options,
                      BOOL link)
{
    struct stand_in stand;
    struct entry entry;
    struct place place;
    NTSTATUS status = way_of(attributes, &place);
    BOOL made = FALSE;

    if (status == STATUS_NO_SUCH_FILE)
    {
        status = makes(disposition) ? make(&place, file_attributes, options) : STATUS_OBJECT_NAME_NOT_FOUND;
        made = !status;
    }
    else if (!status && link && linkopen_has(disposition) && entry_read(place.dir, place.name, &entry))
    {
        if (!(status = linkopen_allowed(&entry, disposition, options)))
            status = open_link(handle, attributes, io, &place, options);
        path_place_close(&place);
        return status;
    }
    else if (!status && disposition == FILE_CREATE)
        status = STATUS_OBJECT_NAME_COLLISION;
    if (!status && !(status = way_stand_in_open(&stand, &place, !made, attributes)))
    {
        status = originals.NtCreateFile(handle, access, &stand.attributes, io, size, file_attributes, share,
                                        made ? FILE_OPEN : disposition, options & ~FILE_OPEN_REPARSE_POINT, NULL, 0);
        way_stand_in_close(&stand);
    }
    if (!status)
        deep_opened(*handle, access, attributes);
    if (!status && made)
    {
        io->Information = FILE_CREATED;
        if (attributes->SecurityDescriptor)
            security_of_new(*handle, attributes->SecurityDescriptor);
    }
    if (status && place.dir >= 0 && entry_read(place.dir, place.name, &entry) && entry.tag == TAG_AF_UNIX)
        status = STATUS_IO_REPARSE_TAG_NOT_HANDLED; /* as of a socket file of another name (open.c) */
    path_place_close(&place);
    return status;
}

NTSTATUS named_place(const OBJECT_ATTRIBUTES *attributes, struct stand_in *stand)
{
    struct place place;
    NTSTATUS status = way_of(attributes, &place);

    if (status == STATUS_NO_SUCH_FILE)
        status = STATUS_OBJECT_NAME_NOT_FOUND;
    if (!status)
        status = way_stand_in_open(stand, &place, TRUE, attributes);
    path_place_close(&place);
    return status;
}

ULONG named_of(HANDLE handle, const WCHAR *wine, ULONG length, WCHAR *name, ULONG room)
{
    char *path = heap_alloc(LINUX_PATH_MAX);
    int fd = path ? path_fd_of(handle) : -1;

    if (fd < 0 || lx_fd_path(fd, path, LINUX_PATH_MAX) < 0 ||
        (!way_stand_in_named(wine, length) && !path_differs(path)) || path_to_nt(path, name, &room))
        room = 0;
    if (fd >= 0)
        lx_close(fd);
    heap_free(path);
    return room ? (ULONG)wcslen(name) : 0;
}

NTSTATUS named_object(NTSTATUS status, HANDLE handle, void *buffer, ULONG size, ULONG *needed)
{
    UNICODE_STRING *name = buffer;
    WCHAR *made;
    ULONG length;

    if (status || name->Length < 4 * sizeof(WCHAR) || wcsncmp(name->Buffer, L"\\??\\", 4) ||
        !(made = heap_alloc(LINUX_PATH_MAX * sizeof(WCHAR))))
        return status;
    if ((length = named_of(handle, name->Buffer, name->Length / sizeof(WCHAR), made, LINUX_PATH_MAX)))
    {
        if (needed)
            *needed = sizeof(*name) + (length + 1) * sizeof(WCHAR);
        if (sizeof(*name) + (length + 1) * sizeof(WCHAR) > size)
            status = STATUS_BUFFER_OVERFLOW;
        else
        {
            memcpy(name->Buffer, made, (length + 1) * sizeof(WCHAR));
            name->Length = (USHORT)(length * sizeof(WCHAR));
            name->MaximumLength = (USHORT)(name->Length + sizeof(WCHAR));
        }
    }
    heap_free(made);
    return status;
}

NTSTATUS named_file(NTSTATUS status, HANDLE handle, IO_STATUS_BLOCK *io, ULONG *length, ULONG size)
{
    static const ULONG drive = 6; /* \??\C: is not part of it */
    WCHAR *name = (WCHAR *)(length + 1), *made;
    ULONG chars, bytes;

    if (status || !*length || !(made = heap_alloc(LINUX_PATH_MAX * sizeof(WCHAR))))
        return status;
    if ((chars = named_of(handle, name, *length / sizeof(WCHAR), made, LINUX_PATH_MAX)) > drive &&
        made[drive - 1] == ':')
    {
        bytes = (chars - drive) * sizeof(WCHAR);
        io->Information -= min(*length, (ULONG)io->Information);
        *length = bytes;
        if (bytes > size)
            status = io->Status = STATUS_BUFFER_OVERFLOW;
        memcpy(name, made + drive, min(bytes, size));
        io->Information += min(bytes, size);
    }
    heap_free(made);
    return status;
}
