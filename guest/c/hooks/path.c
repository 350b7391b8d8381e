/* From NT names to Linux paths. */
#include "path.h"

#include <string.h>

#include "way.h"

/* The path of an entry that way_of has found. */
static NTSTATUS path_of_way(const OBJECT_ATTRIBUTES *attributes, char *path, ULONG size)
{
    struct place place;
    NTSTATUS status = way_of(attributes, &place);
    int length;

    if (status != STATUS_SUCCESS && status != STATUS_NO_SUCH_FILE)
        return status;
    length = lx_fd_path(place.dir, path, size - 1);
    if (length < 0 || length + 1 + strlen(place.name) >= size)
        status = STATUS_NAME_TOO_LONG;
    else
    {
        path[length] = '/';
        memcpy(path + length + 1, place.name, strlen(place.name) + 1);
    }
    path_place_close(&place);
    return status;
}

NTSTATUS path_of(const OBJECT_ATTRIBUTES *attributes, char *path, ULONG size)
{
    return way_has(attributes) ? path_of_way(attributes, path, size) : path_plain(attributes, path, size);
}

NTSTATUS path_of_name(HANDLE root, const WCHAR *name, ULONG bytes, char *path, ULONG size)
{
    UNICODE_STRING string = {(USHORT)bytes, (USHORT)bytes, (WCHAR *)name};
    OBJECT_ATTRIBUTES attributes;

    if (bytes > 0xfffe)
        return STATUS_OBJECT_NAME_INVALID; /* longer than a counted string can be */
    set_attributes(&attributes, root, &string, OBJ_CASE_INSENSITIVE);
    return path_of(&attributes, path, size);
}

NTSTATUS path_of_dos(const WCHAR *name, char *path, ULONG size)
{
    UNICODE_STRING string;
    NTSTATUS status;

    if (!RtlDosPathNameToNtPathName_U(name, &string, NULL, NULL))
        return STATUS_OBJECT_PATH_NOT_FOUND;
    status = path_of_name(NULL, string.Buffer, string.Length, path, size);
    RtlFreeUnicodeString(&string);
    return status;
}
