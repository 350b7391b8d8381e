/*
 * Making and reading links: CreateSymbolicLinkW and FSCTL_SET/GET/DELETE_REPARSE_POINT.
 *
 * Facts (Wine 8.0): CreateSymbolicLinkW answers TRUE and does nothing (fixed upstream in 10.20); NtFsControlFile knows
 * none of the three codes. Layout of the buffer: [MS-FSCC] 2.1.2.4 and 2.1.2.5.
 */
#include <string.h>

#include "drive.h"
#include "entry.h"
#include "heap.h"
#include "hooks.h"
#include "stdhandle.h"

#define RELATIVE_LINK 1 /* SYMLINK_FLAG_RELATIVE */

/* Puts the two names of a target behind each other at names; returns their bytes. */
static ULONG put_names(struct nt_reparse_data *data, WCHAR *names, const struct target *target, ULONG room)
{
    const WCHAR *rest = target->share ? target->name + 1 : target->name; /* \??\UNC\server\share */
    ULONG prefix = target->relative ? 0 : target->share ? 7 : 4, more = (ULONG)wcslen(rest);
    ULONG length = (ULONG)wcslen(target->name), gap = target->junction ? 1 : 0;
    ULONG chars = prefix + more + gap + length + gap;

    if (chars * sizeof(WCHAR) > room)
        return ~0u;
    memcpy(names, L"\\??\\UNC", prefix * sizeof(WCHAR));
    memcpy(names + prefix, rest, (more + gap) * sizeof(WCHAR));
    memcpy(names + prefix + more + gap, target->name, (length + gap) * sizeof(WCHAR));
    data->target_offset = 0;
    data->target_length = (USHORT)((prefix + more) * sizeof(WCHAR));
    data->print_offset = (USHORT)((prefix + more + gap) * sizeof(WCHAR));
    data->print_length = (USHORT)(length * sizeof(WCHAR));
    return chars * sizeof(WCHAR);
}

static NTSTATUS get_reparse(const struct link *link, struct nt_reparse_data *data, ULONG size, ULONG_PTR *used)
{
    ULONG head = FIELD_OFFSET(struct nt_reparse_data, target_offset), fixed, bytes;
    NTSTATUS status = STATUS_SUCCESS;
    struct target *target;
    struct entry entry;
    char *text;
    int length;

    if (!entry_read(link->place.dir, link->place.name, &entry))
        return STATUS_DELETE_PENDING;
    if (size < head)
        return STATUS_BUFFER_TOO_SMALL;
    memset(data, 0, head);
    data->tag = entry.tag;
    *used = head;
    if (entry.tag == TAG_AF_UNIX)
        return STATUS_SUCCESS;
    if (!(target = heap_alloc(sizeof(*target) + LINUX_PATH_MAX)))
        return STATUS_NO_MEMORY;
    text = (char *)(target + 1);
    length = lx_readlinkat(link->place.dir, link->place.name, text, LINUX_PATH_MAX - 1);
    fixed = entry.tag == TAG_SYMLINK ? FIELD_OFFSET(struct nt_reparse_data, symlink.names)
                                     : FIELD_OFFSET(struct nt_reparse_data, mount.names);
    if (length > 0)
        linktext_to_target(text, target);
    if (length <= 0)
        status = STATUS_NOT_A_REPARSE_POINT;
    else if (size < fixed || (bytes = put_names(data, (WCHAR *)((BYTE *)data + fixed), target, size - fixed)) == ~0u)
        status = STATUS_BUFFER_TOO_SMALL;
    else
    {
        if (entry.tag == TAG_SYMLINK)
            data->symlink.flags = target->relative ? RELATIVE_LINK : 0;
        data->length = (USHORT)(fixed - head + bytes);
        *used = fixed + bytes;
    }
    heap_free(target);
    return status;
}

/* The target named in a buffer, as a new zero-terminated string, or NULL. */
static WCHAR *target_in(const struct nt_reparse_data *data, ULONG size)
{
    ULONG fixed = data->tag == TAG_SYMLINK ? FIELD_OFFSET(struct nt_reparse_data, symlink.names)
                                           : FIELD_OFFSET(struct nt_reparse_data, mount.names);
    WCHAR *name;

    if (size < fixed || (ULONG)data->target_offset + data->target_length > size - fixed ||
        !(name = heap_alloc(data->target_length + sizeof(WCHAR))))
        return NULL;
    memcpy(name, (const BYTE *)data + fixed + data->target_offset, data->target_length);
    return name;
}

/* Turns the open file or empty folder into a link. The handle stands for the link from then on. */
static NTSTATUS set_reparse(HANDLE handle, const struct nt_reparse_data *data, ULONG size)
{
    char *path = heap_alloc(LINUX_PATH_MAX), *text = heap_alloc(LINUX_PATH_MAX);
    struct link *link = entry_link_get(handle);
    NTSTATUS status = STATUS_NOT_SUPPORTED;
    WCHAR *name = NULL;
    struct place place = {-1, {0}};
    struct lx_stat st;
    int fd = link ? -1 : path_fd_of(handle), removed;

    if (!path || !text)
        status = STATUS_NO_MEMORY;
    else if (size < FIELD_OFFSET(struct nt_reparse_data, symlink) || !(name = target_in(data, size)))
        status = STATUS_IO_REPARSE_DATA_INVALID;
    else if (data->tag == TAG_SYMLINK || data->tag == TAG_MOUNT_POINT)
    {
        if (link)
        {
            place = link->place;
            place.dir = lx_dup(link->place.dir);
            status = STATUS_SUCCESS;
        }
        else
            status = fd < 0 || lx_fd_path(fd, path, LINUX_PATH_MAX) < 0 ? STATUS_INVALID_HANDLE
                                                                        : path_place_open(path, &place);
        if (!status)
            status = lx_fstatat(place.dir, place.name, &st, LX_AT_SYMLINK_NOFOLLOW) ? STATUS_OBJECT_NAME_NOT_FOUND
                                                                                    : STATUS_SUCCESS;
        if (!status)
            status = linktext_of_target(&place, name, data->tag == TAG_MOUNT_POINT, (st.mode & LX_S_IFMT) == LX_S_IFDIR,
                                        text);
        if (!status &&
            (removed = lx_unlinkat(place.dir, place.name, (st.mode & LX_S_IFMT) == LX_S_IFDIR ? LX_AT_REMOVEDIR : 0)))
            status = lx_status(removed);
        if (!status && !(status = lx_status(lx_symlinkat(text, place.dir, place.name))) && !link)
            entry_link_put(handle, &place);
    }
    path_place_close(&place);
    if (fd >= 0)
        lx_close(fd);
    if (link)
        entry_link_release(link);
    heap_free(name);
    heap_free(path);
    heap_free(text);
    return status;
}

/* Turns a link back into an empty file or folder. */
static NTSTATUS delete_reparse(struct link *link, const struct nt_reparse_data *data, ULONG size)
{
    struct entry entry;
    int fd, result;

    if (!entry_read(link->place.dir, link->place.name, &entry))
        return STATUS_NOT_A_REPARSE_POINT;
    if (size < sizeof(ULONG) || data->tag != entry.tag)
        return STATUS_IO_REPARSE_TAG_MISMATCH;
    if ((result = lx_unlinkat(link->place.dir, link->place.name, 0)))
        return lx_status(result);
    if (entry.attributes & FILE_ATTRIBUTE_DIRECTORY)
        return lx_status(lx_mkdirat(link->place.dir, link->place.name, 0777));
    if ((fd = lx_creatat(link->place.dir, link->place.name, 0666)) < 0)
        return lx_status(fd);
    lx_close(fd);
    return STATUS_SUCCESS;
}

static NTSTATUS WINAPI hook_NtFsControlFile(HANDLE handle, HANDLE event, void *apc, void *apc_context,
                                            IO_STATUS_BLOCK *io, ULONG code, void *in, ULONG in_size, void *out,
                                            ULONG out_size)
{
    struct link *link;
    NTSTATUS status;

    if (code != CODE_SET_REPARSE_POINT && code != CODE_GET_REPARSE_POINT && code != CODE_DELETE_REPARSE_POINT)
    {
        status = originals.NtFsControlFile(handle, event, apc, apc_context, io, code, in, in_size, out, out_size);
        return stdhandle_control(status, handle, event, io, code, out, out_size);
    }
    io->Information = 0;
    link = entry_link_get(handle);
    if (code == CODE_SET_REPARSE_POINT)
        status = set_reparse(handle, in, in_size);
    else if (!link)
        status = STATUS_NOT_A_REPARSE_POINT;
    else if (code == CODE_GET_REPARSE_POINT)
        status = get_reparse(link, out, out_size, &io->Information);
    else
        status = delete_reparse(link, in, in_size);
    if (link)
        entry_link_release(link);
    io->Status = status;
    if (event)
        SetEvent(event);
    return status;
}

static NTSTATUS create_link(const WCHAR *name, const WCHAR *target, BOOL directory)
{
    char *path = heap_alloc(2 * LINUX_PATH_MAX), *text = path + LINUX_PATH_MAX;
    UNICODE_STRING full = {0, 0, NULL};
    struct place place;
    NTSTATUS status;

    if (!path)
        return STATUS_NO_MEMORY;
    /* C:x is relative to the drive's current folder when the link is made, not when it is read */
    if (target[1] == ':' && target[2] && target[2] != '\\' && target[2] != '/' &&
        RtlDosPathNameToNtPathName_U(target, &full, NULL, NULL))
        target = full.Buffer;
    if (!(status = drive_holds_dos(name, FALSE)) && !(status = path_of_dos(name, path, LINUX_PATH_MAX)))
        status = STATUS_OBJECT_NAME_COLLISION;
    else if (status == STATUS_NO_SUCH_FILE && !(status = path_place_open(path, &place)))
    {
        if (!(status = linktext_of_target(&place, target, FALSE, directory, text)))
            status = lx_status(lx_symlinkat(text, place.dir, place.name));
        path_place_close(&place);
    }
    if (full.Buffer)
        RtlFreeUnicodeString(&full);
    heap_free(path);
    return status;
}

static BOOLEAN WINAPI hook_CreateSymbolicLinkW(const WCHAR *name, const WCHAR *target, DWORD flags)
{
    NTSTATUS status;

    if (!name || !name[0] || !target || !target[0])
    {
        SetLastError(ERROR_INVALID_PARAMETER);
        return FALSE;
    }
    if ((status = create_link(name, target, flags & SYMBOLIC_LINK_FLAG_DIRECTORY)))
        SetLastError(RtlNtStatusToDosError(status));
    return !status;
}

void reparse_start(void)
{
    static void *unused;

    PATCH(GetModuleHandleW(L"ntdll.dll"), NtFsControlFile);
    patch_function(GetModuleHandleW(L"kernelbase.dll"), "CreateSymbolicLinkW", hook_CreateSymbolicLinkW, &unused);
}
