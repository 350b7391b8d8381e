/* The way to an entry whose name Wine cannot say. */
#include "way.h"

#include <string.h>

#include "drive.h"
#include "heap.h"
#include "names.h"

static const WCHAR linux_head[] = L"\\??\\unix\\";
static const WCHAR process_head[] = L"\\??\\unix\\proc\\";

#define CHARS(text) (sizeof(text) / sizeof(WCHAR) - 1)

static BOOL begins(const WCHAR *name, ULONG length, const WCHAR *head, ULONG chars)
{
    return length >= chars && path_same_name(name, head, chars);
}

BOOL way_has(const OBJECT_ATTRIBUTES *attributes)
{
    const UNICODE_STRING *name = attributes->ObjectName;
    ULONG length = name ? name->Length / sizeof(WCHAR) : 0;

    return length && name_stands(name->Buffer, length) && !begins(name->Buffer, length, linux_head, CHARS(linux_head));
}

/* Opens the folder in which the first such component is; at is where that begins. Negative: an error number. */
static int way_begins(const OBJECT_ATTRIBUTES *attributes, ULONG *at)
{
    const UNICODE_STRING *name = attributes->ObjectName;
    UNICODE_STRING before = *name;
    OBJECT_ATTRIBUTES of_folder = *attributes;
    char *path;
    int dir;

    for (*at = 0; !name_stands(name->Buffer + *at, 1);)
        ++*at;
    while (*at && name->Buffer[*at - 1] != '\\')
        --*at;
    if (!*at)
        return attributes->RootDirectory ? path_fd_of(attributes->RootDirectory) : -LX_ENOENT;
    if (!(path = heap_alloc(LINUX_PATH_MAX)))
        return -LX_ENOSPC;
    before.Length = (USHORT)(*at * sizeof(WCHAR));
    of_folder.ObjectName = &before;
    dir = path_plain(&of_folder, path, LINUX_PATH_MAX) ? -LX_ENOENT : drive_place(LX_AT_FDCWD, path, LX_O_DIRECTORY, 0);
    heap_free(path);
    return dir;
}

/* Finds the name on disk that a component means, which is in disk already. FALSE: there is none, in no case. */
static BOOL find(int folder, const WCHAR *wanted, ULONG length, char *disk)
{
    WCHAR name[NAME_ROOM];
    struct lx_stat st;
    BOOL found = FALSE;
    BYTE *buffer;
    int dir, got;

    if (!lx_fstatat(folder, disk, &st, LX_AT_SYMLINK_NOFOLLOW))
        return TRUE;
    if ((dir = lx_openat(folder, ".", LX_O_RDONLY | LX_O_DIRECTORY | LX_O_CLOEXEC)) < 0)
        return FALSE;
    buffer = heap_alloc(LINUX_LISTING);
    while (buffer && !found && (got = lx_getdents(dir, buffer, LINUX_LISTING)) > 0)
    {
        for (int at = 0; at < got && !found; at += ((struct lx_dirent *)(buffer + at))->reclen)
        {
            struct lx_dirent *entry = (struct lx_dirent *)(buffer + at);

            found = strlen(entry->name) < NAME_ROOM && name_from_linux(entry->name, name) == length &&
                    path_same_name(name, wanted, length);
            if (found)
                memcpy(disk, entry->name, strlen(entry->name) + 1);
        }
    }
    heap_free(buffer);
    lx_close(dir);
    return found;
}

/* Whether NT allows a component: the characters that it does not allow stand in the private range. */
static BOOL allowed(const WCHAR *name, ULONG length)
{
    if (name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.')))
        return FALSE;
    for (ULONG i = 0; i < length; i++)
        if (name[i] < 0x20 || name[i] == '/' || (name[i] < 0x80 && strchr("*?|<>\"", name[i])))
            return FALSE;
    return TRUE;
}

/* Goes from an open folder to the entry that the rest of a name means; takes the folder over. */
static NTSTATUS way_goes(int dir, const WCHAR *rest, ULONG left, BOOL no_links, struct place *place)
{
    UINT64 resolve = no_links ? LX_RESOLVE_NO_SYMLINKS : 0;

    for (;;)
    {
        NTSTATUS status = STATUS_SUCCESS;
        ULONG length = 0;
        int next;

        while (length < left && rest[length] != '\\')
            length++;
        if (!allowed(rest, length) || !name_to_linux(rest, length, place->name))
            status = STATUS_OBJECT_NAME_INVALID;
        else if (!find(dir, rest, length, place->name))
            status = STATUS_NO_SUCH_FILE;
        rest += length;
        left -= length;
        while (left && *rest == '\\')
            rest++, left--;
        if (!left && status != STATUS_OBJECT_NAME_INVALID)
        {
            place->dir = dir;
            return status;
        }
        next = status ? -LX_ENOENT : drive_place(dir, place->name, LX_O_DIRECTORY, resolve);
        lx_close(dir);
        if (next < 0)
            return status == STATUS_OBJECT_NAME_INVALID ? status
                   : no_links && next == -LX_ELOOP      ? STATUS_REPARSE_POINT_ENCOUNTERED
                                                        : STATUS_OBJECT_PATH_NOT_FOUND;
        dir = next;
    }
}

NTSTATUS way_of(const OBJECT_ATTRIBUTES *attributes, struct place *place)
{
    ULONG at, chars = attributes->ObjectName->Length / sizeof(WCHAR);
    const WCHAR *rest = attributes->ObjectName->Buffer;
    int dir = way_begins(attributes, &at);
    NTSTATUS status;
    BOOL bare = !at;

    place->dir = -1;
    if (dir < 0)
        return dir == -LX_EBADF ? STATUS_INVALID_HANDLE : STATUS_OBJECT_PATH_NOT_FOUND;
    for (ULONG i = at; bare && i < chars; i++)
        bare = rest[i] != '\\';
    status = way_goes(dir, rest + at, chars - at, (attributes->Attributes & OBJ_DONT_REPARSE_FLAG) != 0, place);
    if (place->dir >= 0 && !bare && !drive_holds_fd(place->dir))
    {
        path_place_close(place);
        return STATUS_OBJECT_PATH_NOT_FOUND;
    }
    return status;
}

static ULONG put_number(WCHAR *text, int number)
{
    WCHAR digits[12];
    ULONG n = 0, at = 0;

    do
        digits[n++] = (WCHAR)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0)
        text[at++] = digits[--n];
    return at;
}

void way_stand_in_for(struct stand_in *stand, int fd, const OBJECT_ATTRIBUTES *like)
{
    static const WCHAR descriptors[] = L"\\fd\\";
    ULONG at = CHARS(process_head);

    memcpy(stand->text, process_head, sizeof(process_head));
    at += put_number(stand->text + at, lx_getpid()); /* the server is another process */
    memcpy(stand->text + at, descriptors, sizeof(descriptors));
    at += CHARS(descriptors);
    at += put_number(stand->text + at, fd);
    stand->fd = fd;
    stand->name.Buffer = stand->text;
    stand->name.Length = stand->name.MaximumLength = (USHORT)(at * sizeof(WCHAR));
    set_attributes(&stand->attributes, NULL, &stand->name, OBJ_CASE_INSENSITIVE | (like->Attributes & OBJ_INHERIT));
    stand->attributes.SecurityDescriptor = like->SecurityDescriptor;
}

NTSTATUS way_stand_in_open(struct stand_in *stand, const struct place *place, BOOL follow,
                           const OBJECT_ATTRIBUTES *like)
{
    int fd = lx_openat(place->dir, place->name, LX_O_PATH | LX_O_NOFOLLOW | LX_O_CLOEXEC);
    struct lx_stat st;

    if (fd >= 0 && follow && !lx_fstat(fd, &st) && (st.mode & LX_S_IFMT) == LX_S_IFLNK)
    {
        lx_close(fd);
        fd = drive_place(place->dir, place->name, 0, 0);
        if (fd >= 0 && !drive_holds_fd(fd))
        {
            lx_close(fd);
            return STATUS_OBJECT_PATH_NOT_FOUND;
        }
    }
    if (fd < 0)
        return lx_status(fd);
    way_stand_in_for(stand, fd, like);
    return STATUS_SUCCESS;
}

void way_stand_in_close(struct stand_in *stand)
{
    lx_close(stand->fd);
}

BOOL way_stand_in_named(const WCHAR *name, ULONG length)
{
    return begins(name, length, process_head, CHARS(process_head));
}
