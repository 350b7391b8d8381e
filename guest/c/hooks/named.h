/* Opening and naming what has a name that Wine cannot say (way.h). */
#ifndef MULLION_NAMED_H
#define MULLION_NAMED_H

#include "nt.h"
#include "way.h"

/* NtCreateFile of such a name; link: an entry that is a link is opened itself. */
NTSTATUS named_create(HANDLE *handle, ACCESS_MASK access, const OBJECT_ATTRIBUTES *attributes, IO_STATUS_BLOCK *io,
                      LARGE_INTEGER *size, ULONG file_attributes, ULONG share, ULONG disposition, ULONG options,
                      BOOL link);

/* Opens the stand-in for what such a name leads to. */
NTSTATUS named_place(const OBJECT_ATTRIBUTES *attributes, struct stand_in *stand);

/*
 * The name of NT of an open file, zero-terminated, if Wine's own is another one: that of a stand-in, or one with
 * characters that stand for others. Returns its length, or 0: Wine's is right.
 */
ULONG named_of(HANDLE handle, const WCHAR *wine, ULONG length, WCHAR *name, ULONG room);

/* Puts that name in the place of Wine's, in an answer to ObjectNameInformation and to FileNameInformation. */
NTSTATUS named_object(NTSTATUS status, HANDLE handle, void *buffer, ULONG size, ULONG *needed);
NTSTATUS named_file(NTSTATUS status, HANDLE handle, IO_STATUS_BLOCK *io, ULONG *length, ULONG size);

#endif
