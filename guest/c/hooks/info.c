/*
 * Queries of a link's handle, and its closing: NtQueryInformationFile, NtQueryObject, NtDuplicateObject, NtClose. The
 * handle is one of the link's folder, so queries that are not answered here (volume, device type, security) are
 * answered for the folder.
 */
#include <string.h>

#include "disk.h"
#include "entry.h"
#include "heap.h"
#include "hooks.h"
#include "named.h"
#include "names.h"
#include "stdhandle.h"
#include "stream.h"

static NTSTATUS fill_name(struct link *link, HANDLE handle, ULONG *length, WCHAR *name, ULONG room)
{
    struct
    {
        ULONG length;
        WCHAR name[LINUX_PATH_MAX];
    } *folder = heap_alloc(sizeof(*folder));
    IO_STATUS_BLOCK io;
    NTSTATUS status;
    ULONG chars;

    if (!folder)
        return STATUS_NO_MEMORY;
    if (!(status = originals.NtQueryInformationFile(handle, &io, folder, sizeof(*folder) - 512, CLASS_NAME)))
    {
        chars = folder->length / sizeof(WCHAR);
        if (chars && folder->name[chars - 1] != '\\')
            folder->name[chars++] = '\\';
        chars += name_from_linux(link->place.name, folder->name + chars);
        *length = chars * sizeof(WCHAR);
        if (room < *length)
            status = STATUS_BUFFER_OVERFLOW;
        memcpy(name, folder->name, room < *length ? room : *length);
    }
    heap_free(folder);
    return status;
}

static void fill_standard(const struct link *link, const struct entry *entry, struct nt_standard_info *info)
{
    memset(info, 0, sizeof(*info));
    info->links = 1;
    info->delete_pending = (BOOLEAN)link->delete_on_close;
    info->directory = (entry->attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

static NTSTATUS fill_all(struct link *link, HANDLE handle, const struct entry *entry, struct nt_all_info *info,
                         ULONG length, ULONG_PTR *used)
{
    NTSTATUS status;

    memset(info, 0, FIELD_OFFSET(struct nt_all_info, name));
    entry_fill_basic(&entry->st, entry->attributes, &info->basic);
    fill_standard(link, entry, &info->standard);
    info->index = entry->st.ino;
    status = fill_name(link, handle, &info->name_length, info->name, length - FIELD_OFFSET(struct nt_all_info, name));
    *used = status ? length : FIELD_OFFSET(struct nt_all_info, name) + info->name_length;
    return status;
}

/* Wine 10's GetFileInformationByHandle asks for this class; Wine 8's asks for CLASS_ALL. */
static void fill_stat(const struct entry *entry, struct nt_stat_info *info)
{
    struct nt_basic_info basic;

    memset(info, 0, sizeof(*info));
    entry_fill_basic(&entry->st, entry->attributes, &basic);
    info->id = entry->st.ino;
    memcpy(&info->creation, &basic, 4 * sizeof(LARGE_INTEGER));
    info->attributes = entry->attributes;
    info->tag = entry->tag;
    info->links = 1;
    info->rights = FILE_ALL_ACCESS;
}

/* The smallest buffer for a class, or 0 for a class that a link does not answer itself. */
static ULONG size_of_class(ULONG class)
{
    switch (class)
    {
    case CLASS_BASIC: return sizeof(struct nt_basic_info);
    case CLASS_STANDARD: return sizeof(struct nt_standard_info);
    case CLASS_INTERNAL: return 8;
    case CLASS_EA: return 4;
    case CLASS_NAME: return 4;
    case CLASS_ALL: return FIELD_OFFSET(struct nt_all_info, name) + sizeof(WCHAR) * 2;
    case CLASS_NETWORK_OPEN: return sizeof(struct nt_network_open_info);
    case CLASS_ATTRIBUTE_TAG: return 8;
    case CLASS_ID: return 24;
    case CLASS_STAT: return sizeof(struct nt_stat_info);
    default: return 0;
    }
}

static NTSTATUS query_link(struct link *link, HANDLE handle, IO_STATUS_BLOCK *io, void *buffer, ULONG length,
                           ULONG class)
{
    NTSTATUS status = STATUS_SUCCESS;
    struct nt_basic_info basic;
    struct entry entry;

    if (length < size_of_class(class))
        return STATUS_INFO_LENGTH_MISMATCH;
    if (!entry_read(link->place.dir, link->place.name, &entry))
        return STATUS_DELETE_PENDING; /* another removed it; the handle still exists */
    io->Information = size_of_class(class);
    switch (class)
    {
    case CLASS_BASIC: entry_fill_basic(&entry.st, entry.attributes, buffer); break;
    case CLASS_STANDARD: fill_standard(link, &entry, buffer); break;
    case CLASS_INTERNAL: memcpy(buffer, &entry.st.ino, 8); break;
    case CLASS_EA: memset(buffer, 0, 4); break;
    case CLASS_ALL: status = fill_all(link, handle, &entry, buffer, length, &io->Information); break;
    case CLASS_ATTRIBUTE_TAG:
        ((ULONG *)buffer)[0] = entry.attributes;
        ((ULONG *)buffer)[1] = entry.tag;
        break;
    case CLASS_NAME:
        status = fill_name(link, handle, buffer, (WCHAR *)buffer + 2, length - 4);
        io->Information = status ? length : 4 + *(ULONG *)buffer;
        break;
    case CLASS_NETWORK_OPEN:
        memset(buffer, 0, sizeof(struct nt_network_open_info));
        entry_fill_basic(&entry.st, entry.attributes, &basic);
        memcpy(buffer, &basic, 4 * sizeof(LARGE_INTEGER));
        ((struct nt_network_open_info *)buffer)->attributes = basic.attributes;
        break;
    case CLASS_STAT: fill_stat(&entry, buffer); break;
    case CLASS_ID: /* volume serial (the folder's is good), then the 128-bit id */
        status = originals.NtQueryInformationFile(handle, io, buffer, length, class);
        memset((BYTE *)buffer + 8, 0, 16);
        memcpy((BYTE *)buffer + 8, &entry.st.ino, 8);
        break;
    }
    return status;
}

/*
 * Wine 8.0 refuses the question; no file is compressed. kj asks it of each file that it opens
 * (src/kj/filesystem-disk-win32.c++).
 */
static NTSTATUS query_compression(HANDLE handle, IO_STATUS_BLOCK *io, struct nt_compression_info *info, ULONG length)
{
    struct nt_standard_info standard;
    NTSTATUS status;

    if (length < sizeof(*info))
        return STATUS_INFO_LENGTH_MISMATCH;
    if ((status = originals.NtQueryInformationFile(handle, io, &standard, sizeof(standard), CLASS_STANDARD)))
        return status;
    memset(info, 0, sizeof(*info));
    info->size = standard.allocation;
    io->Information = sizeof(*info);
    return io->Status = STATUS_SUCCESS;
}

static NTSTATUS WINAPI hook_NtQueryInformationFile(HANDLE handle, IO_STATUS_BLOCK *io, void *buffer, ULONG length,
                                                   ULONG class)
{
    struct link *link = entry_link_get(handle);
    NTSTATUS status;

    if (!link)
    {
        status = originals.NtQueryInformationFile(handle, io, buffer, length, class);
        if (status == STATUS_NOT_IMPLEMENTED && class == CLASS_COMPRESSION)
            return query_compression(handle, io, buffer, length);
        if (class == CLASS_NAME)
            status = named_file(status, handle, io, buffer, length - sizeof(ULONG));
        else if (class == CLASS_ALL)
            status = named_file(status, handle, io, &((struct nt_all_info *)buffer)->name_length,
                                length - FIELD_OFFSET(struct nt_all_info, name));
        return stdhandle_query(status, handle, io, buffer, length, class);
    }
    if (!size_of_class(class))
        status = originals.NtQueryInformationFile(handle, io, buffer, length, class);
    else
    {
        io->Information = 0;
        EnterCriticalSection(&link->lock);
        status = query_link(link, handle, io, buffer, length, class);
        LeaveCriticalSection(&link->lock);
        io->Status = status;
    }
    entry_link_release(link);
    return status;
}

/* ObjectNameInformation, which GetFinalPathNameByHandleW reads: the folder's name, followed by the link's. */
static NTSTATUS WINAPI hook_NtQueryObject(HANDLE handle, ULONG class, void *buffer, ULONG length, ULONG *needed)
{
    struct link *link = class == 1 ? entry_link_get(handle) : NULL;
    UNICODE_STRING *name = buffer;
    WCHAR last[1 + NAME_ROOM];
    NTSTATUS status;
    ULONG chars, total;

    status = originals.NtQueryObject(handle, class, buffer, length, needed);
    if (class == 1)
    {
        status = named_object(status, handle, buffer, length, needed);
        status = disk_name(status, buffer, length, needed);
    }
    if (!link)
        return status;
    last[0] = '\\';
    chars = 1 + name_from_linux(link->place.name, last + 1);
    if (needed)
        *needed += chars * sizeof(WCHAR);
    if (!status && name->Length)
    {
        total = name->Length + chars * sizeof(WCHAR);
        if (sizeof(*name) + total + sizeof(WCHAR) > length)
            status = STATUS_BUFFER_OVERFLOW;
        else
        {
            memcpy((BYTE *)name->Buffer + name->Length, last, chars * sizeof(WCHAR));
            name->Length = (USHORT)total;
            name->MaximumLength = (USHORT)(total + sizeof(WCHAR));
            name->Buffer[total / sizeof(WCHAR)] = 0;
        }
    }
    entry_link_release(link);
    return status;
}

static void copy_link(struct link *link, HANDLE to)
{
    struct place place = link->place;

    if ((place.dir = lx_dup(link->place.dir)) >= 0 && !entry_link_put(to, &place))
        path_place_close(&place);
}

/* Releases a closed handle's object. A link that is to be deleted on close is deleted first. */
static void let_go(struct object *object)
{
    struct link *link = (struct link *)object;
    struct entry entry;

    if (object->type == OBJECT_LINK && link->delete_on_close && entry_read(link->place.dir, link->place.name, &entry))
        lx_unlinkat(link->place.dir, link->place.name, 0);
    table_object_release(object);
}

static NTSTATUS WINAPI hook_NtDuplicateObject(HANDLE from_process, HANDLE from, HANDLE to_process, HANDLE *to,
                                              ACCESS_MASK access, ULONG attributes, ULONG options)
{
    struct object *closing = (options & DUPLICATE_CLOSE_SOURCE) && from_process == GetCurrentProcess()
                                 ? table_take(from)
                                 : NULL;
    struct link *link = closing ? NULL : from_process == GetCurrentProcess() ? entry_link_get(from) : NULL;
    NTSTATUS status;

    if (!closing && from_process == GetCurrentProcess())
        stream_leave(from);
    status = originals.NtDuplicateObject(from_process, from, to_process, to, access, attributes, options);
    if (!status && to && to_process == GetCurrentProcess())
    {
        if (link)
            copy_link(link, *to);
        else if (closing)
        {
            table_put(*to, closing); /* the same object under its new handle */
            closing = NULL;
        }
    }
    if (closing)
        let_go(closing);
    if (link)
        entry_link_release(link);
    return status;
}

static NTSTATUS WINAPI hook_NtClose(HANDLE handle)
{
    struct object *object = table_take(handle);
    NTSTATUS status;

    if (!object)
        return originals.NtClose(handle);
    table_object_hold(object);
    let_go(object); /* before the close, so that the name is gone when the caller goes on */
    status = originals.NtClose(handle);
    table_object_release(object);
    return status;
}

BOOL info_start(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");

    return PATCH(ntdll, NtClose) && PATCH(ntdll, NtDuplicateObject) && PATCH(ntdll, NtQueryInformationFile) &&
           PATCH(ntdll, NtQueryObject);
}
