/*
 * Deleting and renaming: NtSetInformationFile.
 *
 * Facts (Wine 8.0): FileDispositionInformationEx and FileRenameInformationEx are unsupported (STATUS_INVALID_INFO_CLASS
 * or "Invalid function"), and Go's os.RemoveAll since 1.24 needs them (internal/syscall/windows/at_windows.go).
 * Renaming and deleting act on a link's target. A folder of an image's layer is not renamed (move.h).
 */
#include <string.h>

#include "deep.h"
#include "drive.h"
#include "entry.h"
#include "heap.h"
#include "hooks.h"
#include "move.h"
#include "names.h"
#include "stdhandle.h"

/* The place of an open file. */
static NTSTATUS place_of(int fd, struct place *place)
{
    char *path = heap_alloc(LINUX_PATH_MAX);
    NTSTATUS status = path && lx_fd_path(fd, path, LINUX_PATH_MAX) > 0 ? path_place_open(path, place)
                                                                       : STATUS_INVALID_HANDLE;

    heap_free(path);
    return status;
}

/*
 * Removes the name of an open file or empty folder at once, as with POSIX semantics. NOT_SUPPORTED: its name is not
 * known.
 */
static NTSTATUS unlink_now(HANDLE handle, ULONG flags)
{
    struct place place = {-1, {0}};
    struct lx_stat by_fd, by_name;
    NTSTATUS status = STATUS_NOT_SUPPORTED;
    BOOL folder;
    int fd = path_fd_of(handle);

    if (fd >= 0 && !lx_fstat(fd, &by_fd) && (deep_place(handle, &place) || !place_of(fd, &place)))
    {
        folder = (by_fd.mode & LX_S_IFMT) == LX_S_IFDIR;
        if (lx_fstatat(place.dir, place.name, &by_name, LX_AT_SYMLINK_NOFOLLOW) || by_fd.ino != by_name.ino ||
            by_fd.dev != by_name.dev)
            status = by_fd.nlink ? STATUS_NOT_SUPPORTED : STATUS_DELETE_PENDING;
        else if (!folder && !(by_fd.mode & 0222) && !(flags & DISPOSE_IGNORE_READONLY))
            status = STATUS_CANNOT_DELETE;
        else
            status = lx_status(lx_unlinkat(place.dir, place.name, folder ? LX_AT_REMOVEDIR : 0));
    }
    path_place_close(&place);
    if (fd >= 0)
        lx_close(fd);
    return status;
}

/* FileDispositionInformationEx of a file or folder that is no link. */
static NTSTATUS dispose(HANDLE handle, IO_STATUS_BLOCK *io, ULONG flags)
{
    BOOLEAN remove = flags & DISPOSE_DELETE;
    struct lx_stat st;
    NTSTATUS status;
    int fd;

    if (remove && (flags & DISPOSE_POSIX) && (status = unlink_now(handle, flags)) != STATUS_NOT_SUPPORTED)
        return status;
    if (remove && path_is_read_only(handle))
        return STATUS_ACCESS_DENIED;
    status = originals.NtSetInformationFile(handle, io, &remove, sizeof(remove), CLASS_DISPOSITION);
    if (status == STATUS_CANNOT_DELETE && (flags & DISPOSE_IGNORE_READONLY) && (fd = path_fd_of(handle)) >= 0)
    {
        if (!lx_fstat(fd, &st) && !lx_fchmod(fd, (st.mode & 07777) | 0200))
            status = originals.NtSetInformationFile(handle, io, &remove, sizeof(remove), CLASS_DISPOSITION);
        lx_close(fd);
    }
    return status;
}

/*
 * The target of a rename. A name without a folder is in the folder of from (or of the handle). A name that exists in
 * another case is found in that case.
 */
static NTSTATUS rename_target(const struct nt_rename_info *info, const struct link *from, struct place *to)
{
    char *path = heap_alloc(LINUX_PATH_MAX);
    NTSTATUS status;

    if (!path)
        return STATUS_NO_MEMORY;
    to->dir = -1;
    if (!info->root && info->name_length && info->name[0] != '\\')
    {
        if (!from || !name_to_linux(info->name, info->name_length / sizeof(WCHAR), to->name))
            status = STATUS_OBJECT_NAME_INVALID;
        else
            status = (to->dir = lx_dup(from->place.dir)) < 0 ? lx_status(to->dir) : STATUS_SUCCESS;
    }
    else
    {
        status = path_of_name(info->root, info->name, info->name_length, path, LINUX_PATH_MAX);
        if (!status || status == STATUS_NO_SUCH_FILE)
            status = path_place_open(path, to);
    }
    heap_free(path);
    return status;
}

/* Whether an entry at the target may be replaced: folders never, links to folders only by POSIX renames. */
static NTSTATUS may_replace(const struct place *to, ULONG flags)
{
    struct lx_stat st;
    struct entry entry;

    if (lx_fstatat(to->dir, to->name, &st, LX_AT_SYMLINK_NOFOLLOW))
        return STATUS_SUCCESS;
    if (!(flags & RENAME_REPLACE))
        return STATUS_OBJECT_NAME_COLLISION;
    if ((st.mode & LX_S_IFMT) == LX_S_IFDIR)
        return STATUS_ACCESS_DENIED;
    if (entry_read(to->dir, to->name, &entry) && (entry.attributes & FILE_ATTRIBUTE_DIRECTORY) &&
        !(flags & RENAME_POSIX))
        return STATUS_ACCESS_DENIED;
    return STATUS_SUCCESS;
}

/* The last component of the name that a rename asks for. */
static BOOL asked_name(const struct nt_rename_info *info, char *name)
{
    ULONG length = info->name_length / sizeof(WCHAR), start = length;

    while (start > 0 && info->name[start - 1] != '\\')
        start--;
    return start < length && name_to_linux(info->name + start, length - start, name);
}

/*
 * Carries out a rename that changes only the case of the file's own name. FALSE: it is another rename. Wine would find
 * the target existing and do nothing (Wine 8.0 server/fd.c).
 */
static BOOL rename_case(const struct lx_stat *file, const struct place *to, const struct nt_rename_info *info)
{
    struct place asked = {to->dir, {0}};
    struct lx_stat st;

    return asked_name(info, asked.name) && strcmp(asked.name, to->name) &&
           !lx_fstatat(to->dir, to->name, &st, LX_AT_SYMLINK_NOFOLLOW) && st.ino == file->ino && st.dev == file->dev &&
           st.nlink == file->nlink && ((st.mode & LX_S_IFMT) == LX_S_IFDIR || st.nlink == 1) &&
           !move_entry(to, &asked, LX_RENAME_NOREPLACE);
}

/* Moves the link, with a new text if the text depends on where it lies. */
static int move_link(const struct place *from, const struct place *to, ULONG flags)
{
    static const char temporary[] = ".mullion-link-";
    char *text = heap_alloc(2 * LINUX_PATH_MAX), *moved = text + LINUX_PATH_MAX, name[32];
    int length, result, id = lx_gettid(), at = sizeof(temporary) - 1;

    if (!text)
        return -LX_ENOSPC;
    length = lx_readlinkat(from->dir, from->name, text, LINUX_PATH_MAX - 1);
    if (length > 0)
        linktext_move(text, to, moved);
    if (length <= 0 || !strcmp(text, moved))
        result = lx_renameat2(from->dir, from->name, to->dir, to->name,
                              flags & RENAME_REPLACE ? 0 : LX_RENAME_NOREPLACE);
    else
    {
        memcpy(name, temporary, sizeof(temporary));
        for (; id; id /= 10)
            name[at++] = (char)('0' + id % 10);
        name[at] = 0;
        lx_unlinkat(to->dir, name, 0);
        if (!(result = lx_symlinkat(moved, to->dir, name)) &&
            (result = lx_renameat2(to->dir, name, to->dir, to->name, flags & RENAME_REPLACE ? 0 : LX_RENAME_NOREPLACE)))
            lx_unlinkat(to->dir, name, 0);
        if (!result)
            lx_unlinkat(from->dir, from->name, 0);
    }
    heap_free(text);
    return result;
}

static NTSTATUS rename_link(struct link *link, const struct nt_rename_info *info, ULONG flags)
{
    struct lx_stat st;
    struct place to;
    NTSTATUS status;

    if ((status = rename_target(info, link, &to)))
        return status;
    if (!lx_fstatat(link->place.dir, link->place.name, &st, LX_AT_SYMLINK_NOFOLLOW) && rename_case(&st, &to, info))
    {
        path_place_close(&to);
        asked_name(info, link->place.name);
        return STATUS_SUCCESS;
    }
    if (!(status = may_replace(&to, flags)) && !(status = lx_status(move_link(&link->place, &to, flags))))
    {
        path_place_close(&link->place);
        link->place = to;
    }
    else
        path_place_close(&to);
    return status;
}

static NTSTATUS set_times(struct link *link, const struct nt_basic_info *info)
{
    struct lx_timespec times[2];
    const LONGLONG values[2] = {info->access.QuadPart, info->write.QuadPart};

    for (int i = 0; i < 2; i++)
    {
        times[i].sec = values[i] > 0 ? values[i] / 10000000 - 11644473600LL : 0;
        times[i].nsec = values[i] > 0 ? values[i] % 10000000 * 100 : 0x3ffffffe; /* UTIME_OMIT */
    }
    return lx_status(lx_utimensat(link->place.dir, link->place.name, times, LX_AT_SYMLINK_NOFOLLOW));
}

static NTSTATUS set_link(struct link *link, void *buffer, ULONG length, ULONG class)
{
    struct nt_rename_info *rename = buffer;
    struct place to;
    NTSTATUS status;
    ULONG flags;

    switch (class)
    {
    case CLASS_BASIC:
        return length < sizeof(struct nt_basic_info) ? STATUS_INFO_LENGTH_MISMATCH : set_times(link, buffer);
    case CLASS_DISPOSITION: link->delete_on_close = *(BOOLEAN *)buffer; return STATUS_SUCCESS;
    case CLASS_DISPOSITION_EX:
        flags = *(ULONG *)buffer;
        if ((flags & DISPOSE_DELETE) && (flags & DISPOSE_POSIX))
            return lx_status(lx_unlinkat(link->place.dir, link->place.name, 0));
        link->delete_on_close = flags & DISPOSE_DELETE;
        return STATUS_SUCCESS;
    case CLASS_RENAME: return rename_link(link, rename, rename->replace ? RENAME_REPLACE : 0);
    case CLASS_RENAME_EX: return rename_link(link, rename, rename->flags);
    case CLASS_LINK:
        if ((status = rename_target(rename, link, &to)))
            return status;
        status = lx_status(lx_linkat(link->place.dir, link->place.name, to.dir, to.name));
        path_place_close(&to);
        return status;
    default: return STATUS_INVALID_PARAMETER;
    }
}

/*
 * A rename without Wine, or another hard link: to a name that Wine cannot say (way.h), or of a folder of a layer. Its
 * server keeps the old name of the file.
 */
static NTSTATUS rename_named(HANDLE handle, const struct nt_rename_info *info, ULONG flags, BOOL hard)
{
    struct place from = {-1, {0}}, to = {-1, {0}};
    struct link folder = {.place = {-1, {0}}}; /* a name without a folder is in that of the file */
    int fd = path_fd_of(handle);
    NTSTATUS status = fd < 0 ? STATUS_INVALID_HANDLE : place_of(fd, &from);

    if (fd >= 0)
        lx_close(fd);
    if (status)
        return status;
    folder.place.dir = from.dir;
    if (!(status = rename_target(info, &folder, &to)) && !(status = may_replace(&to, flags)))
    {
        if (hard)
        {
            if (flags & RENAME_REPLACE)
                lx_unlinkat(to.dir, to.name, 0);
            status = lx_status(lx_linkat(from.dir, from.name, to.dir, to.name));
        }
        else
            status = lx_status(move_entry(&from, &to, flags & RENAME_REPLACE ? 0 : LX_RENAME_NOREPLACE));
    }
    path_place_close(&from);
    path_place_close(&to);
    return status;
}

/*
 * A rename of a file or folder that is no link. Wine's own would follow a link at the target, so such a link is
 * removed first.
 */
static NTSTATUS rename_file(HANDLE handle, IO_STATUS_BLOCK *io, const struct nt_rename_info *info, ULONG length,
                            ULONG flags)
{
    struct nt_rename_info *plain;
    struct entry entry;
    struct lx_stat st;
    struct place to;
    NTSTATUS status;
    BOOL renamed;
    int fd;

    if (!rename_target(info, NULL, &to))
    {
        if ((fd = path_fd_of(handle)) >= 0)
        {
            renamed = !lx_fstat(fd, &st) && rename_case(&st, &to, info);
            lx_close(fd);
            if (renamed)
            {
                path_place_close(&to);
                return STATUS_SUCCESS;
            }
        }
        if (entry_read(to.dir, to.name, &entry) && !(status = may_replace(&to, flags)))
            lx_unlinkat(to.dir, to.name, 0);
        path_place_close(&to);
    }
    if (!(plain = heap_alloc(length)))
        return STATUS_NO_MEMORY;
    memcpy(plain, info, length);
    plain->flags = 0;
    plain->replace = flags & RENAME_REPLACE;
    status = originals.NtSetInformationFile(handle, io, plain, length, CLASS_RENAME);
    if (status == STATUS_ACCESS_DENIED && (flags & RENAME_POSIX) && (flags & RENAME_REPLACE) &&
        !rename_target(info, NULL, &to))
    {
        /* Wine refuses to replace a file that is open; POSIX semantics allow it. */
        if (!lx_unlinkat(to.dir, to.name, 0))
            status = originals.NtSetInformationFile(handle, io, plain, length, CLASS_RENAME);
        path_place_close(&to);
    }
    heap_free(plain);
    return status == STATUS_NOT_SAME_DEVICE ? rename_named(handle, info, flags, FALSE) : status;
}

/* Whether the folder in which a rename or a hard link puts the name is on a drive (drive.h). */
static NTSTATUS goes_to_drive(const struct nt_rename_info *info)
{
    UNICODE_STRING name = {(USHORT)info->name_length, (USHORT)info->name_length, (WCHAR *)info->name};
    OBJECT_ATTRIBUTES attributes;

    if (info->name_length > 0xfffe)
        return STATUS_OBJECT_NAME_INVALID;
    if (!info->root && (!info->name_length || info->name[0] != '\\'))
        return STATUS_SUCCESS; /* the folder in which the file is */
    set_attributes(&attributes, info->root, &name, OBJ_CASE_INSENSITIVE);
    return drive_holds(&attributes, FALSE, NULL);
}

static NTSTATUS WINAPI hook_NtSetInformationFile(HANDLE handle, IO_STATUS_BLOCK *io, void *buffer, ULONG length,
                                                 ULONG class)
{
    BOOL renames = class == CLASS_RENAME || class == CLASS_RENAME_EX || class == CLASS_LINK;
    struct link *link = entry_link_get(handle);
    struct nt_rename_info *rename = buffer;
    NTSTATUS status = STATUS_SUCCESS;

    if (renames && (length < FIELD_OFFSET(struct nt_rename_info, name) ||
                    rename->name_length > length - FIELD_OFFSET(struct nt_rename_info, name)))
        status = STATUS_INFO_LENGTH_MISMATCH;
    else if (renames && (status = goes_to_drive(rename)))
        ;
    else if (link)
    {
        EnterCriticalSection(&link->lock);
        status = set_link(link, buffer, length, class);
        LeaveCriticalSection(&link->lock);
    }
    else if (class == CLASS_DISPOSITION && length && *(BOOLEAN *)buffer && path_is_read_only(handle))
        status = STATUS_ACCESS_DENIED; /* Wine would remove the file when it is closed, and say nothing */
    else if (class == CLASS_DISPOSITION_EX)
        status = length < sizeof(ULONG) ? STATUS_INFO_LENGTH_MISMATCH : dispose(handle, io, *(ULONG *)buffer);
    else if (renames && name_stands(rename->name, rename->name_length / sizeof(WCHAR)))
        status = rename_named(handle, rename,
                              class == CLASS_RENAME_EX ? rename->flags
                              : rename->replace        ? RENAME_REPLACE
                                                       : 0,
                              class == CLASS_LINK);
    else if (class == CLASS_RENAME_EX)
        status = rename_file(handle, io, rename, length, rename->flags);
    else if (class == CLASS_RENAME)
        status = rename_file(handle, io, rename, length, rename->replace ? RENAME_REPLACE : 0);
    else
        return stdhandle_set(originals.NtSetInformationFile(handle, io, buffer, length, class), handle, io, buffer,
                             length, class);
    if (link)
        entry_link_release(link);
    io->Status = status;
    io->Information = 0;
    return status;
}

void setinfo_start(void)
{
    PATCH(GetModuleHandleW(L"ntdll.dll"), NtSetInformationFile);
}
