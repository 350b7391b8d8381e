/* Renames of folders of an image's layers. */
#include "move.h"

#include "heap.h"

/* Folders in folders that are made anew; each has three descriptors and a listing while what is in it is moved. */
#define DEEPEST 100

#define OVERLAYFS 0x794c7630 /* linux/magic.h */

/* What the hooks and Wine keep of a folder beside its mode. */
static const char *const attributes[] = {"user.mullion.sd", "user.DOSATTRIB"};

static int open_folder(int dir, const char *name)
{
    return lx_openat(dir, name, LX_O_RDONLY | LX_O_DIRECTORY | LX_O_NOFOLLOW | LX_O_CLOEXEC);
}

/* Gives the folder to the owner, mode, attributes and times of from, as far as the process may. */
static void keep(int from, int to, const struct lx_stat *st)
{
    const struct lx_timespec times[2] = {st->atime, st->mtime};
    char source[32], target[32];
    SIZE_T size = 0x10000;
    BYTE *value = heap_alloc(size);
    int length;

    lx_proc_path(from, source);
    lx_proc_path(to, target);
    for (unsigned i = 0; value && i < sizeof(attributes) / sizeof(*attributes); i++)
        if ((length = lx_getxattr(source, attributes[i], value, size)) > 0)
            lx_setxattr(target, attributes[i], value, length);
    heap_free(value);
    lx_fchown(to, st->uid, st->gid);
    lx_fchmod(to, st->mode & 07777);
    lx_utimensat(LX_AT_FDCWD, target, times, 0);
}

static int move_one(int from_dir, const char *from, int to_dir, const char *to, int flags, unsigned depth);

/*
 * Moves what is in the folder name of dir to the open folder to. The folder is listed anew until it is empty: a listing
 * is out of date when what it names is gone.
 */
static int move_content(int dir, const char *name, int to, unsigned depth)
{
    BYTE *listing = heap_alloc(LINUX_LISTING);
    int from, got, result = listing ? 0 : -LX_ENOSPC;
    BOOL any = TRUE;

    while (!result && any)
    {
        any = FALSE;
        if ((from = open_folder(dir, name)) < 0)
        {
            result = from;
            break;
        }
        if ((got = lx_getdents(from, listing, LINUX_LISTING)) < 0)
            result = got;
        for (int at = 0; !result && at < got; at += ((struct lx_dirent *)(listing + at))->reclen)
        {
            const struct lx_dirent *found = (struct lx_dirent *)(listing + at);

            if (lx_is_dots(found->name))
                continue;
            any = TRUE;
            result = move_one(from, found->name, to, found->name, LX_RENAME_NOREPLACE, depth);
        }
        lx_close(from);
    }
    heap_free(listing);
    return result;
}

/* Makes a folder anew and moves what is in it; nothing has changed if that fails. */
static int move_folder(int from_dir, const char *from, int to_dir, const char *to, const struct lx_stat *st,
                       unsigned depth)
{
    int old = open_folder(from_dir, from), made, result;

    if (old < 0)
        return old;
    if (!(result = lx_mkdirat(to_dir, to, 0700)))
    {
        if ((made = open_folder(to_dir, to)) < 0)
            result = made;
        else
        {
            if (!(result = move_content(from_dir, from, made, depth)))
            {
                keep(old, made, st);
                result = lx_unlinkat(from_dir, from, LX_AT_REMOVEDIR);
            }
            if (result)
                move_content(to_dir, to, old, depth); /* none of them is a folder of a layer any more */
            lx_close(made);
        }
        if (result)
            lx_unlinkat(to_dir, to, LX_AT_REMOVEDIR);
    }
    lx_close(old);
    return result;
}

/* Whether a folder is in layers. Volumes of another file system have one device, too, and no rename between them. */
static BOOL is_layered(int dir)
{
    struct lx_statfs fs;

    return !lx_fstatfs(dir, &fs) && fs.type == OVERLAYFS;
}

static int move_one(int from_dir, const char *from, int to_dir, const char *to, int flags, unsigned depth)
{
    int result = lx_renameat2(from_dir, from, to_dir, to, flags);
    struct lx_stat st, target;

    /* Between two file systems it is the caller's to copy. */
    if (result != -LX_EXDEV || depth == DEEPEST || lx_fstatat(from_dir, from, &st, LX_AT_SYMLINK_NOFOLLOW) ||
        (st.mode & LX_S_IFMT) != LX_S_IFDIR || lx_fstat(to_dir, &target) || st.dev != target.dev || !is_layered(to_dir))
        return result;
    return move_folder(from_dir, from, to_dir, to, &st, depth + 1);
}

int move_entry(const struct place *from, const struct place *to, int flags)
{
    return move_one(from->dir, from->name, to->dir, to->name, flags, 0);
}
