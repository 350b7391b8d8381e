/*
 * Opening links themselves, and the attributes of links by name.
 *
 * Facts (Wine 8.0): its ntdll follows Linux links in every open, whatever FILE_OPEN_REPARSE_POINT says, and
 * kernelbase!CreateFileW drops FILE_FLAG_OPEN_REPARSE_POINT. Its DeleteFileW, RemoveDirectoryW and MoveFileExW open
 * with DELETE and no data access where Windows opens the link itself (learn.microsoft.com, "Symbolic Link Effects on
 * File Systems Functions").
 */
#include "open.h"

#include <string.h>

#include "deep.h"
#include "disk.h"
#include "drive.h"
#include "entry.h"
#include "heap.h"
#include "hooks.h"
#include "linkopen.h"
#include "named.h"
#include "names.h"
#include "security.h"
#include "services.h"
#include "way.h"

#define NOT_OURS ((NTSTATUS)0x7fffffff) /* call the original */
#define DATA_ACCESS \
    (FILE_READ_DATA | FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_EXECUTE | GENERIC_READ | GENERIC_WRITE | GENERIC_ALL | \
     GENERIC_EXECUTE)
#define TEB_TLS_SLOTS 0x1480 /* winternl.h, TEB.TlsSlots of 64-bit Windows */

typedef HANDLE(WINAPI *create_file)(const WCHAR *, DWORD, DWORD, SECURITY_ATTRIBUTES *, DWORD, DWORD, HANDLE);

enum inside /* which function this thread is in */
{
    INSIDE_NOTHING = 0,
    INSIDE_FOLLOWING, /* CreateFileW without FILE_FLAG_OPEN_REPARSE_POINT */
    INSIDE_LINK       /* CreateFileW with it */
};

static create_file original_create_file;
static DWORD slot = TLS_OUT_OF_INDEXES;
static BYTE *kernelbase_start, *kernelbase_end;

static UINT64 slot_get(void)
{
    return slot < 64 ? __readgsqword(TEB_TLS_SLOTS + 8 * slot) : INSIDE_NOTHING;
}

static void slot_set(UINT64 value)
{
    if (slot < 64)
        __writegsqword(TEB_TLS_SLOTS + 8 * slot, value);
}

BOOL open_in_kernelbase(const void *address)
{
    return (const BYTE *)address >= kernelbase_start && (const BYTE *)address < kernelbase_end;
}

static BOOL means_link(ACCESS_MASK access, ULONG options, const void *caller)
{
    UINT64 inside = slot_get();

    if ((options & FILE_OPEN_REPARSE_POINT) || inside == INSIDE_LINK)
        return TRUE;
    if (inside == INSIDE_FOLLOWING || !open_in_kernelbase(caller))
        return FALSE;
    return (access & DELETE) && !(access & DATA_ACCESS);
}

/* Opens the folder that holds the entry named by attributes, as the handle that will stand for the entry. */
static NTSTATUS open_folder_of(HANDLE *handle, const OBJECT_ATTRIBUTES *attributes, IO_STATUS_BLOCK *io)
{
    UNICODE_STRING folder = *attributes->ObjectName;
    OBJECT_ATTRIBUTES of_folder = *attributes;

    while (folder.Length && folder.Buffer[folder.Length / sizeof(WCHAR) - 1] != '\\')
        folder.Length -= sizeof(WCHAR);
    if (!folder.Length) /* a bare name below a folder's handle; Wine refuses "." there */
        return originals.NtDuplicateObject(GetCurrentProcess(), attributes->RootDirectory, GetCurrentProcess(), handle,
                                           0, attributes->Attributes & OBJ_INHERIT, DUPLICATE_SAME_ACCESS);
    of_folder.ObjectName = &folder;
    of_folder.Attributes = (attributes->Attributes & OBJ_INHERIT) | OBJ_CASE_INSENSITIVE;
    of_folder.SecurityDescriptor = NULL;
    return originals.NtOpenFile(handle, FILE_READ_ATTRIBUTES | SYNCHRONIZE, &of_folder, io,
                                FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                FILE_DIRECTORY_FILE | FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_FOR_BACKUP_INTENT);
}

/*
 * Finds the entry that a name means; NOT_OURS: it is no reparse point. A bare name below a folder's handle needs no
 * path, which would be too long for an entry far below its drive.
 */
static NTSTATUS find_entry(const OBJECT_ATTRIBUTES *attributes, char *path, struct place *place, struct entry *entry)
{
    const UNICODE_STRING *name = attributes->ObjectName;
    BOOL bare = attributes->RootDirectory && name->Length && name->Length < sizeof(place->name) * sizeof(WCHAR);
    NTSTATUS status;

    for (ULONG i = 0; bare && i < name->Length / sizeof(WCHAR); i++)
        bare = name->Buffer[i] != '\\';
    if (bare && name_to_linux(name->Buffer, name->Length / sizeof(WCHAR), place->name) &&
        (place->dir = path_fd_of(attributes->RootDirectory)) >= 0)
    {
        if (entry_read(place->dir, place->name, entry))
            return STATUS_SUCCESS;
        path_place_close(place);
    }
    if (path_of(attributes, path, LINUX_PATH_MAX) || !entry_read(LX_AT_FDCWD, path, entry))
        return NOT_OURS;
    status = drive_holds_path(path, FALSE);
    return status ? status : path_place_open(path, place);
}

/* Opens the entry itself if it is a link or a socket file, otherwise returns NOT_OURS. */
static NTSTATUS open_link(HANDLE *handle, const OBJECT_ATTRIBUTES *attributes, IO_STATUS_BLOCK *io, ULONG disposition,
                          ULONG options, char *path)
{
    struct place place = {-1, {0}};
    struct entry entry;
    NTSTATUS status;

    if (!linkopen_has(disposition))
        return NOT_OURS;
    if ((status = find_entry(attributes, path, &place, &entry)))
        return status;
    if (!(status = linkopen_allowed(&entry, disposition, options)) &&
        !(status = open_folder_of(handle, attributes, io)))
    {
        status = linkopen_done(*handle, &place, options);
        io->Status = status;
        io->Information = FILE_OPENED;
    }
    path_place_close(&place);
    return status;
}

/* OBJ_DONT_REPARSE: no component may be a link, except the last one if the link itself is opened. */
static BOOL has_link(const OBJECT_ATTRIBUTES *attributes, BOOL last_allowed, char *path)
{
    unsigned components = 1;
    struct entry entry;
    char *end;

    if (path_of(attributes, path, LINUX_PATH_MAX))
        return FALSE;
    for (ULONG i = 0; i + 1 < attributes->ObjectName->Length / sizeof(WCHAR); i++)
        components += attributes->ObjectName->Buffer[i] == '\\';
    if (!attributes->RootDirectory)
        components -= components > 3 ? 3 : components; /* \ ?? \ C: */
    end = path + strlen(path);
    for (; components > 0 && end > path; components--)
    {
        *end = 0;
        if (!last_allowed && entry_read(LX_AT_FDCWD, path, &entry))
            return TRUE;
        last_allowed = FALSE;
        while (end > path && *--end != '/')
            ;
    }
    return FALSE;
}

/*
 * The part of an open before the original: returns the answer, STATUS_SUCCESS or an error, or NOT_OURS to call the
 * original.
 */
static NTSTATUS before_open(HANDLE *handle, const OBJECT_ATTRIBUTES *attributes, IO_STATUS_BLOCK *io, ULONG disposition,
                            ULONG options, BOOL link)
{
    struct link *root = attributes->RootDirectory ? entry_link_get(attributes->RootDirectory) : NULL;
    NTSTATUS status = NOT_OURS;
    char *path;

    if (root)
    {
        entry_link_release(root);
        if (attributes->ObjectName && attributes->ObjectName->Length)
            return STATUS_OBJECT_PATH_NOT_FOUND; /* nothing is below a link itself; Wine would look below its folder */
    }
    if ((!link && !(attributes->Attributes & OBJ_DONT_REPARSE_FLAG)) || !attributes->ObjectName ||
        !(path = heap_alloc(LINUX_PATH_MAX)))
        return NOT_OURS;
    if ((attributes->Attributes & OBJ_DONT_REPARSE_FLAG) && has_link(attributes, link, path))
        status = STATUS_REPARSE_POINT_ENCOUNTERED;
    else if (link)
        status = open_link(handle, attributes, io, disposition, options, path);
    heap_free(path);
    return status;
}

/* After an open without effect on the file (see drive_holds): what lies on no drive is closed again. */
static NTSTATUS keep_on_drive(HANDLE handle, const OBJECT_ATTRIBUTES *attributes)
{
    NTSTATUS status = drive_holds_handle(handle) ? STATUS_SUCCESS : drive_holds(attributes, TRUE, NULL);

    if (status)
        originals.NtClose(handle);
    return status;
}

/*
 * Wine removes a file when its handle is closed, and says nothing if it cannot. Of what is mounted read-only Windows
 * says so when it is opened.
 */
static NTSTATUS may_remove(HANDLE handle)
{
    if (!path_is_read_only(handle))
        return STATUS_SUCCESS;
    originals.NtClose(handle);
    return STATUS_ACCESS_DENIED;
}

/* A socket file cannot be opened: Linux answers ENXIO, Windows with a status that names the kind of entry. */
static NTSTATUS after_open(NTSTATUS status, const OBJECT_ATTRIBUTES *attributes)
{
    struct entry entry;
    char *path;

    if (status == STATUS_MEDIA_WRITE_PROTECTED) /* as Windows says of a folder that it shows read-only */
        return STATUS_ACCESS_DENIED;
    if (status >= 0 || status == STATUS_OBJECT_NAME_NOT_FOUND || status == STATUS_OBJECT_PATH_NOT_FOUND ||
        status == STATUS_SHARING_VIOLATION || status == STATUS_OBJECT_NAME_COLLISION || !attributes->ObjectName ||
        !(path = heap_alloc(LINUX_PATH_MAX)))
        return status;
    if (!path_of(attributes, path, LINUX_PATH_MAX) && entry_read(LX_AT_FDCWD, path, &entry) && entry.tag == TAG_AF_UNIX)
        status = STATUS_IO_REPARSE_TAG_NOT_HANDLED;
    heap_free(path);
    return status;
}

static NTSTATUS WINAPI hook_NtCreateFile(HANDLE *handle, ACCESS_MASK access, OBJECT_ATTRIBUTES *attributes,
                                         IO_STATUS_BLOCK *io, LARGE_INTEGER *size, ULONG file_attributes, ULONG share,
                                         ULONG disposition, ULONG options, void *ea, ULONG ea_length)
{
    BOOL makes = disposition == FILE_OPEN_IF || disposition == FILE_OVERWRITE_IF || disposition == FILE_SUPERSEDE;
    BOOL quick = (disposition == FILE_OPEN || makes) && !(options & FILE_DELETE_ON_CLOSE), unsure = FALSE;
    ULONG first = disposition;
    OBJECT_ATTRIBUTES plain;
    unsigned attempt = 0;
    NTSTATUS status;

    if (!attributes)
        return originals.NtCreateFile(handle, access, attributes, io, size, file_attributes, share, disposition,
                                      options, ea, ea_length);
    if ((options & FILE_NON_DIRECTORY_FILE) && disk_names_volume(attributes))
    {
        access = FILE_READ_ATTRIBUTES | SYNCHRONIZE; /* of its bytes nothing is to be read */
        options &= ~FILE_NON_DIRECTORY_FILE;
    }
    if (way_has(attributes))
        return named_create(handle, access, attributes, io, size, file_attributes, share, disposition, options,
                            means_link(access, options, __builtin_return_address(0)));
    status = before_open(handle, attributes, io, disposition, options,
                         means_link(access, options, __builtin_return_address(0)));
    if (status != NOT_OURS)
        return status;
    if ((status = drive_holds(attributes, disposition != FILE_CREATE, quick ? &unsure : NULL)))
        return status;
    if (unsure && makes) /* a new name, most likely: made as one, it cannot be a link's */
    {
        first = FILE_CREATE;
        if ((status = drive_holds(attributes, FALSE, NULL)))
            return status;
    }
    plain = *attributes;
    plain.Attributes &= ~OBJ_DONT_REPARSE_FLAG;
    options &= ~FILE_OPEN_REPARSE_POINT; /* Wine would call mount points reparse points */
    do
        status = originals.NtCreateFile(handle, access, &plain, io, size, file_attributes, share, first, options, ea,
                                        ea_length);
    while (services_try_again(status, &plain, attempt++));
    if (first != disposition && status == STATUS_OBJECT_NAME_COLLISION &&
        !(status = drive_holds(attributes, TRUE, NULL)))
        status = originals.NtCreateFile(handle, access, &plain, io, size, file_attributes, share, disposition, options,
                                        ea, ea_length);
    else if (!status && unsure && !makes)
        status = keep_on_drive(*handle, attributes);
    if (!status && (options & FILE_DELETE_ON_CLOSE))
        status = may_remove(*handle);
    if (!status && plain.SecurityDescriptor && io->Information == FILE_CREATED)
        security_of_new(*handle, plain.SecurityDescriptor);
    if (!status)
        deep_opened(*handle, access, attributes);
    return after_open(status, attributes);
}

static NTSTATUS WINAPI hook_NtOpenFile(HANDLE *handle, ACCESS_MASK access, OBJECT_ATTRIBUTES *attributes,
                                       IO_STATUS_BLOCK *io, ULONG share, ULONG options)
{
    BOOL unsure = FALSE;
    OBJECT_ATTRIBUTES plain;
    unsigned attempt = 0;
    NTSTATUS status;

    if (!attributes)
        return originals.NtOpenFile(handle, access, attributes, io, share, options);
    if (way_has(attributes))
        return named_create(handle, access, attributes, io, NULL, 0, share, FILE_OPEN, options,
                            means_link(access, options, __builtin_return_address(0)));
    status = before_open(handle, attributes, io, FILE_OPEN, options,
                         means_link(access, options, __builtin_return_address(0)));
    if (status != NOT_OURS)
        return status;
    if ((status = drive_holds(attributes, TRUE, options & FILE_DELETE_ON_CLOSE ? NULL : &unsure)))
        return status;
    plain = *attributes;
    plain.Attributes &= ~OBJ_DONT_REPARSE_FLAG;
    options &= ~FILE_OPEN_REPARSE_POINT;
    do
        status = originals.NtOpenFile(handle, access, &plain, io, share, options);
    while (services_try_again(status, &plain, attempt++));
    if (!status && unsure)
        status = keep_on_drive(*handle, attributes);
    if (!status && (options & FILE_DELETE_ON_CLOSE))
        status = may_remove(*handle);
    if (!status)
        deep_opened(*handle, access, attributes);
    return after_open(status, attributes);
}

static NTSTATUS WINAPI hook_NtDeleteFile(OBJECT_ATTRIBUTES *attributes)
{
    IO_STATUS_BLOCK io;
    NTSTATUS status;
    HANDLE handle;

    if (way_has(attributes))
        return (status = named_create(&handle, DELETE, attributes, &io, NULL, 0, 7, FILE_OPEN, FILE_DELETE_ON_CLOSE,
                                      TRUE))
                   ? status
                   : NtClose(handle);
    status = before_open(&handle, attributes, &io, FILE_OPEN, FILE_DELETE_ON_CLOSE, TRUE);
    if (status != NOT_OURS)
        return status ? status : NtClose(handle);
    status = drive_holds(attributes, TRUE, NULL);
    return status ? status : originals.NtDeleteFile(attributes);
}

/*
 * Reads the entry named by attributes. NOT_OURS: it is not a reparse point. STATUS_OBJECT_NAME_NOT_FOUND: its folder
 * has nothing of that name, in no case. Wine has read the whole folder to know that, and would do so again.
 */
static NTSTATUS read_named(const OBJECT_ATTRIBUTES *attributes, struct entry *entry)
{
    char *path = heap_alloc(LINUX_PATH_MAX);
    NTSTATUS status = path ? path_of(attributes, path, LINUX_PATH_MAX) : NOT_OURS;

    if (status == STATUS_NO_SUCH_FILE)
        status = STATUS_OBJECT_NAME_NOT_FOUND;
    else if (status || !entry_read(LX_AT_FDCWD, path, entry) || drive_holds_path(path, FALSE))
        status = NOT_OURS;
    heap_free(path);
    return status;
}

static NTSTATUS WINAPI hook_NtQueryAttributesFile(const OBJECT_ATTRIBUTES *attributes, struct nt_basic_info *info)
{
    struct stand_in stand;
    struct entry entry;
    NTSTATUS status;
    BOOL unsure;

    if (way_has(attributes) && read_named(attributes, &entry))
    {
        if ((status = named_place(attributes, &stand)))
            return status;
        status = originals.NtQueryAttributesFile(&stand.attributes, info);
        way_stand_in_close(&stand);
        return status;
    }
    if ((status = drive_holds(attributes, FALSE, &unsure)))
        return status;
    if (!(status = read_named(attributes, &entry)))
        entry_fill_basic(&entry.st, entry.attributes, info);
    if (status != NOT_OURS)
        return status;
    if (!(status = originals.NtQueryAttributesFile(attributes, info)) && unsure)
        status = drive_holds(attributes, TRUE, NULL);
    if (!status)
        info->attributes &= ~FILE_ATTRIBUTE_REPARSE_POINT; /* a mount point of Linux */
    return status;
}

static NTSTATUS WINAPI hook_NtQueryFullAttributesFile(const OBJECT_ATTRIBUTES *attributes,
                                                      struct nt_network_open_info *info)
{
    struct nt_basic_info basic;
    struct stand_in stand;
    struct entry entry;
    NTSTATUS status;
    BOOL unsure;

    if (way_has(attributes) && read_named(attributes, &entry))
    {
        if ((status = named_place(attributes, &stand)))
            return status;
        status = originals.NtQueryFullAttributesFile(&stand.attributes, info);
        way_stand_in_close(&stand);
        return status;
    }
    if ((status = drive_holds(attributes, FALSE, &unsure)))
        return status;
    if (!(status = read_named(attributes, &entry)))
    {
        entry_fill_basic(&entry.st, entry.attributes, &basic);
        memset(info, 0, sizeof(*info));
        memcpy(info, &basic, 4 * sizeof(LARGE_INTEGER));
        info->attributes = basic.attributes;
    }
    if (status != NOT_OURS)
        return status;
    if (!(status = originals.NtQueryFullAttributesFile(attributes, info)) && unsure)
        status = drive_holds(attributes, TRUE, NULL);
    if (!status)
        info->attributes &= ~FILE_ATTRIBUTE_REPARSE_POINT;
    return status;
}

static HANDLE WINAPI hook_CreateFileW(const WCHAR *name, DWORD access, DWORD share, SECURITY_ATTRIBUTES *security,
                                      DWORD creation, DWORD flags, HANDLE template)
{
    UINT64 outer = slot_get();
    HANDLE handle;

    slot_set(flags & FILE_FLAG_OPEN_REPARSE_POINT ? INSIDE_LINK : INSIDE_FOLLOWING);
    handle = original_create_file(name, access, share, security, creation, flags, template);
    slot_set(outer);
    return handle;
}

void open_start(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll"), kernelbase = GetModuleHandleW(L"kernelbase.dll");
    IMAGE_NT_HEADERS *headers = (IMAGE_NT_HEADERS *)((BYTE *)kernelbase + ((IMAGE_DOS_HEADER *)kernelbase)->e_lfanew);

    kernelbase_start = (BYTE *)kernelbase;
    kernelbase_end = kernelbase_start + headers->OptionalHeader.SizeOfImage;
    slot = TlsAlloc();
    PATCH(ntdll, NtCreateFile);
    PATCH(ntdll, NtOpenFile);
    PATCH(ntdll, NtDeleteFile);
    PATCH(ntdll, NtQueryAttributesFile);
    PATCH(ntdll, NtQueryFullAttributesFile);
    patch_function(kernelbase, "CreateFileW", hook_CreateFileW, (void **)&original_create_file);
}
