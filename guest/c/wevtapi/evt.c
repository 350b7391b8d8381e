/*
 * Queries and subscriptions of the event log.
 *
 * Facts: https://learn.microsoft.com/windows/win32/api/winevt/nf-winevt-evtquery, …-evtnext, …-evtsubscribe, …-evtseek.
 */
#include "evt.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "channels.h"

enum
{
    POLL = 200, /* ms between two looks of a subscription */
    MOST_AT_ONCE = 1 << 16
};

/* The results of a query, or those of a subscription, which go on. */
struct results
{
    struct object object;
    struct query query;
    WCHAR log[LOG_CHARS];
    struct reader reader;
    BOOL backward;
    UINT64 next, last; /* the identifier that is looked for next, and the last that counts */
    UINT64 now;        /* for timediff */
    /* a subscription's */
    HANDLE signal, stop, thread;
    DWORD thread_id;
    EVT_SUBSCRIBE_CALLBACK callback;
    void *context;
};

BOOL evt_fail(DWORD error)
{
    SetLastError(error);
    return FALSE;
}

static UINT64 this_moment(void)
{
    FILETIME now;

    GetSystemTimePreciseAsFileTime(&now);
    return (UINT64)now.dwHighDateTime << 32 | now.dwLowDateTime;
}

static void end_results(struct object *object)
{
    struct results *results = (struct results *)object;

    evt_query_end(&results->query);
    evt_reader_end(&results->reader);
    if (results->stop)
        CloseHandle(results->stop);
    if (results->thread)
        CloseHandle(results->thread);
}

static void end_event(struct object *object)
{
    free(((struct event *)object)->record);
}

static HANDLE open_event(const struct record *record, const WCHAR *channel)
{
    struct event *event = evt_object_new(EVENT, sizeof(*event), end_event);

    if (!event)
        return NULL;
    wcscpy(event->channel, channel);
    if (!(event->record = malloc(record->size)))
    {
        evt_object_release(event);
        return evt_fail(ERROR_NOT_ENOUGH_MEMORY), NULL;
    }
    memcpy(event->record, record, record->size);
    return evt_object_open(event);
}

/* Makes results of the log that the path or the query names. */
static DWORD make_results(const WCHAR *path, const WCHAR *text, struct results **made)
{
    struct results *results = evt_object_new(RESULT_SET, sizeof(*results), end_results);
    DWORD error;

    *made = NULL;
    if (!results)
        return ERROR_NOT_ENOUGH_MEMORY;
    if ((error = evt_query_parse(&results->query, text)))
        ;
    else if (results->query.log[0])
        path = results->query.log;
    else if (!path || !*path)
        error = ERROR_INVALID_PARAMETER;
    if (!error && !evt_log_find(path, results->log))
        error = ERROR_EVT_CHANNEL_NOT_FOUND;
    if (error)
    {
        evt_object_release(results);
        return error;
    }
    evt_reader_init(&results->reader, results->log);
    *made = results;
    return ERROR_SUCCESS;
}

static UINT64 newest(struct results *results)
{
    const struct record *record = evt_reader_find(&results->reader, ~(UINT64)0, TRUE);

    return record ? record->id : 0;
}

EVT_HANDLE WINAPI EvtQuery(EVT_HANDLE session, LPCWSTR path, LPCWSTR text, DWORD flags)
{
    const DWORD known = EvtQueryChannelPath | EvtQueryForwardDirection | EvtQueryReverseDirection |
                        EvtQueryTolerateQueryErrors;
    struct results *results;
    DWORD error;

    if (session || flags & EvtQueryFilePath)
        return evt_fail(ERROR_NOT_SUPPORTED), NULL;
    if (flags & ~known || (flags & EvtQueryForwardDirection && flags & EvtQueryReverseDirection))
        return evt_fail(ERROR_INVALID_PARAMETER), NULL;
    if ((error = make_results(path, text, &results)))
        return evt_fail(error), NULL;
    results->backward = (flags & EvtQueryReverseDirection) != 0;
    results->last = newest(results);
    results->next = results->backward ? results->last : 1;
    results->now = this_moment();
    return evt_object_open(results);
}

/* The next record that fits, up to the last that counts; NULL: there is none. */
static const struct record *next_fitting(struct results *results, struct reader *reader, UINT64 *next)
{
    const struct record *record;

    while (*next && (record = evt_reader_find(reader, *next, results->backward)) && record->id <= results->last)
    {
        *next = results->backward ? record->id - 1 : record->id + 1;
        if (evt_query_fits(&results->query, record, results->log, results->now ? results->now : this_moment()))
            return record;
    }
    return NULL;
}

BOOL WINAPI EvtNext(EVT_HANDLE handle, DWORD size, EVT_HANDLE *events, DWORD timeout, DWORD flags, PDWORD returned)
{
    struct results *results = evt_object_get(handle, RESULT_SET);
    const struct record *record;
    BOOL ok = TRUE;

    (void)timeout;
    if (!results)
        return FALSE;
    if (!events || !returned || !size || size > MOST_AT_ONCE || flags || results->callback)
    {
        evt_object_release(results);
        return evt_fail(ERROR_INVALID_PARAMETER);
    }
    *returned = 0;
    EnterCriticalSection(&results->object.lock);
    while (ok && *returned < size && (record = next_fitting(results, &results->reader, &results->next)))
    {
        if ((ok = (events[*returned] = open_event(record, results->log)) != NULL))
            (*returned)++;
    }
    LeaveCriticalSection(&results->object.lock);
    evt_object_release(results);
    if (*returned)
        return TRUE;
    return ok ? evt_fail(ERROR_NO_MORE_ITEMS) : FALSE;
}

static void step_back(struct results *results)
{
    UINT64 next;
    const struct record *record;

    results->backward = !results->backward;
    next = results->backward ? results->next - 1 : results->next + 1;
    if ((record = next_fitting(results, &results->reader, &next)))
        results->next = record->id;
    results->backward = !results->backward;
}

/* Moves the place of the next event by a number of events that fit. */
static void move(struct results *results, LONGLONG by)
{
    for (; by > 0 && next_fitting(results, &results->reader, &results->next); by--)
        ;
    for (; by < 0; by++)
        step_back(results);
}

BOOL WINAPI EvtSeek(EVT_HANDLE handle, LONGLONG position, EVT_HANDLE bookmark_handle, DWORD timeout, DWORD flags)
{
    struct results *results = evt_object_get(handle, RESULT_SET);
    struct bookmark *bookmark = bookmark_handle ? evt_object_get(bookmark_handle, BOOKMARK) : NULL;
    DWORD origin = flags & EvtSeekOriginMask, error = ERROR_SUCCESS;
    const struct record *record;

    if (!results || results->signal || results->callback || timeout ||
        (flags & ~(DWORD)(EvtSeekOriginMask | EvtSeekStrict)) || !origin || origin > EvtSeekRelativeToBookmark ||
        (origin == EvtSeekRelativeToBookmark) != (bookmark != NULL))
    {
        evt_object_release(bookmark);
        evt_object_release(results);
        return results ? evt_fail(ERROR_INVALID_PARAMETER) : FALSE;
    }
    EnterCriticalSection(&results->object.lock);
    if (origin == EvtSeekRelativeToFirst)
        results->next = results->backward ? results->last : 1;
    else if (origin == EvtSeekRelativeToLast)
    {
        results->next = results->backward ? 1 : results->last + 1;
        step_back(results);
    }
    else if (origin == EvtSeekRelativeToBookmark)
    {
        record = evt_reader_find(&results->reader, bookmark->id, results->backward);
        if (flags & EvtSeekStrict && (!record || record->id != bookmark->id))
            error = ERROR_NOT_FOUND;
        else
            results->next = bookmark->id;
    }
    if (!error)
        move(results, position);
    LeaveCriticalSection(&results->object.lock);
    evt_object_release(bookmark);
    evt_object_release(results);
    return error ? evt_fail(error) : TRUE;
}

/* Delivers what has come; FALSE: the subscription ends. */
static BOOL deliver(struct results *results)
{
    const struct record *record;

    while (WaitForSingleObject(results->stop, 0) == WAIT_TIMEOUT &&
           (record = next_fitting(results, &results->reader, &results->next)))
    {
        HANDLE event = open_event(record, results->log);

        if (!event)
            return TRUE; /* this one is lost for lack of memory */
        results->callback(EvtSubscribeActionDeliver, results->context, event);
        evt_object_close(event, EVENT);
    }
    return TRUE;
}

/* Sets the event as long as there is something to fetch, so that a program that resets it late misses nothing. */
static void signal_pending(struct results *results, struct reader *reader, UINT64 *from)
{
    UINT64 next;

    EnterCriticalSection(&results->object.lock);
    *from = max(*from, results->next);
    LeaveCriticalSection(&results->object.lock);
    next = *from;
    if (next_fitting(results, reader, &next))
    {
        *from = next - 1;
        SetEvent(results->signal);
    }
    else
        *from = next;
}

static DWORD WINAPI watch(void *parameter)
{
    struct results *results = parameter;
    struct reader reader;
    UINT64 from = 0;

    evt_reader_init(&reader, results->log);
    do
    {
        if (results->callback)
            deliver(results);
        else
            signal_pending(results, &reader, &from);
    } while (WaitForSingleObject(results->stop, POLL) == WAIT_TIMEOUT);
    evt_reader_end(&reader);
    evt_object_release(results);
    return 0;
}

/* Where a subscription begins. */
static DWORD begin_at(struct results *results, const struct bookmark *bookmark, DWORD flags)
{
    const struct record *record;

    switch (flags & EvtSubscribeOriginMask)
    {
    case EvtSubscribeToFutureEvents: results->next = newest(results) + 1; return ERROR_SUCCESS;
    case EvtSubscribeStartAtOldestRecord: results->next = 1; return ERROR_SUCCESS;
    case EvtSubscribeStartAfterBookmark: break;
    default: return ERROR_INVALID_PARAMETER;
    }
    if (!bookmark)
        return ERROR_INVALID_PARAMETER;
    record = bookmark->id && !_wcsicmp(bookmark->channel, results->log)
                 ? evt_reader_find(&results->reader, bookmark->id, FALSE)
                 : NULL;
    if (flags & EvtSubscribeStrict && (!record || record->id != bookmark->id))
        return ERROR_NOT_FOUND;
    /* without its event, from the next one on; a bookmark of another log or of a log made anew counts as none */
    results->next = bookmark->id && !_wcsicmp(bookmark->channel, results->log) && bookmark->id <= newest(results)
                        ? bookmark->id + 1
                        : 1;
    return ERROR_SUCCESS;
}

EVT_HANDLE WINAPI EvtSubscribe(EVT_HANDLE session, HANDLE signal, LPCWSTR path, LPCWSTR text,
                               EVT_HANDLE bookmark_handle, PVOID context, EVT_SUBSCRIBE_CALLBACK callback, DWORD flags)
{
    struct bookmark *bookmark;
    struct results *results;
    DWORD error;

    if (session)
        return evt_fail(ERROR_NOT_SUPPORTED), NULL;
    if (!signal == !callback ||
        flags & ~(DWORD)(EvtSubscribeOriginMask | EvtSubscribeTolerateQueryErrors | EvtSubscribeStrict))
        return evt_fail(ERROR_INVALID_PARAMETER), NULL;
    if ((error = make_results(path, text, &results)))
        return evt_fail(error), NULL;
    bookmark = bookmark_handle ? evt_object_get(bookmark_handle, BOOKMARK) : NULL;
    error = bookmark_handle && !bookmark ? ERROR_INVALID_HANDLE : begin_at(results, bookmark, flags);
    evt_object_release(bookmark);
    results->last = ~(UINT64)0 - 1;
    results->signal = signal;
    results->callback = callback;
    results->context = context;
    if (!error && (!(results->stop = CreateEventW(NULL, TRUE, FALSE, NULL))))
        error = GetLastError();
    if (!error)
    {
        InterlockedIncrement(&results->object.references); /* the thread's */
        if (!(results->thread = CreateThread(NULL, 0, watch, results, CREATE_SUSPENDED, &results->thread_id)))
        {
            error = GetLastError();
            evt_object_release(results);
        }
        else
            ResumeThread(results->thread);
    }
    if (error)
    {
        evt_object_release(results);
        return evt_fail(error), NULL;
    }
    return evt_object_open(results);
}

BOOL WINAPI EvtClose(EVT_HANDLE handle)
{
    struct results *results = evt_object_get(handle, RESULT_SET);
    BOOL ok;

    if (!results)
        return evt_object_close(handle, 0);
    if (results->stop)
        SetEvent(results->stop);
    ok = evt_object_close(handle, RESULT_SET);
    /* once it is closed, no callback runs any more, except the one that closes it */
    if (results->thread && results->thread_id != GetCurrentThreadId())
        WaitForSingleObject(results->thread, INFINITE);
    evt_object_release(results);
    return ok;
}

BOOL WINAPI EvtCancel(EVT_HANDLE handle)
{
    void *object = evt_object_any(handle);

    evt_object_release(object);
    return object != NULL; /* no call waits for long */
}

EVT_HANDLE WINAPI EvtCreateBookmark(LPCWSTR xml)
{
    struct bookmark *bookmark = evt_object_new(BOOKMARK, sizeof(*bookmark), NULL);

    if (!bookmark)
        return NULL;
    if (xml && !evt_bookmark_parse(xml, bookmark->channel, &bookmark->id) &&
        (wcsstr(xml, L"<Bookmark ") || !wcsstr(xml, L"<BookmarkList")))
    {
        evt_object_release(bookmark);
        return evt_fail(ERROR_EVT_MALFORMED_XML_TEXT), NULL;
    }
    return evt_object_open(bookmark);
}

BOOL WINAPI EvtUpdateBookmark(EVT_HANDLE handle, EVT_HANDLE event_handle)
{
    struct bookmark *bookmark = evt_object_get(handle, BOOKMARK);
    struct event *event = bookmark ? evt_object_get(event_handle, EVENT) : NULL;

    if (event)
    {
        EnterCriticalSection(&bookmark->object.lock);
        wcscpy(bookmark->channel, event->channel);
        bookmark->id = event->record->id;
        LeaveCriticalSection(&bookmark->object.lock);
    }
    evt_object_release(event);
    evt_object_release(bookmark);
    return event != NULL;
}

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, void *reserved)
{
    HMODULE self;

    (void)reserved;
    if (reason != DLL_PROCESS_ATTACH)
        return TRUE;
    DisableThreadLibraryCalls(instance);
    /* never unloaded: threads run in it */
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, (const WCHAR *)DllMain,
                       &self);
    evt_objects_start();
    evt_store_start();
    return TRUE;
}
