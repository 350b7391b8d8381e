/*
 * NotifyChangeEventLog, the older way to hear of new events: the event is set at each of them until the log is closed.
 */
#include "evt.h"

#include <stdlib.h>

#include "classic.h"

enum
{
    POLL = 200 /* ms between two looks */
};

struct notification
{
    HANDLE log, event;
    struct reader reader;
};

static DWORD WINAPI notify(void *parameter)
{
    struct notification *n = parameter;
    const struct record *record = evt_reader_find(&n->reader, ~(UINT64)0, TRUE);
    UINT64 last = record ? record->id : 0;
    void *open;

    while ((open = evt_object_get(n->log, CLASSIC_LOG)))
    {
        evt_object_release(open);
        if ((record = evt_reader_find(&n->reader, last + 1, FALSE)))
        {
            record = evt_reader_find(&n->reader, ~(UINT64)0, TRUE);
            last = record ? record->id : last;
            if (!SetEvent(n->event))
                break;
        }
        Sleep(POLL);
    }
    evt_reader_end(&n->reader);
    free(n);
    return 0;
}

BOOL WINAPI MullionNotifyChangeEventLog(HANDLE log, HANDLE event)
{
    struct object *open = evt_object_get(log, CLASSIC_LOG);
    struct notification *n;
    HANDLE thread;

    if (!open)
        return FALSE;
    if (!event || !(n = calloc(1, sizeof(*n))))
    {
        evt_object_release(open);
        return evt_fail(event ? ERROR_NOT_ENOUGH_MEMORY : ERROR_INVALID_PARAMETER);
    }
    n->log = log;
    n->event = event;
    evt_reader_init(&n->reader, evt_classic_log_name(open));
    evt_object_release(open);
    if (!(thread = CreateThread(NULL, 0, notify, n, 0, NULL)))
    {
        free(n);
        return FALSE;
    }
    CloseHandle(thread);
    return TRUE;
}
