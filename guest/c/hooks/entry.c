/* A directory entry that Windows programs see as a reparse point. */
#include "entry.h"
#include "heap.h"

BOOL entry_read(int dir, const char *name, struct entry *entry)
{
    struct lx_stat target_stat;
    struct target *target;
    char *text;
    int length;

    if (lx_fstatat(dir, name, &entry->st, LX_AT_SYMLINK_NOFOLLOW))
        return FALSE;
    entry->attributes = FILE_ATTRIBUTE_REPARSE_POINT;
    entry->dangling = TRUE;
    if ((entry->st.mode & LX_S_IFMT) == LX_S_IFSOCK)
    {
        entry->attributes |= FILE_ATTRIBUTE_ARCHIVE;
        entry->tag = TAG_AF_UNIX;
        return TRUE;
    }
    if ((entry->st.mode & LX_S_IFMT) != LX_S_IFLNK)
        return FALSE;
    if (!(target = heap_alloc(sizeof(*target) + LINUX_PATH_MAX)))
        return FALSE;
    text = (char *)(target + 1);
    length = lx_readlinkat(dir, name, text, LINUX_PATH_MAX - 1);
    if (length > 0)
    {
        linktext_to_target(text, target);
        entry->tag = target->junction ? TAG_MOUNT_POINT : TAG_SYMLINK;
        entry->dangling = lx_fstatat(dir, name, &target_stat, 0) < 0;
        if (entry->dangling ? text[length - 1] == '/' : (target_stat.mode & LX_S_IFMT) == LX_S_IFDIR)
            entry->attributes |= FILE_ATTRIBUTE_DIRECTORY;
        else
            entry->attributes |= FILE_ATTRIBUTE_ARCHIVE;
    }
    heap_free(target);
    return length > 0;
}

static void link_destroy(struct object *object)
{
    struct link *link = (struct link *)object;

    path_place_close(&link->place);
    DeleteCriticalSection(&link->lock);
    heap_free(link);
}

BOOL entry_link_put(HANDLE handle, struct place *place)
{
    struct link *link = heap_alloc(sizeof(*link));

    if (!link)
        return FALSE;
    link->object.type = OBJECT_LINK;
    link->object.references = 1;
    link->object.destroy = link_destroy;
    link->place = *place;
    place->dir = -1;
    InitializeCriticalSection(&link->lock);
    table_put(handle, &link->object);
    return TRUE;
}

struct link *entry_link_get(HANDLE handle)
{
    return table_get(handle, OBJECT_LINK);
}

void entry_link_release(struct link *link)
{
    table_object_release(&link->object);
}

LONGLONG entry_time(struct lx_timespec time)
{
    return (time.sec + 11644473600LL) * 10000000 + time.nsec / 100; /* 1601 to 1970 */
}

void entry_fill_basic(const struct lx_stat *st, ULONG attributes, struct nt_basic_info *info)
{
    info->creation.QuadPart = info->write.QuadPart = entry_time(st->mtime);
    info->access.QuadPart = entry_time(st->atime);
    info->change.QuadPart = entry_time(st->ctime);
    info->attributes = attributes;
}
