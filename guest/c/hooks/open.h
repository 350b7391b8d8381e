/* What open.c knows of kernelbase.dll, and how links themselves are opened. */
#ifndef MULLION_OPEN_H
#define MULLION_OPEN_H

#include "entry.h"

/* Whether code of kernelbase.dll lies at an address; from open_start on. */
BOOL open_in_kernelbase(const void *address);

/* Whether an open of that disposition can be one of a link itself. */
static inline BOOL link_opens(ULONG disposition)
{
    return disposition == FILE_OPEN || disposition == FILE_OPEN_IF || disposition == FILE_CREATE;
}

/* The answer to opening a link itself that refuses it, or STATUS_SUCCESS. */
NTSTATUS open_link_allowed(const struct entry *entry, ULONG disposition, ULONG options);

/* Makes the handle of a link's folder stand for the link, or closes it; takes over place. */
NTSTATUS open_link_opened(HANDLE handle, struct place *place, ULONG options);

#endif
