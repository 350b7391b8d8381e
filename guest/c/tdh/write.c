/*
 * Writing events.
 *
 * Facts: learn.microsoft.com/windows/win32/api/evntprov. An event has at most 128 pieces of data and 64 KiB; what the
 * sessions have no room for is lost and counted, and the writer never waits. With the channel of TraceLogging the
 * pieces have types: 1 is the event's name and fields, 2 the provider's traits.
 */
#include "event.h"
#include "provider.h"

#include <string.h>

enum
{
    DATA_USER,
    DATA_EVENT,
    DATA_TRAITS
};

/* What is written of an event. */
struct pieces
{
    struct event_head head;
    struct extended_head extended[MOST_EXTENDED];
    struct piece piece[MOST_PIECES];
    unsigned count;
    DWORD size; /* of the event, with its header */
    BOOL long_one;
};

static void add(struct pieces *to, const void *bytes, DWORD size)
{
    if (to->count >= MOST_PIECES || size > MOST_RECORD - to->size)
    {
        to->long_one = TRUE;
        return;
    }
    to->piece[to->count++] = (struct piece){bytes, size};
    to->size += size;
}

/* Begins an extended item. */
static struct extended_head *begin_item(struct pieces *to, WORD type)
{
    struct extended_head *item = &to->extended[to->head.extended++];

    *item = (struct extended_head){type, 0, 0};
    add(to, item, sizeof(*item));
    return item;
}

/* Ends the item that has so many bytes. */
static void end_item(struct pieces *to, struct extended_head *item, DWORD size)
{
    static const BYTE filling[EXTENDED_ALIGN];
    DWORD fill = (EXTENDED_ALIGN - size % EXTENDED_ALIGN) % EXTENDED_ALIGN;

    if (size > 0xffff - sizeof(*item) - fill - to->head.extended_size)
    {
        to->long_one = TRUE;
        return;
    }
    add(to, filling, fill);
    item->size = (WORD)size;
    to->head.extended_size += (WORD)(sizeof(*item) + size + fill);
}

/* The data of one type, one piece behind the other; returns their size. */
static DWORD add_data(struct pieces *to, const EVENT_DATA_DESCRIPTOR *data, ULONG count, BOOL typed, BYTE type)
{
    DWORD before = to->size;

    for (ULONG i = 0; i < count; i++)
    {
        if ((typed ? (BYTE)data[i].Reserved : DATA_USER) == type && data[i].Size)
            add(to, (const void *)(ULONG_PTR)data[i].Ptr, data[i].Size);
    }
    return to->size - before;
}

static BOOL has_type(const EVENT_DATA_DESCRIPTOR *data, ULONG count, BOOL typed, BYTE type)
{
    for (ULONG i = 0; typed && i < count; i++)
    {
        if ((BYTE)data[i].Reserved == type)
            return TRUE;
    }
    return FALSE;
}

static GUID *current_activity(void)
{
    enum
    {
        ACTIVITY = 0x1710 /* TEB.ActivityId of 64-bit Windows */
    };

    BYTE *teb;

    __asm__("movq %%gs:0x30, %0"
            : "=r"(teb)); /* NT_TIB.Self; of NtCurrentTeb the compiler thinks that it has no bytes */
    return (GUID *)(void *)(teb + ACTIVITY);
}

static void begin_event(struct pieces *to, const struct provider *p, const EVENT_DESCRIPTOR *descriptor,
                        const GUID *activity)
{
    EVENT_HEADER *header = &to->head.header;

    memset(&to->head, 0, sizeof(to->head));
    to->count = to->size = 0;
    to->long_one = FALSE;
    header->Size = sizeof(*header);
    header->Flags = EVENT_HEADER_FLAG_64_BIT_HEADER | EVENT_HEADER_FLAG_NO_CPUTIME;
    header->ThreadId = GetCurrentThreadId();
    header->ProcessId = GetCurrentProcessId();
    GetSystemTimePreciseAsFileTime((FILETIME *)(void *)&header->TimeStamp);
    header->ProviderId = p->id;
    header->EventDescriptor = *descriptor;
    header->ActivityId = activity ? *activity : *current_activity();
    add(to, &to->head, sizeof(to->head));
}

/* Gives an event to all sessions that want it. */
static ULONG give(const struct provider *p, struct pieces *event)
{
    const EVENT_DESCRIPTOR *d = &event->head.header.EventDescriptor;
    ULONG error = ERROR_SUCCESS;

    if (event->long_one)
        return ERROR_ARITHMETIC_OVERFLOW;
    for (unsigned i = 0; i < p->count; i++)
    {
        struct channel *channel;
        BOOL wake;

        if (!tdh_listens(&p->listener[i], d->Level, d->Keyword) || !(channel = tdh_provider_channel(&p->listener[i])))
            continue;
        if (!tdh_ring_write(channel->ring, event->piece, event->count, &wake))
            error = ERROR_NOT_ENOUGH_MEMORY;
        if (wake)
            SetEvent(channel->event);
    }
    return error;
}

static BOOL wanted(const struct provider *p, UCHAR level, ULONGLONG keyword)
{
    for (unsigned i = 0; i < p->count; i++)
    {
        if (tdh_listens(&p->listener[i], level, keyword))
            return TRUE;
    }
    return FALSE;
}

static void put_event(struct pieces *event, const struct provider *p, const EVENT_DESCRIPTOR *descriptor,
                      const GUID *activity, const GUID *related, ULONG count, const EVENT_DATA_DESCRIPTOR *data)
{
    BOOL typed = p->typed || descriptor->Channel == CHANNEL_TRACELOGGING;
    struct extended_head *item;

    begin_event(event, p, descriptor, activity);
    if (related)
    {
        item = begin_item(event, EVENT_HEADER_EXT_TYPE_RELATED_ACTIVITYID);
        add(event, related, sizeof(*related));
        end_item(event, item, sizeof(*related));
    }
    if (has_type(data, count, typed, DATA_EVENT))
    {
        item = begin_item(event, EXTENDED_TRACELOGGING);
        end_item(event, item, add_data(event, data, count, typed, DATA_EVENT));
    }
    if (has_type(data, count, typed, DATA_TRAITS))
    {
        item = begin_item(event, EXTENDED_TRAITS);
        end_item(event, item, add_data(event, data, count, typed, DATA_TRAITS));
    }
    else if (p->traits && typed)
    {
        item = begin_item(event, EXTENDED_TRAITS);
        add(event, p->traits, p->traits_size);
        end_item(event, item, p->traits_size);
    }
    event->head.user_size = (WORD)add_data(event, data, count, typed, DATA_USER);
    if (event->head.extended)
        event->head.header.Flags |= EVENT_HEADER_FLAG_EXTENDED_INFO;
}

ULONG WINAPI MullionEventWriteTransfer(REGHANDLE handle, const EVENT_DESCRIPTOR *descriptor, const GUID *activity,
                                       const GUID *related, ULONG count, const EVENT_DATA_DESCRIPTOR *data)
{
    struct provider *p;
    struct pieces event;
    ULONG error = ERROR_SUCCESS;

    if (!descriptor || count > MAX_EVENT_DATA_DESCRIPTORS || (count && !data))
        return ERROR_INVALID_PARAMETER;
    if (!(p = tdh_provider_hold(handle)))
        return ERROR_INVALID_HANDLE;
    if (wanted(p, descriptor->Level, descriptor->Keyword))
    {
        put_event(&event, p, descriptor, activity, related, count, data);
        error = give(p, &event);
    }
    tdh_provider_let();
    return error;
}

ULONG WINAPI MullionEventWrite(REGHANDLE handle, const EVENT_DESCRIPTOR *descriptor, ULONG count,
                               const EVENT_DATA_DESCRIPTOR *data)
{
    return MullionEventWriteTransfer(handle, descriptor, NULL, NULL, count, data);
}

ULONG WINAPI MullionEventWriteEx(REGHANDLE handle, const EVENT_DESCRIPTOR *descriptor, ULONG64 filter, ULONG flags,
                                 const GUID *activity, const GUID *related, ULONG count,
                                 const EVENT_DATA_DESCRIPTOR *data)
{
    (void)filter; /* of sessions that are to be left out; they are no filters here */
    (void)flags;
    return MullionEventWriteTransfer(handle, descriptor, activity, related, count, data);
}

ULONG WINAPI MullionEventWriteString(REGHANDLE handle, UCHAR level, ULONGLONG keyword, const WCHAR *text)
{
    EVENT_DESCRIPTOR descriptor = {.Level = level, .Keyword = keyword};
    struct provider *p;
    struct pieces event;
    ULONG error = ERROR_SUCCESS;

    if (!text)
        return ERROR_INVALID_PARAMETER;
    if (!(p = tdh_provider_hold(handle)))
        return ERROR_INVALID_HANDLE;
    if (wanted(p, level, keyword))
    {
        SIZE_T size = (wcslen(text) + 1) * sizeof(*text);

        begin_event(&event, p, &descriptor, NULL);
        event.head.header.Flags |= EVENT_HEADER_FLAG_STRING_ONLY;
        add(&event, text, size > MOST_RECORD ? MOST_RECORD + 1 : (DWORD)size);
        event.head.user_size = (WORD)size;
        error = give(p, &event);
    }
    tdh_provider_let();
    return error;
}

BOOLEAN WINAPI MullionEventProviderEnabled(REGHANDLE handle, UCHAR level, ULONGLONG keyword)
{
    struct provider *p = tdh_provider_hold(handle);
    BOOLEAN enabled = p && wanted(p, level, keyword);

    if (p)
        tdh_provider_let();
    return enabled;
}

BOOLEAN WINAPI MullionEventEnabled(REGHANDLE handle, const EVENT_DESCRIPTOR *descriptor)
{
    return descriptor && MullionEventProviderEnabled(handle, descriptor->Level, descriptor->Keyword);
}

/* Makes an identifier that no other has had: of the time, the process and a count, as those of Windows are. */
static void make_activity(GUID *id)
{
    static volatile LONG count;
    FILETIME now;

    GetSystemTimePreciseAsFileTime(&now);
    id->Data1 = now.dwLowDateTime;
    id->Data2 = (WORD)now.dwHighDateTime;
    id->Data3 = (WORD)(now.dwHighDateTime >> 16);
    *(DWORD *)(void *)id->Data4 = GetCurrentProcessId();
    *(LONG *)(void *)(id->Data4 + 4) = InterlockedIncrement(&count);
}

ULONG WINAPI MullionEventActivityIdControl(ULONG code, GUID *id)
{
    GUID *current = current_activity(), made;

    if (!id)
        return ERROR_INVALID_PARAMETER;
    switch (code)
    {
    case EVENT_ACTIVITY_CTRL_GET_ID: *id = *current; return ERROR_SUCCESS;
    case EVENT_ACTIVITY_CTRL_SET_ID: *current = *id; return ERROR_SUCCESS;
    case EVENT_ACTIVITY_CTRL_CREATE_ID: make_activity(id); return ERROR_SUCCESS;
    case EVENT_ACTIVITY_CTRL_GET_SET_ID:
        made = *current;
        *current = *id;
        *id = made;
        return ERROR_SUCCESS;
    case EVENT_ACTIVITY_CTRL_CREATE_SET_ID:
        *id = *current;
        make_activity(current);
        return ERROR_SUCCESS;
    }
    return ERROR_INVALID_PARAMETER;
}
