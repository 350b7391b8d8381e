/*
 * Names of Linux that Windows does not have, and the names that stand for them. Each name of Linux has exactly one of
 * Windows, and that one leads back to it.
 *
 * A character that no name of Windows has stands in the private range, at U+F000 plus its value, as it does for WSL,
 * Cygwin and Samba: \ * ? | < > " : and control characters; a dot or a space at the end; a byte that is no UTF-8; the
 * first letter of a device's name (con, nul.txt). A name that has characters of that range itself has their bytes
 * there.
 */
#ifndef MULLION_NAMES_H
#define MULLION_NAMES_H

#include <windows.h>

#define NAME_ROOM 256 /* of a name of either kind, with its end */

/* Whether the text has a character that stands for another one. */
BOOL name_stands(const WCHAR *name, ULONG length);

/* Whether Wine's own name of a Linux name is another one, or may be that of several. */
BOOL name_differs(const char *disk);

/* The same by the name that Wine gives. */
BOOL name_of_wine_differs(const WCHAR *name, ULONG length);

/* How many bytes of a path come before the next slash, or before its end. */
SIZE_T name_bytes(const char *path);

/* The Windows name of a Linux name of at most 255 bytes; returns its length. The end is marked by a zero. */
ULONG name_from_linux(const char *disk, WCHAR *name);

/* The Linux name behind a Windows name. FALSE: there is none, as behind a path. */
BOOL name_to_linux(const WCHAR *name, ULONG length, char *disk);

/* The same for paths; the separators are changed. They return the length of what fits, which they end with a zero. */
ULONG names_from_path(const char *path, WCHAR *names, ULONG room);
ULONG names_to_path(const WCHAR *names, ULONG length, char *path, ULONG room);

#endif
