/*
 * Events as XML, as values and as bookmarks.
 *
 * Facts: https://learn.microsoft.com/windows/win32/api/winevt/nf-winevt-evtrender, …-evtcreaterendercontext,
 * ne-winevt-evt_system_property_id.
 */
#include "evt.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum
{
    MOST_PATHS = 1024
};

void evt_values_begin(struct values *values, void *buffer, DWORD size, DWORD count)
{
    values->buffer = buffer;
    values->size = buffer ? size : 0;
    values->count = count;
    values->used = count * sizeof(EVT_VARIANT);
    if (values->used <= values->size)
        memset(buffer, 0, values->used);
}

/* The variant of an index; NULL: there is no room for all of them. */
static EVT_VARIANT *slot(const struct values *values, DWORD index)
{
    return values->count * sizeof(EVT_VARIANT) <= values->size ? (EVT_VARIANT *)values->buffer + index : NULL;
}

void evt_values_number(struct values *values, DWORD index, DWORD type, UINT64 number)
{
    EVT_VARIANT *variant = slot(values, index);

    if (!variant)
        return;
    variant->UInt64Val = number;
    variant->Type = type;
}

void evt_values_bytes(struct values *values, DWORD index, DWORD type, const void *bytes, DWORD count)
{
    EVT_VARIANT *variant = slot(values, index);
    DWORD place = (values->used + 7) & ~7u;

    if (place + count <= values->size && variant)
    {
        memcpy(values->buffer + place, bytes, count);
        variant->BinaryVal = values->buffer + place;
        variant->Type = type;
        variant->Count = type == EvtVarTypeBinary ? count : 0;
    }
    values->used = place + count;
}

void evt_values_text(struct values *values, DWORD index, const WCHAR *text)
{
    evt_values_bytes(values, index, EvtVarTypeString, text, (DWORD)(wcslen(text) + 1) * sizeof(WCHAR));
}

BOOL evt_values_end(const struct values *values, DWORD *used)
{
    *used = values->used;
    return values->used <= values->size ? TRUE : evt_fail(ERROR_INSUFFICIENT_BUFFER);
}

static void system_value(struct values *values, DWORD index, const struct event *event, int property)
{
    const struct record *record = event->record;

    switch (property)
    {
    case EvtSystemProviderName: evt_values_text(values, index, evt_record_text(record, 0)); break;
    case EvtSystemEventID: evt_values_number(values, index, EvtVarTypeUInt16, record->event & 0xffff); break;
    case EvtSystemQualifiers: evt_values_number(values, index, EvtVarTypeUInt16, record->event >> 16); break;
    case EvtSystemLevel: evt_values_number(values, index, EvtVarTypeByte, evt_record_level(record)); break;
    case EvtSystemTask: evt_values_number(values, index, EvtVarTypeUInt16, record->category); break;
    case EvtSystemOpcode: evt_values_number(values, index, EvtVarTypeByte, 0); break;
    case EvtSystemKeywords: evt_values_number(values, index, EvtVarTypeHexInt64, evt_record_keywords(record)); break;
    case EvtSystemTimeCreated: evt_values_number(values, index, EvtVarTypeFileTime, record->time); break;
    case EvtSystemEventRecordId: evt_values_number(values, index, EvtVarTypeUInt64, record->id); break;
    case EvtSystemProcessID: evt_values_number(values, index, EvtVarTypeUInt32, record->process); break;
    case EvtSystemThreadID: evt_values_number(values, index, EvtVarTypeUInt32, record->thread); break;
    case EvtSystemChannel: evt_values_text(values, index, event->channel); break;
    case EvtSystemComputer: evt_values_text(values, index, evt_record_text(record, 1)); break;
    case EvtSystemUserID:
        if (record->sid_size)
            evt_values_bytes(values, index, EvtVarTypeSid, evt_record_sid(record), record->sid_size);
        break;
    case EvtSystemVersion: evt_values_number(values, index, EvtVarTypeByte, 0); break;
    default: break; /* null */
    }
}

static void user_value(struct values *values, DWORD index, const struct record *record, unsigned number)
{
    if (number < record->strings)
        evt_values_text(values, index, evt_record_text(record, 2 + number));
    else if (number == record->strings && record->data_size)
        evt_values_bytes(values, index, EvtVarTypeBinary, evt_record_data(record), record->data_size);
}

static BOOL render_values(const struct context *context, const struct event *event, DWORD size, void *buffer,
                          DWORD *used, DWORD *properties)
{
    struct values values;
    DWORD count = context->count;

    if (context->flags == EvtRenderContextSystem)
        count = EvtSystemPropertyIdEND;
    else if (context->flags == EvtRenderContextUser)
        count = event->record->strings + (event->record->data_size > 0);
    evt_values_begin(&values, buffer, size, count);
    for (DWORD i = 0; i < count; i++)
    {
        int property = context->flags == EvtRenderContextSystem ? (int)i
                       : context->flags == EvtRenderContextUser ? DATA_PROPERTY + (int)i
                                                                : context->properties[i];

        if (property < DATA_PROPERTY)
            system_value(&values, i, event, property);
        else
            user_value(&values, i, event->record, (unsigned)(property - DATA_PROPERTY));
    }
    if (properties)
        *properties = count;
    return evt_values_end(&values, used);
}

/* Copies a text as EvtRender does, which counts bytes. */
static BOOL rendered(struct text *text, DWORD size, void *buffer, DWORD *used, DWORD *properties)
{
    DWORD bytes = (DWORD)(text->length + 1) * sizeof(WCHAR);
    BOOL ok = !text->failed && text->chars;

    if (!ok)
        evt_fail(ERROR_NOT_ENOUGH_MEMORY);
    else
    {
        *used = bytes;
        if (properties)
            *properties = 0;
        if (!buffer || size < bytes)
            ok = evt_fail(ERROR_INSUFFICIENT_BUFFER);
        else
            memcpy(buffer, text->chars, bytes);
    }
    evt_text_end(text);
    return ok;
}

static BOOL render_event(EVT_HANDLE context_handle, const struct event *event, DWORD flags, DWORD size, void *buffer,
                         DWORD *used, DWORD *properties)
{
    struct text xml = {0};
    struct context *context;
    BOOL ok;

    if (flags == EvtRenderEventXml)
    {
        evt_event_xml(&xml, event->record, event->channel, NULL);
        return rendered(&xml, size, buffer, used, properties);
    }
    if (!(context = evt_object_get(context_handle, RENDER_CONTEXT)))
        return FALSE;
    ok = render_values(context, event, size, buffer, used, properties);
    evt_object_release(context);
    return ok;
}

BOOL WINAPI EvtRender(EVT_HANDLE context, EVT_HANDLE fragment, DWORD flags, DWORD size, PVOID buffer, PDWORD used,
                      PDWORD properties)
{
    struct text xml = {0};
    struct bookmark *bookmark;
    struct event *event;
    BOOL ok;

    if (!used || flags > EvtRenderBookmark)
        return evt_fail(ERROR_INVALID_PARAMETER);
    if (flags == EvtRenderBookmark)
    {
        if (!(bookmark = evt_object_get(fragment, BOOKMARK)))
            return FALSE;
        EnterCriticalSection(&bookmark->object.lock);
        evt_bookmark_xml(&xml, bookmark->channel, bookmark->id);
        LeaveCriticalSection(&bookmark->object.lock);
        evt_object_release(bookmark);
        return rendered(&xml, size, buffer, used, properties);
    }
    if (!(event = evt_object_get(fragment, EVENT)))
        return FALSE;
    ok = render_event(context, event, flags, size, buffer, used, properties);
    evt_object_release(event);
    return ok;
}

static void end_context(struct object *object)
{
    free(((struct context *)object)->properties);
}

/* The property of a path such as Event/System/EventID; NO_PROPERTY: classic events have no such. */
static int property_of(const WCHAR *path)
{
    static const WCHAR *const paths[EvtSystemPropertyIdEND] = {
        L"Provider/@Name",
        L"Provider/@Guid",
        L"EventID",
        L"EventID/@Qualifiers",
        L"Level",
        L"Task",
        L"Opcode",
        L"Keywords",
        L"TimeCreated/@SystemTime",
        L"EventRecordID",
        L"Correlation/@ActivityID",
        L"Correlation/@RelatedActivityID",
        L"Execution/@ProcessID",
        L"Execution/@ThreadID",
        L"Channel",
        L"Computer",
        L"Security/@UserID",
        L"Version",
    };
    static const WCHAR system[] = L"Event/System/", data[] = L"Event/EventData/Data";
    const size_t length = sizeof(data) / sizeof(WCHAR) - 1;
    long number = 1;
    WCHAR *end;

    if (!wcsncmp(path, data, length) && (!path[length] || path[length] == '['))
    {
        if (path[length])
            number = wcstol(path + length + 1, &end, 10);
        return number >= 1 && number <= MOST_STRINGS ? DATA_PROPERTY + (int)number - 1 : NO_PROPERTY;
    }
    if (wcsncmp(path, system, sizeof(system) / sizeof(WCHAR) - 1))
        return NO_PROPERTY;
    for (int i = 0; i < EvtSystemPropertyIdEND; i++)
    {
        if (!wcscmp(path + sizeof(system) / sizeof(WCHAR) - 1, paths[i]))
            return i;
    }
    return NO_PROPERTY;
}

EVT_HANDLE WINAPI EvtCreateRenderContext(DWORD count, LPCWSTR *paths, DWORD flags)
{
    struct context *context;

    if (flags > EvtRenderContextUser || (flags == EvtRenderContextValues) != (count > 0) || (count && !paths) ||
        count > MOST_PATHS)
        return evt_fail(ERROR_INVALID_PARAMETER), NULL;
    for (DWORD i = 0; i < count; i++)
    {
        if (!paths[i] || wcsncmp(paths[i], L"Event", 5))
            return evt_fail(ERROR_EVT_INVALID_QUERY), NULL;
    }
    if (!(context = evt_object_new(RENDER_CONTEXT, sizeof(*context), end_context)))
        return NULL;
    context->flags = flags;
    context->count = count;
    if (count && !(context->properties = calloc(count, sizeof(int))))
    {
        evt_object_release(context);
        return evt_fail(ERROR_NOT_ENOUGH_MEMORY), NULL;
    }
    for (DWORD i = 0; i < count; i++)
        context->properties[i] = property_of(paths[i]);
    return evt_object_open(context);
}

BOOL WINAPI EvtGetEventInfo(EVT_HANDLE handle, EVT_EVENT_PROPERTY_ID property, DWORD size, PEVT_VARIANT buffer,
                            PDWORD used)
{
    struct event *event = evt_object_get(handle, EVENT);
    struct values values;
    BOOL ok;

    if (!event)
        return FALSE;
    if (!used || property >= EvtEventPropertyIdEND)
        ok = evt_fail(ERROR_INVALID_PARAMETER);
    else
    {
        evt_values_begin(&values, buffer, size, 1);
        if (property == EvtEventPath)
            evt_values_text(&values, 0, event->channel);
        ok = evt_values_end(&values, used);
    }
    evt_object_release(event);
    return ok;
}
