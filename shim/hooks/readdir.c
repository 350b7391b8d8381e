/*
 * Directory listings: NtQueryDirectoryFile.
 *
 * Facts (Wine 8.0, dlls/ntdll/unix/file.c get_file_info): a listing leaves out links without a target, describes the
 * target instead of the link, carries no reparse tag, and calls mount points of Linux reparse points. So Wine's own
 * listing is corrected entry by entry, and the missing entries are added at its end. On Windows the tag is in the field
 * that otherwise holds the size of the extended attributes ([MS-FSCC] 2.4.8 EaSize).
 *
 * FindNextFileW (kernelbase) writes 0 where Windows has the tag (WIN32_FIND_DATA dwReserved0, which Python's os.scandir
 * reads). It is the only function of kernelbase that lists with FileBothDirectoryInformation. So for this class the tag
 * is put into the upper half of the file's size, which is 0 for every link, and moved to its place after FindNextFileW.
 */
#include <string.h>

#include "entry.h"
#include "hooks.h"
#include "open.h"

static BOOL(WINAPI *original_find_next)(HANDLE, WIN32_FIND_DATAW *);

struct item
{
    struct entry entry;
    BOOL seen; /* Wine has listed it, or we have */
    ULONG length;
    WCHAR name[256];
    struct item *next;
};

/* A listing under way on a directory handle. */
struct scan
{
    struct object object;
    SRWLOCK lock;
    struct item *items;
    ULONG mask_length;
    WCHAR mask[256];
};

static void scan_destroy(struct object *object)
{
    struct scan *scan = (struct scan *)object;
    struct item *next;

    for (; scan->items; scan->items = next)
    {
        next = scan->items->next;
        heap_free(scan->items);
    }
    heap_free(scan);
}

static void add_item(struct scan *scan, int dir, const char *name)
{
    struct item *item = heap_alloc(sizeof(*item));

    if (!item)
        return;
    if (!entry_read(dir, name, &item->entry))
    {
        heap_free(item);
        return;
    }
    item->length = utf16_of(name, (ULONG)strlen(name), item->name, 256);
    item->next = scan->items;
    scan->items = item;
}

/* The reparse points of the folder; NULL if there are none. */
static struct scan *scan_new(HANDLE handle, const UNICODE_STRING *mask)
{
    int fd = fd_of_handle(handle), dir = fd < 0 ? fd : lx_openat(fd, ".", LX_O_RDONLY | LX_O_DIRECTORY | LX_O_CLOEXEC), got;
    struct scan *scan = heap_alloc(sizeof(*scan));
    BYTE *buffer = heap_alloc(32768);

    if (fd >= 0)
        lx_close(fd);
    scan->object.type = OBJECT_SCAN;
    scan->object.references = 1;
    scan->object.destroy = scan_destroy;
    if (mask && mask->Length < sizeof(scan->mask))
    {
        scan->mask_length = mask->Length / sizeof(WCHAR);
        memcpy(scan->mask, mask->Buffer, mask->Length);
    }
    while (dir >= 0 && buffer && (got = lx_getdents(dir, buffer, 32768)) > 0)
    {
        for (int at = 0; at < got; at += ((struct lx_dirent *)(buffer + at))->reclen)
        {
            struct lx_dirent *entry = (struct lx_dirent *)(buffer + at);

            if (entry->type == LX_DT_LNK || entry->type == LX_DT_SOCK || entry->type == LX_DT_UNKNOWN)
                add_item(scan, dir, entry->name);
        }
    }
    if (dir >= 0)
        lx_close(dir);
    heap_free(buffer);
    if (scan->items)
        return scan;
    heap_free(scan);
    return NULL;
}

/* * ? and their DOS forms < > ", without regard to case. */
static BOOL matches(const WCHAR *mask, ULONG mask_length, const WCHAR *name, ULONG length)
{
    if (!mask_length)
        return !length;
    if (mask[0] == '*' || mask[0] == '<')
    {
        if (mask_length == 3 && mask[1] == '.' && mask[2] == '*')
            return TRUE; /* *.* means all */
        for (ULONG i = 0; i <= length; i++)
            if (matches(mask + 1, mask_length - 1, name + i, length - i))
                return TRUE;
        return FALSE;
    }
    if (!length)
        return (mask[0] == '>' || mask[0] == '"' || mask[0] == '?') && matches(mask + 1, mask_length - 1, name, 0);
    if (mask[0] != '?' && mask[0] != '>' && !(mask[0] == '"' && name[0] == '.') && !same_name(mask, name, 1))
        return FALSE;
    return matches(mask + 1, mask_length - 1, name + 1, length - 1);
}

/* The offsets of the fields in an entry of a class; all zero: an unknown class. */
struct layout
{
    ULONG name, length, ea, id;
};

static struct layout layout_of(ULONG class)
{
    switch (class)
    {
    case CLASS_DIRECTORY: return (struct layout){64, 60, 0, 0};
    case CLASS_FULL_DIRECTORY: return (struct layout){68, 60, 64, 0};
    case CLASS_BOTH_DIRECTORY: return (struct layout){94, 60, 64, 0};
    case CLASS_ID_BOTH_DIRECTORY: return (struct layout){104, 60, 64, 96};
    case CLASS_ID_FULL_DIRECTORY: return (struct layout){80, 60, 64, 72};
    case CLASS_NAMES: return (struct layout){12, 8, 0, 0};
    default: return (struct layout){0, 0, 0, 0};
    }
}

static void describe(BYTE *at, struct layout layout, ULONG class, const struct entry *entry, BOOL for_find)
{
    struct nt_directory_info *info = (struct nt_directory_info *)at;
    struct nt_basic_info basic;

    if (class == CLASS_NAMES)
        return;
    fill_basic(&entry->st, entry->attributes, &basic);
    memcpy(&info->creation, &basic, 4 * sizeof(LARGE_INTEGER));
    info->size.QuadPart = info->allocation.QuadPart = 0;
    info->attributes = entry->attributes;
    if (for_find)
        info->size.HighPart = (LONG)entry->tag;
    if (layout.ea)
        memcpy(at + layout.ea, &entry->tag, sizeof(ULONG));
    if (layout.id)
        memcpy(at + layout.id, &entry->st.ino, sizeof(UINT64));
}

/* Corrects the entries that Wine has listed. */
static void correct(struct scan *scan, BYTE *at, ULONG class, BOOL for_find)
{
    struct layout layout = layout_of(class);
    struct item *item;

    for (;; at += *(ULONG *)at)
    {
        const WCHAR *name = (const WCHAR *)(at + layout.name);
        ULONG length = *(ULONG *)(at + layout.length) / sizeof(WCHAR);

        for (item = scan ? scan->items : NULL; item; item = item->next)
            if (item->length == length && !memcmp(item->name, name, length * sizeof(WCHAR)))
                break;
        if (item)
        {
            item->seen = TRUE;
            describe(at, layout, class, &item->entry, for_find);
        }
        else if (class != CLASS_NAMES)
            ((struct nt_directory_info *)at)->attributes &= ~FILE_ATTRIBUTE_REPARSE_POINT;
        if (!*(ULONG *)at)
            break;
    }
}

/* Lists the entries that Wine left out. */
static NTSTATUS add_rest(struct scan *scan, BYTE *buffer, ULONG size, ULONG class, BOOL for_find, BOOL single, ULONG_PTR *used)
{
    struct layout layout = layout_of(class);
    BYTE *last = NULL, *at = buffer;

    for (struct item *item = scan->items; item; item = item->next)
    {
        if (item->seen || (scan->mask_length && !matches(scan->mask, scan->mask_length, item->name, item->length)))
            continue;
        if ((ULONG)(at - buffer) + layout.name + item->length * sizeof(WCHAR) > size)
            return last ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
        memset(at, 0, layout.name);
        *(ULONG *)(at + layout.length) = item->length * sizeof(WCHAR);
        memcpy(at + layout.name, item->name, item->length * sizeof(WCHAR));
        describe(at, layout, class, &item->entry, for_find);
        item->seen = TRUE;
        if (last)
            *(ULONG *)last = (ULONG)(at - last);
        last = at;
        *used = (ULONG_PTR)(at - buffer) + layout.name + item->length * sizeof(WCHAR);
        at = buffer + ((*used + 7) & ~(ULONG_PTR)7);
        if (single)
            break;
    }
    return last ? STATUS_SUCCESS : STATUS_NO_MORE_FILES;
}

static NTSTATUS WINAPI hook_NtQueryDirectoryFile(HANDLE handle, HANDLE event, void *apc, void *apc_context, IO_STATUS_BLOCK *io, void *buffer, ULONG size,
                                                 ULONG class, BOOLEAN single, UNICODE_STRING *mask, BOOLEAN restart)
{
    BOOL for_find = class == CLASS_BOTH_DIRECTORY && original_find_next && in_kernelbase(__builtin_return_address(0));
    struct link *link = link_get(handle);
    struct scan *scan;
    struct object *old;
    NTSTATUS status, rest;
    ULONG_PTR used = 0;

    if (link) /* there is nothing in a link itself; its handle is one of its folder */
    {
        link_release(link);
        io->Information = 0;
        return io->Status = STATUS_NO_MORE_FILES;
    }
    if (!layout_of(class).name)
        return original.NtQueryDirectoryFile(handle, event, apc, apc_context, io, buffer, size, class, single, mask, restart);
    scan = table_get(handle, OBJECT_SCAN);
    if (scan && restart && (old = table_take(handle)))
    {
        object_release(&scan->object);
        object_release(old);
        scan = NULL;
    }
    if (!scan && (scan = scan_new(handle, mask)))
    {
        object_hold(&scan->object);
        table_put(handle, &scan->object);
    }
    status = original.NtQueryDirectoryFile(handle, event, apc, apc_context, io, buffer, size, class, single, mask, restart);
    if (scan)
        AcquireSRWLockExclusive(&scan->lock);
    if (!status && io->Information)
        correct(scan, buffer, class, for_find);
    else if (scan && (status == STATUS_NO_MORE_FILES || status == STATUS_NO_SUCH_FILE) &&
             (rest = add_rest(scan, buffer, size, class, for_find, single, &used)) != STATUS_NO_MORE_FILES)
    {
        status = io->Status = rest;
        io->Information = used;
    }
    if (scan)
    {
        ReleaseSRWLockExclusive(&scan->lock);
        object_release(&scan->object);
    }
    return status;
}

static BOOL WINAPI hook_FindNextFileW(HANDLE handle, WIN32_FIND_DATAW *data)
{
    BOOL found = original_find_next(handle, data);

    if (found && (data->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) && !data->dwReserved0)
    {
        data->dwReserved0 = data->nFileSizeHigh;
        data->nFileSizeHigh = 0;
    }
    return found;
}

void readdir_start(void)
{
    patch_function(GetModuleHandleW(L"kernelbase.dll"), "FindNextFileW", hook_FindNextFileW, (void **)&original_find_next);
    PATCH(GetModuleHandleW(L"ntdll.dll"), NtQueryDirectoryFile);
}
