/*
 * Sources, their messages, and what logs and sources there are.
 *
 * Facts: https://learn.microsoft.com/windows/win32/api/winevt/nf-winevt-evtformatmessage, …-evtopenpublishermetadata,
 * and /windows/win32/eventlog/event-sources for the values of a source's key. There are no manifests, so a source has
 * messages of classic events only.
 */
#include "evt.h"

#include <winternl.h>

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "channels.h"

#define MESSAGE_TABLE 11 /* winuser.h RT_MESSAGETABLE */

/* winnt.h MESSAGE_RESOURCE_ENTRY */
struct message_entry
{
    WORD length, flags; /* 1: UTF-16 */
    BYTE text[];
};

typedef NTSTATUS(NTAPI *find_message)(HMODULE, ULONG, ULONG, ULONG, const struct message_entry **);

struct publisher
{
    struct object object;
    WCHAR name[MOST_NAME + 1], log[LOG_CHARS];
};

struct name_list
{
    struct object object;
    struct names names;
    unsigned next;
};

/*
 * What Windows' service control manager says: its messages lie in a file of Windows (netevent.dll), which is not there.
 */
static const WCHAR *manager_message(const WCHAR *source, DWORD id)
{
    static const struct
    {
        DWORD id;
        const WCHAR *text;
    } messages[] = {
        {7023, L"The %1 service terminated with the following error: %n%2"},
        {7024, L"The %1 service terminated with the following service-specific error: %n%2"},
        {7031,
         L"The %1 service terminated unexpectedly.  It has done this %2 time(s).  The following corrective action will "
         "be taken in %3 milliseconds: %5."},
        {7034, L"The %1 service terminated unexpectedly.  It has done this %2 time(s)."},
    };

    if (_wcsicmp(source, L"Service Control Manager"))
        return NULL;
    for (unsigned i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
        if (messages[i].id == (id & 0xffff))
            return messages[i].text;
    return NULL;
}

/* An event's string, or, where errors may be, Windows' words for the error if it is %% and the error's number. */
static void insert_string(const WCHAR *string, BOOL errors, struct text *message)
{
    WCHAR words[512], *end = NULL;
    DWORD error = errors && !wcsncmp(string, L"%%", 2) ? wcstoul(string + 2, &end, 10) : 0, length = 0;

    if (end && end != string + 2 && !*end)
        length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, error, 0, words,
                                sizeof(words) / sizeof(words[0]), NULL);
    while (length && wcschr(L"\r\n", words[length - 1]))
        length--;
    if (length)
        evt_text_add_wide(message, words, length);
    else
        evt_text_add_wide(message, string, wcslen(string));
}

/*
 * Puts the event's strings into a message: %1 to %99, also with a format behind it, and the marks of message tables.
 * FALSE: there are not enough.
 */
static BOOL insert_strings(const WCHAR *format, const WCHAR *const *string, unsigned strings, BOOL errors,
                           struct text *message)
{
    BOOL whole = TRUE;

    while (*format && !message->failed && message->length < MOST_RECORD * 8)
    {
        const WCHAR *start = format;
        unsigned number = 0;

        if (*format++ != '%')
        {
            evt_text_add_wide(message, start, 1);
            continue;
        }
        while (*format >= '0' && *format <= '9' && number < 10)
            number = number * 10 + (unsigned)(*format++ - '0');
        if (number)
        {
            const WCHAR *end = *format == '!' ? wcschr(format + 1, '!') : NULL;

            format = end ? end + 1 : format;
            if (number <= strings)
                insert_string(string[number - 1], errors, message);
            else
            {
                evt_text_add_wide(message, start, (size_t)(format - start));
                whole = FALSE;
            }
            continue;
        }
        if (format - start > 1) /* %0 ends a message */
            break;
        switch (*format)
        {
        case 'n': evt_text_add(message, "\r\n"); break;
        case 't': evt_text_add(message, "\t"); break;
        case 'r': evt_text_add(message, "\r"); break;
        case 'b': evt_text_add(message, " "); break;
        case 0: format--; break;
        default: evt_text_add_wide(message, format, 1); /* %%, %., %! */
        }
        format++;
    }
    evt_text_add(message, "");
    return whole;
}

/* The text of a message in a file; the caller frees it. NULL: there is none. */
static WCHAR *message_of_file(const WCHAR *file, DWORD id)
{
    find_message find = (find_message)(void *)GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlFindMessage");
    HMODULE module = LoadLibraryExW(file, NULL, LOAD_LIBRARY_AS_DATAFILE | LOAD_LIBRARY_AS_IMAGE_RESOURCE);
    const struct message_entry *entry;
    WCHAR *text = NULL;

    if (!module)
        return NULL;
    if (find && !find(module, MESSAGE_TABLE, 0, id, &entry) && entry->length > sizeof(*entry))
    {
        size_t size = entry->length - sizeof(*entry);

        if (entry->flags & 1)
        {
            if ((text = calloc(size / sizeof(WCHAR) + 1, sizeof(WCHAR))))
                memcpy(text, entry->text, size / sizeof(WCHAR) * sizeof(WCHAR));
        }
        else if ((text = calloc(size + 1, sizeof(WCHAR))))
            MultiByteToWideChar(CP_ACP, 0, (const char *)entry->text, (int)size, text, (int)size);
    }
    FreeLibrary(module);
    return text;
}

static BOOL is_file(const WCHAR *path, const WCHAR *name)
{
    size_t length = wcslen(path), wanted = wcslen(name);

    return length >= wanted && !_wcsicmp(path + length - wanted, name) &&
           (length == wanted || wcschr(L"\\/", path[length - wanted - 1]));
}

/* Two files of Windows say nothing but the event's string, and are taken as if they were there. */
static WCHAR *message_known(const WCHAR *file, DWORD id)
{
    const DWORD code = id & 0xffff;

    if ((is_file(file, L"eventcreate.exe") && code >= 1 && code <= 1000) || is_file(file, L"EventLogMessages.dll"))
        return _wcsdup(L"%1");
    return NULL;
}

/* The message of an identifier in a list of files; the caller frees it. */
static WCHAR *message_of_files(WCHAR *files, DWORD id)
{
    WCHAR *found = NULL, *end;

    for (WCHAR *file = files; file && !found; file = end ? end + 1 : NULL)
    {
        if ((end = wcschr(file, ';')))
            *end = 0;
        if (*file && !(found = message_known(file, id)))
            found = message_of_file(file, id);
    }
    return found;
}

DWORD evt_source_message(const WCHAR *source, DWORD id, const WCHAR *const *string, unsigned strings,
                         struct text *message)
{
    const WCHAR *known = manager_message(source, id);
    WCHAR log[LOG_CHARS], *files = NULL, *format = NULL;
    BOOL whole;

    if (known)
        format = _wcsdup(known);
    else if (evt_source_log(source, log) && (files = evt_source_text(log, source, L"EventMessageFile")))
        format = message_of_files(files, id);
    free(files);
    if (!format)
        return ERROR_EVT_MESSAGE_NOT_FOUND;
    whole = insert_strings(format, string, strings, known != NULL, message);
    free(format);
    while (message->length && wcschr(L"\r\n", message->chars[message->length - 1]))
        message->chars[--message->length] = 0;
    return message->failed ? ERROR_NOT_ENOUGH_MEMORY : whole ? ERROR_SUCCESS : ERROR_EVT_UNRESOLVED_VALUE_INSERT;
}

DWORD evt_event_message(const struct record *record, struct text *message)
{
    const WCHAR *string[MOST_STRINGS];

    for (unsigned i = 0; i < record->strings; i++)
        string[i] = evt_record_text(record, 2 + i);
    return evt_source_message(evt_record_text(record, 0), record->event, string, record->strings, message);
}

BOOL evt_text(const WCHAR *text, DWORD size, WCHAR *buffer, DWORD *used)
{
    DWORD length = (DWORD)wcslen(text) + 1;

    *used = length;
    if (!buffer || size < length)
        return evt_fail(ERROR_INSUFFICIENT_BUFFER);
    memcpy(buffer, text, length * sizeof(WCHAR));
    return TRUE;
}

/* What EvtFormatMessage says of an event. */
static DWORD format_event(const struct event *event, DWORD what, struct text *text)
{
    const char *level = evt_level_name(evt_record_level(event->record));
    struct text message = {0};
    DWORD error;

    switch (what)
    {
    case EvtFormatMessageEvent: return evt_event_message(event->record, text);
    case EvtFormatMessageLevel: evt_text_add(text, level); return level ? ERROR_SUCCESS : ERROR_EVT_MESSAGE_NOT_FOUND;
    case EvtFormatMessageOpcode: evt_text_add(text, "Info"); return ERROR_SUCCESS;
    case EvtFormatMessageKeyword: evt_text_add(text, "Classic"); return ERROR_SUCCESS;
    case EvtFormatMessageChannel: evt_text_add_wide(text, event->channel, wcslen(event->channel)); return ERROR_SUCCESS;
    case EvtFormatMessageProvider:
        evt_text_add_wide(text, evt_record_text(event->record, 0), wcslen(evt_record_text(event->record, 0)));
        return ERROR_SUCCESS;
    case EvtFormatMessageXml:
        error = evt_event_message(event->record, &message);
        evt_event_xml(text, event->record, event->channel,
                      &(struct rendering){!error || error == ERROR_EVT_UNRESOLVED_VALUE_INSERT ? message.chars : NULL});
        evt_text_end(&message);
        return ERROR_SUCCESS;
    default: return ERROR_EVT_MESSAGE_NOT_FOUND; /* the names of categories */
    }
}

static DWORD format_id(EVT_HANDLE handle, DWORD id, DWORD count, const EVT_VARIANT *values, struct text *text)
{
    struct publisher *publisher = evt_object_get(handle, PUBLISHER);
    const WCHAR *string[MOST_STRINGS];
    DWORD error;

    if (!publisher)
        return ERROR_INVALID_HANDLE;
    for (DWORD i = 0; i < min(count, MOST_STRINGS); i++)
        string[i] = values && values[i].Type == EvtVarTypeString && values[i].StringVal ? values[i].StringVal : L"";
    error = evt_source_message(publisher->name, id, string, min(count, MOST_STRINGS), text);
    evt_object_release(publisher);
    return error;
}

BOOL WINAPI EvtFormatMessage(EVT_HANDLE publisher, EVT_HANDLE handle, DWORD id, DWORD count, PEVT_VARIANT values,
                             DWORD flags, DWORD size, LPWSTR buffer, PDWORD used)
{
    struct text text = {0};
    struct event *event;
    DWORD error;
    BOOL ok;

    if (!used || flags < EvtFormatMessageEvent || flags > EvtFormatMessageXml || (size && !buffer))
        return evt_fail(ERROR_INVALID_PARAMETER);
    if (flags == EvtFormatMessageId)
        error = format_id(publisher, id, count, values, &text);
    else
    {
        if (!(event = evt_object_get(handle, EVENT)))
            return FALSE;
        error = format_event(event, flags, &text);
        evt_object_release(event);
    }
    if (text.failed)
        error = ERROR_NOT_ENOUGH_MEMORY;
    if (error && error != ERROR_EVT_UNRESOLVED_VALUE_INSERT)
        ok = evt_fail(error);
    else if ((ok = evt_text(text.chars ? text.chars : L"", size, buffer, used)) && error)
        ok = evt_fail(error);
    evt_text_end(&text);
    return ok;
}

EVT_HANDLE WINAPI EvtOpenPublisherMetadata(EVT_HANDLE session, LPCWSTR name, LPCWSTR file, LCID locale, DWORD flags)
{
    struct publisher *publisher;

    (void)locale;
    if (session || file)
        return evt_fail(ERROR_NOT_SUPPORTED), NULL;
    if (!name || !*name || flags)
        return evt_fail(ERROR_INVALID_PARAMETER), NULL;
    if (!(publisher = evt_object_new(PUBLISHER, sizeof(*publisher), NULL)))
        return NULL;
    if (wcslen(name) > MOST_NAME || !evt_source_log(name, publisher->log))
    {
        evt_object_release(publisher);
        return evt_fail(ERROR_FILE_NOT_FOUND), NULL; /* as Windows says of a source that is not registered */
    }
    wcscpy(publisher->name, name);
    return evt_object_open(publisher);
}

/* The files of a source. What only manifests have is not there. */
BOOL WINAPI EvtGetPublisherMetadataProperty(EVT_HANDLE handle, EVT_PUBLISHER_METADATA_PROPERTY_ID property, DWORD flags,
                                            DWORD size, PEVT_VARIANT buffer, PDWORD used)
{
    static const struct
    {
        EVT_PUBLISHER_METADATA_PROPERTY_ID property;
        const WCHAR *value;
    } files[] = {{EvtPublisherMetadataMessageFilePath, L"EventMessageFile"},
                 {EvtPublisherMetadataParameterFilePath, L"ParameterMessageFile"}};
    struct publisher *publisher = evt_object_get(handle, PUBLISHER);
    struct values values;
    WCHAR *text = NULL;
    BOOL ok;

    if (!publisher)
        return FALSE;
    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
    {
        if (files[i].property == property)
            text = evt_source_text(publisher->log, publisher->name, files[i].value);
    }
    evt_object_release(publisher);
    if (!used || flags)
        ok = evt_fail(ERROR_INVALID_PARAMETER);
    else if (!text)
        ok = evt_fail(ERROR_NOT_SUPPORTED);
    else
    {
        evt_values_begin(&values, buffer, size, 1);
        evt_values_text(&values, 0, text);
        ok = evt_values_end(&values, used);
    }
    free(text);
    return ok;
}

static void end_list(struct object *object)
{
    evt_names_free(&((struct name_list *)object)->names);
}

static EVT_HANDLE open_list(EVT_HANDLE session, DWORD flags, void (*fill)(struct names *))
{
    struct name_list *list;

    if (session)
        return evt_fail(ERROR_NOT_SUPPORTED), NULL;
    if (flags)
        return evt_fail(ERROR_INVALID_PARAMETER), NULL;
    if (!(list = evt_object_new(NAME_LIST, sizeof(*list), end_list)))
        return NULL;
    fill(&list->names);
    return evt_object_open(list);
}

static BOOL next_name(EVT_HANDLE handle, DWORD size, WCHAR *buffer, DWORD *used)
{
    struct name_list *list = evt_object_get(handle, NAME_LIST);
    BOOL ok;

    if (!list)
        return FALSE;
    EnterCriticalSection(&list->object.lock);
    if (!used)
        ok = evt_fail(ERROR_INVALID_PARAMETER);
    else if (list->next >= list->names.count)
        ok = evt_fail(ERROR_NO_MORE_ITEMS);
    else if ((ok = evt_text(list->names.name[list->next], size, buffer, used)))
        list->next++;
    LeaveCriticalSection(&list->object.lock);
    evt_object_release(list);
    return ok;
}

EVT_HANDLE WINAPI EvtOpenChannelEnum(EVT_HANDLE session, DWORD flags)
{
    return open_list(session, flags, evt_log_names);
}

BOOL WINAPI EvtNextChannelPath(EVT_HANDLE handle, DWORD size, LPWSTR buffer, PDWORD used)
{
    return next_name(handle, size, buffer, used);
}

EVT_HANDLE WINAPI EvtOpenPublisherEnum(EVT_HANDLE session, DWORD flags)
{
    return open_list(session, flags, evt_source_names);
}

BOOL WINAPI EvtNextPublisherId(EVT_HANDLE handle, DWORD size, LPWSTR buffer, PDWORD used)
{
    return next_name(handle, size, buffer, used);
}
