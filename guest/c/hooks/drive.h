/*
 * Drives, and names that lead out of them.
 *
 * A container can make any Linux link in a volume (symlink(2) needs no right), and a host's programs go through that
 * volume as root of the machine. So nothing follows a link out of the drives, neither in a host nor in a container: the
 * name's target counts as missing. A program that wants a file of Linux says so (\\?\unix\…).
 */
#ifndef MULLION_DRIVE_H
#define MULLION_DRIVE_H

#include "path.h"

/* Opens the folder that is a drive ('c') as a place only (O_PATH); negative if there is none. */
int drive_open(char letter);

/* The same for drive C:, which stays open for all. */
int drive_hold_c(void);

/* The canonical path of drive C:; returns its length or a negative error number. */
int drive_path(char *path, ULONG size);

/*
 * Whether what the name leads to lies on a drive, after all links. A name that is not that of a place on a drive (a
 * pipe, \??\unix\…) may lead anywhere. STATUS_SUCCESS: it lies on a drive, or there is nothing that could be opened. An
 * error: the answer to give in place of opening. Without follow the last component is not followed, as when an entry is
 * made or named.
 *
 * With unsure the look-up is as quick as it can be: if it becomes TRUE, nothing of exactly this spelling exists. What
 * is then opened without effect on the file may be looked at after the open, by a call without unsure.
 */
NTSTATUS drive_holds(const OBJECT_ATTRIBUTES *attributes, BOOL follow, BOOL *unsure);

/* The same for a Win32 name, which may be relative to the current folder. */
NTSTATUS drive_holds_dos(const WCHAR *name, BOOL follow);

/* The same for a Linux path, case as on disk. */
NTSTATUS drive_holds_path(const char *path, BOOL follow);

/* Whether an open place is on a drive, on a share or on a volume. */
BOOL drive_holds_fd(int fd);

/* Opens a place without following magic links: those of /proc, which may lead where no path leads. */
int drive_place(int dir, const char *path, int flags, UINT64 resolve);

/* Whether an open file lies on a drive. */
BOOL drive_holds_handle(HANDLE handle);

#endif
