/* Files so far below their drive that no path leads to them. */
#include "deep.h"

#include "names.h"
#include "heap.h"
#include "table.h"

struct deep
{
    struct object object;
    struct place place;
};

static void deep_destroy(struct object *object)
{
    path_place_close(&((struct deep *)object)->place);
    heap_free(object);
}

static BOOL is_bare(const UNICODE_STRING *name)
{
    for (ULONG i = 0; i < name->Length / sizeof(WCHAR); i++)
        if (name->Buffer[i] == '\\')
            return FALSE;
    return name->Length > 0;
}

static BOOL too_long(int folder)
{
    char *path = heap_alloc(LINUX_PATH_MAX);
    int length = path ? lx_fd_path(folder, path, LINUX_PATH_MAX - NAME_ROOM) : 0;

    heap_free(path);
    return length < 0 || length >= LINUX_PATH_MAX - NAME_ROOM - 1;
}

void deep_opened(HANDLE handle, ACCESS_MASK access, const OBJECT_ATTRIBUTES *attributes)
{
    const UNICODE_STRING *name = attributes->ObjectName;
    struct lx_stat opened, named;
    struct deep *deep;
    BOOL keep = FALSE;
    int fd, folder;

    if (!(access & DELETE) || !attributes->RootDirectory || !name || !is_bare(name) ||
        (folder = path_fd_of(attributes->RootDirectory)) < 0)
        return;
    if (too_long(folder) && (deep = heap_alloc(sizeof(*deep))))
    {
        deep->object.type = OBJECT_DEEP;
        deep->object.references = 1;
        deep->object.destroy = deep_destroy;
        deep->place.dir = folder;
        fd = path_fd_of(handle);
        /* in another case than on disk, or another file by now: not kept */
        keep = fd >= 0 && name_to_linux(name->Buffer, name->Length / sizeof(WCHAR), deep->place.name) &&
               !lx_fstat(fd, &opened) && !lx_fstatat(folder, deep->place.name, &named, LX_AT_SYMLINK_NOFOLLOW) &&
               opened.ino == named.ino && opened.dev == named.dev;
        if (fd >= 0)
            lx_close(fd);
        if (keep)
            table_put(handle, &deep->object);
        else
            heap_free(deep);
    }
    if (!keep)
        lx_close(folder);
}

BOOL deep_place(HANDLE handle, struct place *place)
{
    struct deep *deep = table_get(handle, OBJECT_DEEP);

    if (!deep)
        return FALSE;
    *place = deep->place;
    place->dir = lx_dup(deep->place.dir);
    table_object_release(&deep->object);
    return place->dir >= 0;
}
