/* Opening a link itself. */
#include "linkopen.h"

#include "originals.h"

NTSTATUS linkopen_allowed(const struct entry *entry, ULONG disposition, ULONG options)
{
    if (disposition == FILE_CREATE)
        return STATUS_OBJECT_NAME_COLLISION;
    if ((options & FILE_NON_DIRECTORY_FILE) && (entry->attributes & FILE_ATTRIBUTE_DIRECTORY))
        return STATUS_FILE_IS_A_DIRECTORY;
    if ((options & FILE_DIRECTORY_FILE) && !(entry->attributes & FILE_ATTRIBUTE_DIRECTORY))
        return STATUS_NOT_A_DIRECTORY;
    return STATUS_SUCCESS;
}

NTSTATUS linkopen_done(HANDLE handle, struct place *place, ULONG options)
{
    struct link *link;

    if (!entry_link_put(handle, place))
    {
        originals.NtClose(handle);
        return STATUS_NO_MEMORY;
    }
    if ((options & FILE_DELETE_ON_CLOSE) && (link = entry_link_get(handle)))
    {
        link->delete_on_close = TRUE;
        entry_link_release(link);
    }
    return STATUS_SUCCESS;
}
