/* The form of an event in a ring. */
#include "event.h"

#include <string.h>

BOOL tdh_event_view(struct event_view *view, BYTE *bytes, DWORD size)
{
    struct event_head head;
    BYTE *p = bytes + sizeof(head);

    memset(view, 0, sizeof(*view));
    if (size < sizeof(head))
        return FALSE;
    memcpy(&head, bytes, sizeof(head));
    if (size - sizeof(head) != (DWORD)head.extended_size + head.user_size || head.extended > MOST_EXTENDED ||
        head.extended_size % EXTENDED_ALIGN)
        return FALSE;
    for (DWORD i = 0, left = head.extended_size; i < head.extended; i++)
    {
        struct extended_head item;
        DWORD room;

        if (left < sizeof(item))
            return FALSE;
        memcpy(&item, p, sizeof(item));
        room = ((DWORD)item.size + EXTENDED_ALIGN - 1) & ~(DWORD)(EXTENDED_ALIGN - 1);
        if (room > left - sizeof(item))
            return FALSE;
        view->items[i].ExtType = item.type;
        view->items[i].DataSize = item.size;
        view->items[i].DataPtr = (ULONGLONG)(ULONG_PTR)(p + sizeof(item));
        view->items[i].Linkage = i + 1 < head.extended;
        p += sizeof(item) + room;
        left -= sizeof(item) + room;
    }
    view->record.EventHeader = head.header;
    view->record.ExtendedDataCount = head.extended;
    view->record.ExtendedData = head.extended ? view->items : NULL;
    view->record.UserDataLength = head.user_size;
    view->record.UserData = bytes + sizeof(head) + head.extended_size;
    return TRUE;
}
