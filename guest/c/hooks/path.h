/* From NT names to Linux paths, and between the text of a Linux link and the target of a Windows one. */
#ifndef MULLION_PATH_H
#define MULLION_PATH_H

#include "linux.h"
#include "nt.h"

/* Finds Wine's own functions; FALSE if this is not Wine. */
BOOL path_start(void);

/*
 * The Linux path of an NT name, case as on disk. STATUS_SUCCESS: it exists (a dangling link does); STATUS_NO_SUCH_FILE:
 * its folder exists; anything else: no path.
 */
NTSTATUS path_of(const OBJECT_ATTRIBUTES *attributes, char *path, ULONG size);

/* The same for a name that Wine can say (way.h). */
NTSTATUS path_plain(const OBJECT_ATTRIBUTES *attributes, char *path, ULONG size);

/* The same for a Win32 name, which may be relative to the current folder. */
NTSTATUS path_of_dos(const WCHAR *name, char *path, ULONG size);

/* The same for a name relative to a directory handle (or NULL). */
NTSTATUS path_of_name(HANDLE root, const WCHAR *name, ULONG bytes, char *path, ULONG size);

/* Whether a Linux path has a name that Wine would call otherwise (names.h). */
BOOL path_differs(const char *path);

/* The name of NT for a Linux path. */
NTSTATUS path_to_nt(const char *path, WCHAR *name, ULONG *size);

/* An entry of a folder: the folder is held open, so the place survives renames of the folders above it. */
struct place
{
    int dir;
    char name[256];
};

NTSTATUS path_place_open(const char *path, struct place *place);
void path_place_close(struct place *place);

/* The target of a Linux link, as a Windows program sees it. */
struct target
{
    BOOL relative, junction, share;
    WCHAR name[LINUX_PATH_MAX]; /* without \??\; of a share \\server\share\x, of a volume Volume{GUID}\x */
};

/*
 * What an absolute text is that leads out of all drives: _:\x for /x. There is never a drive of that name, so that a
 * program that opens the target itself finds nothing.
 */
void linktext_to_target(const char *text, struct target *target);

/*
 * The text of a Linux link at place for a Windows target:
 *  - relative: the same with slashes, case as on disk, so Linux programs and Windows programs find the same file;
 *  - absolute (C:\x): ../…/dosdevices/c:/x, which resolves wherever the prefix lies; a junction has /dosdevices/./c:/x;
 *  - of a share (\\server\share\x): ../…/dosdevices/unc/server/share/x, server and share in lower case;
 *  - of a volume (\??\Volume{GUID}\x): ../…/dosdevices/volume{GUID}/x, in lower case; a mount point has
 * /dosdevices/./volume{GUID}/. A folder that does not exist yet is marked by a slash at the end.
 */
NTSTATUS linktext_of_target(const struct place *place, const WCHAR *name, BOOL junction, BOOL directory, char *text);

/*
 * The text of a link after a move to another place. It stays the same if it does not lead by the drives' links
 * (dosdevices), or if the new text would be too long. text and moved must not overlap.
 */
void linktext_move(const char *text, const struct place *to, char *moved);

ULONG path_utf8_of(const WCHAR *from, ULONG bytes, char *to, ULONG size);   /* zero-terminated; returns the length */
ULONG path_utf16_of(const char *from, ULONG length, WCHAR *to, ULONG size); /* size and result in characters */

/* Whether two names are equal without regard to case, by the system's upper case (RtlUpcaseUnicodeChar). */
BOOL path_same_name(const WCHAR *a, const WCHAR *b, ULONG length);

/* The prefix's folder dosdevices, in which drives are links: c:, d: … */
const char *path_of_devices(void);

/* A descriptor of the file behind a handle, to be closed; negative if it has none. */
int path_fd_of(HANDLE handle);

/* Whether the file is on what is mounted read-only. */
BOOL path_is_read_only(HANDLE handle);

#endif
