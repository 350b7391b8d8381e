/* Names that lead out of the drives. */
#include "drive.h"

#include "heap.h"
#include "names.h"
#include "way.h"

/* The part of a name below its drive, and the drive's letter; NULL: the name is not that of a place on a drive. */
static const WCHAR *below_drive(const UNICODE_STRING *name, char *letter)
{
    static const struct
    {
        ULONG length;
        WCHAR text[13];
    } heads[] = {{4, L"\\??\\"}, {12, L"\\DosDevices\\"}};
    ULONG chars = name->Length / sizeof(WCHAR);
    const WCHAR *p;

    for (unsigned i = 0; i < 2; i++)
        if (chars > heads[i].length + 2 && path_same_name(name->Buffer, heads[i].text, heads[i].length))
        {
            p = name->Buffer + heads[i].length;
            *letter = (char)(p[0] | 0x20);
            return p[1] == ':' && p[2] == '\\' && (p[0] | 0x20) >= 'a' && (p[0] | 0x20) <= 'z' ? p + 2 : NULL;
        }
    return NULL;
}

/* The name as a Linux path below its drive or folder, without regard to the case on disk; NULL: no memory. */
static char *path_below(const WCHAR *name, ULONG chars)
{
    char *path = heap_alloc(chars * 3 + 1);

    if (path)
        names_to_path(name, chars, path, chars * 3 + 1);
    return path;
}

/*
 * Checks that an entry of exactly this spelling exists and that no link on the way to it leaves the folder; else a
 * negative error number.
 */
static int way_stays(HANDLE root, char letter, const WCHAR *name, ULONG chars)
{
    BOOL held = !root && letter == 'c';
    char *path = path_below(name, chars);
    int dir, result, place;

    if (!path)
        return -LX_EAGAIN;
    dir = root ? path_fd_of(root) : held ? drive_hold_c() : drive_open(letter);
    result = dir < 0 ? 0 : drive_place(dir, path, 0, LX_RESOLVE_BENEATH);   /* no drive, no folder: no file */
    if (result == -LX_EXDEV && (place = drive_place(dir, path, 0, 0)) >= 0) /* by way of dosdevices */
    {
        result = drive_holds_fd(place) ? 0 : -LX_EXDEV;
        lx_close(place);
    }
    if (dir >= 0 && !held)
        lx_close(dir);
    if (result > 0)
        lx_close(result);
    heap_free(path);
    return result;
}

NTSTATUS drive_holds(const OBJECT_ATTRIBUTES *attributes, BOOL follow, BOOL *unsure)
{
    const UNICODE_STRING *name = attributes->ObjectName;
    const WCHAR *part = name ? name->Buffer : NULL;
    NTSTATUS status = STATUS_SUCCESS;
    char letter = 0, *path;
    ULONG chars;
    int result;

    if (unsure)
        *unsure = FALSE;
    if (part && !attributes->RootDirectory)
        part = below_drive(name, &letter);
    chars = part ? name->Length / sizeof(WCHAR) - (ULONG)(part - name->Buffer) : 0;
    while (chars && *part == '\\')
        part++, chars--;
    while (chars && !follow && part[chars - 1] == '\\')
        chars--;
    while (chars && !follow && part[chars - 1] != '\\')
        chars--;
    if (!chars || (result = way_stays(attributes->RootDirectory, letter, part, chars)) >= 0)
        return STATUS_SUCCESS;
    if (unsure && result == -LX_ENOENT)
        *unsure = TRUE;
    else if (!(path = heap_alloc(LINUX_PATH_MAX)))
        status = STATUS_NO_MEMORY;
    else
    {
        status = path_of(attributes, path, LINUX_PATH_MAX);
        if (!status || status == STATUS_NO_SUCH_FILE)
            status = drive_holds_path(path, follow);
        else if (!way_has(attributes) && status != STATUS_BUFFER_TOO_SMALL && status != STATUS_NAME_TOO_LONG &&
                 status != STATUS_NO_MEMORY)
            status = STATUS_SUCCESS; /* Wine finds as little */
        heap_free(path);
    }
    return status;
}

NTSTATUS drive_holds_dos(const WCHAR *name, BOOL follow)
{
    OBJECT_ATTRIBUTES attributes;
    UNICODE_STRING string;
    NTSTATUS status;

    if (!RtlDosPathNameToNtPathName_U(name, &string, NULL, NULL))
        return STATUS_OBJECT_PATH_NOT_FOUND;
    set_attributes(&attributes, NULL, &string, OBJ_CASE_INSENSITIVE);
    status = drive_holds(&attributes, follow, NULL);
    RtlFreeUnicodeString(&string);
    return status;
}
