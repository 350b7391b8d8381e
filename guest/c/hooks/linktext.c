/* Between the text of a Linux link and the target of a Windows one. */
#include <string.h>

#include "names.h"
#include "path.h"
#include "heap.h"

/* Whether the part of a link's text behind "dosdevices/" leads to a share. */
static BOOL is_share(const char *part)
{
    return !strncmp(part, "unc/", 4);
}

#define VOLUME_NAME 44 /* characters of Volume{GUID} */

/* The end of "volume{GUID}" in a link's text, or NULL: it begins with another name. */
static const char *volume_end(const char *part)
{
    const char *end = part;

    if (strncmp(part, "volume{", 7))
        return NULL;
    while (*end && *end != '}' && *end != '/')
        end++;
    return *end == '}' && end - part == VOLUME_NAME - 1 && (end[1] == '/' || !end[1]) ? end + 1 : NULL;
}

/* The part of a link's text behind "dosdevices/" if it has our absolute form, or NULL. */
static const char *device_part(const char *text)
{
    const char *p = text;

    while (!strncmp(p, "../", 3))
        p += 3;
    if (strncmp(p, "dosdevices/", 11))
        return NULL;
    p += 11;
    if (!strncmp(p, "./", 2))
        p += 2;
    else if (is_share(p))
        return p;
    return (p[0] >= 'a' && p[0] <= 'z' && p[1] == ':' && (p[2] == '/' || !p[2])) || volume_end(p) ? p : NULL;
}

/* A drive that is never there: "?" has no place in a name, and every letter could be a drive. */
static const WCHAR nowhere[] = {'_', ':', 0};

void linktext_to_target(const char *text, struct target *target)
{
    const char *part = device_part(text);
    ULONG length, size = LINUX_PATH_MAX,
                  root; /* root: how many characters name the drive or the volume, without a backslash */

    target->relative = target->junction = FALSE;
    target->share = part && is_share(part);
    if (text[0] == '/' && !path_to_nt(text, target->name, &size) && wcsncmp(target->name, L"\\??\\unix", 8))
    {
        memmove(target->name, target->name + 4, (wcslen(target->name + 4) + 1) * sizeof(WCHAR));
        return;
    }
    if (text[0] == '/')
    {
        memcpy(target->name, nowhere, sizeof(nowhere));
        names_from_path(text, target->name + 2, LINUX_PATH_MAX - 2);
        return;
    }
    if (target->share)
    {
        target->name[0] = '\\';
        length = 1 + names_from_path(part + 3, target->name + 1, LINUX_PATH_MAX - 2);
        while (length > 2 && target->name[length - 1] == '\\')
            target->name[--length] = 0;
        return;
    }
    target->relative = !part;
    target->junction = part && part[-2] == '.';
    if (!part)
        part = text;
    root = target->relative ? 0 : volume_end(part) ? (ULONG)(volume_end(part) - part) : 2;
    for (ULONG i = 0; i < root; i++)
        target->name[i] = (WCHAR)part[i]; /* the colon of a drive is one */
    if (!target->relative)
        target->name[0] -= 'a' - 'A';
    length = root + names_from_path(part + root, target->name + root, LINUX_PATH_MAX - 1 - root);
    if (!target->relative && length == root)
        target->name[length++] = '\\';
    else if (length > root + 1 && target->name[length - 1] == '\\')
        length--; /* the slash that marks a folder */
    target->name[length] = 0;
}

/* Finds name in a folder without regard to case, and overwrites it with the name on disk. */
static void case_on_disk(const char *folder, char *name)
{
    WCHAR wanted[NAME_ROOM], found[NAME_ROOM];
    ULONG wanted_length = name_from_linux(name, wanted), length;
    struct lx_stat st;
    BYTE *buffer;
    int dir = lx_openat(LX_AT_FDCWD, folder, LX_O_RDONLY | LX_O_DIRECTORY | LX_O_CLOEXEC), got;

    if (dir < 0)
        return;
    buffer = lx_fstatat(dir, name, &st, LX_AT_SYMLINK_NOFOLLOW) ? heap_alloc(LINUX_LISTING) : NULL;
    while (buffer && (got = lx_getdents(dir, buffer, LINUX_LISTING)) > 0)
    {
        for (int at = 0; at < got; at += ((struct lx_dirent *)(buffer + at))->reclen)
        {
            struct lx_dirent *entry = (struct lx_dirent *)(buffer + at);

            length = name_from_linux(entry->name, found);
            if (length == wanted_length && path_same_name(found, wanted, length) && strlen(entry->name) == strlen(name))
                memcpy(name, entry->name, strlen(name));
        }
    }
    heap_free(buffer);
    lx_close(dir);
}

/* Walks the components of a relative text from the folder and sets their case to that on disk. */
static void fix_case(const char *folder, char *text)
{
    char *at = text, *path = heap_alloc(LINUX_PATH_MAX * 2);
    SIZE_T length = strlen(folder);

    if (!path)
        return;
    memcpy(path, folder, length);
    while (*at)
    {
        char *end = at, save;

        while (*end && *end != '/')
            end++;
        save = *end;
        *end = 0;
        if (strcmp(at, "..") && strcmp(at, ".") && *at && end - at < 256)
        {
            path[length] = 0;
            case_on_disk(path, at);
        }
        path[length++] = '/';
        memcpy(path + length, at, (SIZE_T)(end - at));
        length += (SIZE_T)(end - at);
        *end = save;
        at = save ? end + 1 : end;
    }
    heap_free(path);
}

/* Appends to the text of a link; FALSE: the text would be too long for a link. */
static BOOL append(char *text, const char *more)
{
    SIZE_T length = strlen(text), added = strlen(more);

    if (length + added >= LINUX_PATH_MAX)
        return FALSE;
    memcpy(text + length, more, added + 1);
    return TRUE;
}

/*
 * Appends to text the relative path from the folder to the prefix's dosdevices. Both paths are canonical. FALSE: it
 * is too long.
 */
static BOOL way_to_devices(const char *folder, char *text)
{
    char *target = heap_alloc(LINUX_PATH_MAX);
    SIZE_T common = 0;
    BOOL fits = FALSE;
    int dir = lx_openat(LX_AT_FDCWD, path_of_devices(), LX_O_PATH | LX_O_DIRECTORY | LX_O_CLOEXEC);

    if (target && dir >= 0 && lx_fd_path(dir, target, LINUX_PATH_MAX) > 0)
    {
        target[strlen(target) - strlen("/dosdevices")] = 0; /* the prefix; empty if it is the root */
        for (SIZE_T at = 0;; at++)
        {
            if ((!folder[at] || folder[at] == '/') && (!target[at] || target[at] == '/'))
                common = at;
            if (folder[at] != target[at] || !folder[at])
                break;
        }
        fits = TRUE;
        for (const char *p = folder + common; *p; p++)
            if (*p == '/' && p[1])
                fits = fits && append(text, "../");
        if (target[common] == '/')
            fits = fits && append(text, target + common + 1) && append(text, "/");
        fits = fits && append(text, "dosdevices/");
    }
    if (dir >= 0)
        lx_close(dir);
    heap_free(target);
    return fits;
}

static WCHAR *skip_nt_prefix(const WCHAR *name)
{
    if (!wcsncmp(name, L"\\??\\", 4) || !wcsncmp(name, L"\\\\?\\", 4))
        return (WCHAR *)name + 4;
    return (WCHAR *)name;
}

/*
 * Turns a target that begins with its drive ("C:/x/") into the form of a link's text: "c:/x", case as on disk.
 * folder has room for a path.
 */
static void drive_form(char *target, char *folder)
{
    SIZE_T length = strlen(path_of_devices());

    if (target[1] == ':' && target[0] >= 'A' && target[0] <= 'Z')
        target[0] += 'a' - 'A';
    while (strlen(target) > 3 && target[strlen(target) - 1] == '/')
        target[strlen(target) - 1] = 0;
    if (target[1] != ':' || target[2] != '/')
        return;
    memcpy(folder, path_of_devices(), length);
    folder[length] = '/';
    memcpy(folder + length + 1, target, 2);
    folder[length + 3] = 0;
    fix_case(folder, target + 3);
}

static NTSTATUS absolute_text(const char *folder, const WCHAR *name, BOOL junction, char *text)
{
    static const char root[] = {'c', ':', 0};
    char *path = heap_alloc(LINUX_PATH_MAX);
    SIZE_T length;
    BOOL fits;

    if (!path)
        return STATUS_NO_MEMORY;
    text[0] = 0;
    fits = way_to_devices(folder, text) && append(text, junction ? "./" : "");
    length = strlen(text);
    if (name[0] == '\\') /* rooted: on the link's drive, which is C: for every link Mullion makes */
        fits = fits && append(text, root);
    names_to_path(name, (ULONG)wcslen(name), path, LINUX_PATH_MAX);
    fits = fits && append(text, path);
    if (fits)
        drive_form(text + length, path);
    heap_free(path);
    return fits ? STATUS_SUCCESS : STATUS_OBJECT_NAME_INVALID;
}

/* The characters of Volume{GUID} that a name begins with, or 0. */
static ULONG volume_length(const WCHAR *name)
{
    return wcslen(name) >= VOLUME_NAME && path_same_name(name, L"Volume{", 7) && name[VOLUME_NAME - 1] == '}' &&
                   (name[VOLUME_NAME] == '\\' || !name[VOLUME_NAME])
               ? VOLUME_NAME
               : 0;
}

/* The text of a link to a volume, whose name has small letters in dosdevices. */
static NTSTATUS volume_text(const char *folder, const WCHAR *name, BOOL junction, char *text)
{
    ULONG length = volume_length(name);
    char *more = heap_alloc(LINUX_PATH_MAX);
    BOOL fits = FALSE;

    if (more)
    {
        text[0] = 0;
        names_to_path(name, (ULONG)wcslen(name), more, LINUX_PATH_MAX);
        for (ULONG i = 0; i < length; i++)
            if (more[i] >= 'A' && more[i] <= 'Z')
                more[i] += 'a' - 'A';
        fits = way_to_devices(folder, text) && append(text, junction ? "./" : "") && append(text, more);
    }
    heap_free(more);
    return fits ? STATUS_SUCCESS : STATUS_OBJECT_NAME_INVALID;
}

/* The part of a name behind \\ or UNC\ if it is that of a share, or NULL. skipped: it had the prefix of NT. */
static const WCHAR *share_part(const WCHAR *name, BOOL skipped)
{
    if (skipped)
        return path_same_name(name, L"UNC\\", 4) ? name + 4 : NULL;
    return name[0] == '\\' && name[1] == '\\' && name[2] && name[2] != '\\' && name[2] != '.' && name[2] != '?'
               ? name + 2
               : NULL;
}

/*
 * The text of a link to a share: part is server\share\x. Their names have no case, and the folders they are mounted at
 * have small letters.
 */
static NTSTATUS share_text(const char *folder, const WCHAR *part, char *text)
{
    SIZE_T chars = wcslen(part);
    WCHAR *lower = heap_alloc((chars + 1) * sizeof(WCHAR));
    char *more = heap_alloc(LINUX_PATH_MAX);
    unsigned names = 0;
    BOOL fits = FALSE;

    for (SIZE_T i = 0; lower && i <= chars; i++)
    {
        if (part[i] == '\\' || part[i] == '/')
            names++;
        lower[i] = names < 2 ? RtlDowncaseUnicodeChar(part[i]) : part[i];
    }
    if (lower && more && names)
    {
        text[0] = 0;
        names_to_path(lower, (ULONG)chars, more, LINUX_PATH_MAX);
        fits = way_to_devices(folder, text) && append(text, "unc/") && append(text, more);
    }
    heap_free(lower);
    heap_free(more);
    return fits ? STATUS_SUCCESS : STATUS_OBJECT_NAME_INVALID;
}

NTSTATUS linktext_of_target(const struct place *place, const WCHAR *name, BOOL junction, BOOL directory, char *text)
{
    char *folder = heap_alloc(LINUX_PATH_MAX);
    const WCHAR *given = name, *share;
    NTSTATUS status = STATUS_SUCCESS;
    struct lx_stat st;
    SIZE_T length;

    name = skip_nt_prefix(name);
    if (!folder || !name[0] || wcslen(name) > LINUX_PATH_MAX / 6 ||
        lx_fd_path(place->dir, folder, LINUX_PATH_MAX / 4) < 0)
        status = STATUS_OBJECT_NAME_INVALID;
    else if (!junction && (share = share_part(name, name != given)))
        status = share_text(folder, share, text);
    else if (name != given && volume_length(name))
        status = volume_text(folder, name, junction, text);
    else if ((name[0] && name[1] == ':') || (name[0] == '\\' && name[1] != '\\'))
        status = absolute_text(folder, name, junction, text);
    else if (name[0] == '\\' || name != given || junction)
        status = STATUS_NOT_SUPPORTED; /* another device than a drive or a volume */
    else
    {
        names_to_path(name, (ULONG)wcslen(name), text, LINUX_PATH_MAX / 2);
        fix_case(folder, text);
    }
    if (!status && directory && (length = strlen(text)) && text[length - 1] != '/' && strcmp(text, ".") &&
        lx_fstatat(place->dir, text, &st, 0) && !append(text, "/"))
        status = STATUS_OBJECT_NAME_INVALID;
    heap_free(folder);
    return status;
}

void linktext_move(const char *text, const struct place *to, char *moved)
{
    const char *part = device_part(text);
    char *folder;

    moved[0] = 0;
    if (part && (folder = heap_alloc(LINUX_PATH_MAX)))
    {
        if (lx_fd_path(to->dir, folder, LINUX_PATH_MAX / 4) < 0 || !way_to_devices(folder, moved) ||
            !append(moved, part[-2] == '.' ? "./" : "") || !append(moved, part))
            moved[0] = 0;
        heap_free(folder);
    }
    if (!moved[0])
        memcpy(moved, text, strlen(text) + 1);
}
