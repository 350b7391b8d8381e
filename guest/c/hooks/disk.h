/* What a data disk of a host answers of itself: disk.c. */
#ifndef MULLION_DISK_H
#define MULLION_DISK_H

#include "nt.h"

#define DEVICE_DISK 7            /* the high half of IOCTL_DISK_…: FILE_DEVICE_DISK */
#define DEVICE_MASS_STORAGE 0x2d /* the high half of IOCTL_STORAGE_…: FILE_DEVICE_MASS_STORAGE */

/* Answers a control code of a disk or a volume; FALSE: the handle is of neither, or the code is another. */
BOOL disk_control(HANDLE handle, HANDLE event, IO_STATUS_BLOCK *io, ULONG code, const void *in, ULONG in_size,
                  void *out, ULONG out_size, NTSTATUS *status);

/* Whether a name is that of a volume as a device, and not of the folder at its root. */
BOOL disk_names_volume(const OBJECT_ATTRIBUTES *attributes);

/*
 * The answer to NtQueryObject for a file's name (ObjectNameInformation), after Wine's own: a file of a volume is called
 * by the volume's first access path, as on Windows, and not by its place on the machine.
 */
NTSTATUS disk_name(NTSTATUS status, void *buffer, ULONG length, ULONG *needed);

#endif
