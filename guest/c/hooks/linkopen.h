/* Opening a link itself: its handle is one of its folder. */
#ifndef MULLION_LINKOPEN_H
#define MULLION_LINKOPEN_H

#include "entry.h"

/* Whether an open of that disposition can be one of a link itself. */
static inline BOOL linkopen_has(ULONG disposition)
{
    return disposition == FILE_OPEN || disposition == FILE_OPEN_IF || disposition == FILE_CREATE;
}

/* The answer to opening a link itself that refuses it, or STATUS_SUCCESS. */
NTSTATUS linkopen_allowed(const struct entry *entry, ULONG disposition, ULONG options);

/* Makes the handle of a link's folder stand for the link, or closes it; takes over place. */
NTSTATUS linkopen_done(HANDLE handle, struct place *place, ULONG options);

#endif
