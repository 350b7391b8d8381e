/*
 * Directory listings: NtQueryDirectoryFile.
 *
 * Facts (Wine 8.0, dlls/ntdll/unix/file.c get_file_info): a listing leaves out links without a target, describes the
 * target instead of the link, carries no reparse tag, and calls mount points of Linux reparse points. So Wine's own
 * listing is corrected entry by entry, and the missing entries are added at its end, with those whose name Wine changes
 * (names.h). On Windows the tag is in the field that otherwise holds the size of the extended attributes ([MS-FSCC]
 * 2.4.8 EaSize).
 *
 * FindNextFileW (kernelbase) writes 0 where Windows has the tag (WIN32_FIND_DATA dwReserved0, which Python's os.scandir
 * reads). It is the only function of kernelbase that lists with FileBothDirectoryInformation. So for this class the tag
 * is put into the upper half of the file's size, which is 0 for every link, and moved to its place after FindNextFileW.
 */
#include <string.h>

#include "entry.h"
#include "heap.h"
#include "hooks.h"
#include "names.h"
#include "open.h"
#include "program.h"

static BOOL sizes_are_room; /* of this program's listings */
static BOOL(WINAPI *original_find_next)(HANDLE, WIN32_FIND_DATAW *);

/* An entry that Wine leaves out, or lists otherwise than it is. */
struct item
{
    struct item *next, *alike; /* in the listing; in its bucket */
    BOOL seen;                 /* Wine has listed it, or we have */
    BOOL other;                /* Wine has another name for it (names.h) */
    ULONG length;
    const char *disk;
    WCHAR name[]; /* behind it the name of Linux */
};

#define BUCKETS 512

/* A listing under way on a directory handle. */
struct scan
{
    struct object object;
    SRWLOCK lock;
    struct item *items, *buckets[BUCKETS];
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

static struct item **bucket_of(struct scan *scan, const WCHAR *name, ULONG length)
{
    ULONG hash = length;

    for (ULONG i = 0; i < length; i++)
        hash = hash * 31 + name[i];
    return &scan->buckets[hash % BUCKETS];
}

static void add_item(struct scan *scan, const char *disk, BOOL other)
{
    SIZE_T bytes = strlen(disk);
    struct item *item, **bucket;
    WCHAR name[NAME_ROOM];
    ULONG length;

    if (bytes >= NAME_ROOM)
        return;
    length = name_from_linux(disk, name);
    if (!(item = heap_alloc(sizeof(*item) + length * sizeof(WCHAR) + bytes + 1)))
        return;
    item->other = other;
    item->length = length;
    memcpy(item->name, name, length * sizeof(WCHAR));
    item->disk = memcpy(item->name + length, disk, bytes + 1);
    item->next = scan->items;
    scan->items = item;
    bucket = bucket_of(scan, name, length);
    item->alike = *bucket;
    *bucket = item;
}

/* Opens the folder of a handle for reading; negative if it is none. */
static int folder_of(HANDLE handle)
{
    int fd = path_fd_of(handle), dir = fd < 0 ? fd : lx_openat(fd, ".", LX_O_RDONLY | LX_O_DIRECTORY | LX_O_CLOEXEC);

    if (fd >= 0)
        lx_close(fd);
    return dir;
}

/* A mask without wildcards means one entry: the one of exactly this spelling, if there is one. */
static void keep_exact(struct scan *scan)
{
    struct item *exact = NULL;

    for (ULONG i = 0; i < scan->mask_length; i++)
        if (scan->mask[i] < 0x80 && strchr("*?<>\"", scan->mask[i]))
            return;
    for (struct item *item = scan->items; item && scan->mask_length; item = item->next)
        if (item->length == scan->mask_length && !memcmp(item->name, scan->mask, item->length * sizeof(WCHAR)))
            exact = item;
    for (struct item *item = scan->items; item && exact; item = item->next)
        item->seen = item != exact;
}

/* The reparse points of the folder, and what has another name; NULL if there are none. */
static struct scan *scan_new(HANDLE handle, const UNICODE_STRING *mask)
{
    int dir = folder_of(handle), got;
    struct scan *scan = heap_alloc(sizeof(*scan));
    BYTE *buffer = heap_alloc(2 * LINUX_LISTING);

    if (scan && mask && mask->Length < sizeof(scan->mask))
    {
        scan->mask_length = mask->Length / sizeof(WCHAR);
        memcpy(scan->mask, mask->Buffer, mask->Length);
    }
    while (scan && dir >= 0 && buffer && (got = lx_getdents(dir, buffer, 2 * LINUX_LISTING)) > 0)
    {
        for (int at = 0; at < got; at += ((struct lx_dirent *)(buffer + at))->reclen)
        {
            struct lx_dirent *found = (struct lx_dirent *)(buffer + at);
            BOOL other = !lx_is_dots(found->name) && name_differs(found->name);
            struct entry entry;

            if (other || found->type == LX_DT_LNK || found->type == LX_DT_SOCK ||
                (found->type == LX_DT_UNKNOWN && entry_read(dir, found->name, &entry)))
                add_item(scan, found->name, other);
        }
    }
    if (dir >= 0)
        lx_close(dir);
    heap_free(buffer);
    if (scan && scan->items)
    {
        scan->object.type = OBJECT_SCAN;
        scan->object.references = 1;
        scan->object.destroy = scan_destroy;
        keep_exact(scan);
        return scan;
    }
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
    if (mask[0] != '?' && mask[0] != '>' && !(mask[0] == '"' && name[0] == '.') && !path_same_name(mask, name, 1))
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

/*
 * The kubelet adds up the sizes of a listing to know what a volume takes of the disk. On Linux it adds up blocks, so
 * that holes do not count and what lies behind a file's end does. Here its listings say that.
 */
static void say_room(BYTE *at, ULONG class)
{
    struct nt_directory_info *info = (struct nt_directory_info *)at;
    LONGLONG explained = (info->size.QuadPart + 4095) & ~(LONGLONG)4095;

    if (!sizes_are_room || class == CLASS_NAMES ||
        (info->attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)))
        return;
    if (info->allocation.QuadPart > explained || info->allocation.QuadPart < info->size.QuadPart)
        info->size = info->allocation;
}

static void describe(BYTE *at, struct layout layout, ULONG class, const struct entry *entry, BOOL for_find)
{
    struct nt_directory_info *info = (struct nt_directory_info *)at;
    struct nt_basic_info basic;

    if (class == CLASS_NAMES)
        return;
    entry_fill_basic(&entry->st, entry->attributes, &basic);
    memcpy(&info->creation, &basic, 4 * sizeof(LARGE_INTEGER));
    info->size.QuadPart = info->allocation.QuadPart = 0;
    if ((entry->st.mode & LX_S_IFMT) == LX_S_IFREG)
    {
        info->size.QuadPart = entry->st.size;
        info->allocation.QuadPart = entry->st.blocks * 512;
    }
    info->attributes = entry->attributes;
    if (for_find && entry->tag)
        info->size.HighPart = (LONG)entry->tag;
    if (layout.ea)
        memcpy(at + layout.ea, &entry->tag, sizeof(ULONG));
    if (layout.id)
        memcpy(at + layout.id, &entry->st.ino, sizeof(UINT64));
}

/* Reads what an entry is. FALSE: it is gone. */
static BOOL item_read(const struct item *item, int dir, struct entry *entry)
{
    if (entry_read(dir, item->disk, entry))
        return TRUE;
    if (lx_fstatat(dir, item->disk, &entry->st, LX_AT_SYMLINK_NOFOLLOW))
        return FALSE;
    entry->tag = 0;
    entry->attributes = (entry->st.mode & LX_S_IFMT) == LX_S_IFDIR ? FILE_ATTRIBUTE_DIRECTORY : FILE_ATTRIBUTE_ARCHIVE;
    if (!(entry->st.mode & 0222))
        entry->attributes |= FILE_ATTRIBUTE_READONLY;
    return TRUE;
}

static struct item *item_of(struct scan *scan, const WCHAR *name, ULONG length)
{
    struct item *item = *bucket_of(scan, name, length);

    while (item && (item->other || item->length != length || memcmp(item->name, name, length * sizeof(WCHAR))))
        item = item->alike;
    return item;
}

/*
 * Corrects the entries that Wine has listed, and takes those out that have another name: they come at the end. Returns
 * the bytes that are left of them.
 */
static ULONG_PTR correct(struct scan *scan, BYTE *buffer, ULONG_PTR used, ULONG class, BOOL for_find, int dir)
{
    struct layout layout = layout_of(class);
    BYTE *at = buffer, *to = buffer, *last = NULL;

    for (BOOL more = TRUE; more;)
    {
        const WCHAR *name = (const WCHAR *)(at + layout.name);
        ULONG length = *(ULONG *)(at + layout.length) / sizeof(WCHAR), next = *(ULONG *)at;
        ULONG size = next ? next : (ULONG)(used - (ULONG_PTR)(at - buffer));
        struct item *item = scan ? item_of(scan, name, length) : NULL;
        struct entry entry;

        more = next != 0;
        if (scan && name_of_wine_differs(name, length))
        {
            at += size;
            continue;
        }
        if (item)
            item->seen = TRUE;
        if (item && item_read(item, dir, &entry))
            describe(at, layout, class, &entry, for_find);
        else if (class != CLASS_NAMES)
            ((struct nt_directory_info *)at)->attributes &= ~FILE_ATTRIBUTE_REPARSE_POINT;
        say_room(at, class);
        if (at != to)
            memmove(to, at, size);
        last = to;
        *(ULONG *)last = size;
        at += size;
        to += size;
    }
    if (last)
        *(ULONG *)last = 0;
    return (ULONG_PTR)(to - buffer);
}

/* Lists the entries that Wine left out. */
static NTSTATUS add_rest(struct scan *scan, BYTE *buffer, ULONG size, ULONG class, BOOL for_find, BOOL single, int dir,
                         ULONG_PTR *used)
{
    struct layout layout = layout_of(class);
    BYTE *last = NULL, *at = buffer;
    struct entry entry;

    for (struct item *item = scan->items; item; item = item->next)
    {
        if (item->seen || (scan->mask_length && !matches(scan->mask, scan->mask_length, item->name, item->length)))
            continue;
        if ((ULONG)(at - buffer) + layout.name + item->length * sizeof(WCHAR) > size)
            return last ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
        item->seen = TRUE;
        if (!item_read(item, dir, &entry))
            continue;
        memset(at, 0, layout.name);
        *(ULONG *)(at + layout.length) = item->length * sizeof(WCHAR);
        memcpy(at + layout.name, item->name, item->length * sizeof(WCHAR));
        describe(at, layout, class, &entry, for_find);
        say_room(at, class);
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

static NTSTATUS WINAPI hook_NtQueryDirectoryFile(HANDLE handle, HANDLE event, void *apc, void *apc_context,
                                                 IO_STATUS_BLOCK *io, void *buffer, ULONG size, ULONG class,
                                                 BOOLEAN single, UNICODE_STRING *mask, BOOLEAN restart)
{
    BOOL for_find = class == CLASS_BOTH_DIRECTORY && original_find_next &&
                    open_in_kernelbase(__builtin_return_address(0));
    struct link *link = entry_link_get(handle);
    struct scan *scan;
    struct object *old;
    NTSTATUS status, rest;
    ULONG_PTR used = 0;
    int dir = -1;

    if (link) /* there is nothing in a link itself; its handle is one of its folder */
    {
        entry_link_release(link);
        io->Information = 0;
        return io->Status = STATUS_NO_MORE_FILES;
    }
    if (!layout_of(class).name)
        return originals.NtQueryDirectoryFile(handle, event, apc, apc_context, io, buffer, size, class, single, mask,
                                              restart);
    scan = table_get(handle, OBJECT_SCAN);
    if (scan && restart && (old = table_take(handle)))
    {
        table_object_release(&scan->object);
        table_object_release(old);
        scan = NULL;
    }
    if (!scan && (scan = scan_new(handle, mask)))
    {
        table_object_hold(&scan->object);
        table_put(handle, &scan->object);
    }
    if (scan)
    {
        dir = folder_of(handle);
        AcquireSRWLockExclusive(&scan->lock);
    }
    do
    {
        status = originals.NtQueryDirectoryFile(handle, event, apc, apc_context, io, buffer, size, class, single, mask,
                                                restart);
        restart = FALSE;
        used = !status && io->Information ? correct(scan, buffer, io->Information, class, for_find, dir) : 0;
    } while (!status && io->Information && !used); /* all that it listed have other names */
    if (used)
        io->Information = used;
    else if (scan && (status == STATUS_NO_MORE_FILES || status == STATUS_NO_SUCH_FILE) &&
             (rest = add_rest(scan, buffer, size, class, for_find, single, dir, &used)) != STATUS_NO_MORE_FILES)
    {
        status = io->Status = rest;
        io->Information = used;
    }
    if (scan)
    {
        ReleaseSRWLockExclusive(&scan->lock);
        table_object_release(&scan->object);
    }
    if (dir >= 0)
        lx_close(dir);
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
    sizes_are_room = program_is(L"kubelet.exe");
    patch_function(GetModuleHandleW(L"kernelbase.dll"), "FindNextFileW", hook_FindNextFileW,
                   (void **)&original_find_next);
    PATCH(GetModuleHandleW(L"ntdll.dll"), NtQueryDirectoryFile);
}
