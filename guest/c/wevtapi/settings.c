/*
 * Logs: their settings, their size, clearing them; and what is not there.
 *
 * Facts: https://learn.microsoft.com/windows/win32/api/winevt/nf-winevt-evtgetchannelconfigproperty, …-evtgetloginfo,
 * …-evtclearlog.
 */
#include "evt.h"

#include <wchar.h>

#include "channels.h"

/* A log, for its settings or its size. */
struct channel
{
    struct object object;
    WCHAR log[LOG_CHARS];
};

static EVT_HANDLE open_channel(EVT_HANDLE session, const WCHAR *path, enum object_kind kind)
{
    struct channel *channel;

    if (session)
        return evt_fail(ERROR_NOT_SUPPORTED), NULL;
    if (!path || !*path)
        return evt_fail(ERROR_INVALID_PARAMETER), NULL;
    if (!(channel = evt_object_new(kind, sizeof(*channel), NULL)))
        return NULL;
    if (!evt_log_find(path, channel->log))
    {
        evt_object_release(channel);
        return evt_fail(ERROR_EVT_CHANNEL_NOT_FOUND), NULL;
    }
    return evt_object_open(channel);
}

EVT_HANDLE WINAPI EvtOpenChannelConfig(EVT_HANDLE session, LPCWSTR path, DWORD flags)
{
    return flags ? evt_fail(ERROR_INVALID_PARAMETER), NULL : open_channel(session, path, CHANNEL_CONFIG);
}

EVT_HANDLE WINAPI EvtOpenLog(EVT_HANDLE session, LPCWSTR path, DWORD flags)
{
    return flags != EvtOpenChannelPath ? evt_fail(ERROR_NOT_SUPPORTED), NULL : open_channel(session, path, LOG_INFO);
}

/* The settings of a log. */
static BOOL config_value(struct values *values, const struct channel *channel, EVT_CHANNEL_CONFIG_PROPERTY_ID property)
{
    WCHAR path[LOG_PATH_CHARS + 8];

    switch (property)
    {
    case EvtChannelConfigEnabled:
    case EvtChannelConfigClassicEventlog: evt_values_number(values, 0, EvtVarTypeBoolean, TRUE); break;
    case EvtChannelConfigIsolation:
        evt_values_number(values, 0, EvtVarTypeUInt32,
                          !_wcsicmp(channel->log, L"System")     ? 1
                          : !_wcsicmp(channel->log, L"Security") ? 2
                                                                 : 0);
        break;
    case EvtChannelConfigType: evt_values_number(values, 0, EvtVarTypeUInt32, EvtChannelTypeAdmin); break;
    case EvtChannelConfigOwningPublisher: evt_values_text(values, 0, L""); break;
    case EvtChannelLoggingConfigRetention:
    case EvtChannelLoggingConfigAutoBackup: evt_values_number(values, 0, EvtVarTypeBoolean, FALSE); break;
    case EvtChannelLoggingConfigMaxSize:
        evt_values_number(values, 0, EvtVarTypeUInt64, evt_log_most_bytes(channel->log));
        break;
    case EvtChannelLoggingConfigLogFilePath:
        evt_log_path(channel->log, path);
        wcscat(path, L".mlog");
        evt_values_text(values, 0, path);
        break;
    default: return FALSE;
    }
    return TRUE;
}

BOOL WINAPI EvtGetChannelConfigProperty(EVT_HANDLE handle, EVT_CHANNEL_CONFIG_PROPERTY_ID property, DWORD flags,
                                        DWORD size, PEVT_VARIANT buffer, PDWORD used)
{
    struct channel *channel = evt_object_get(handle, CHANNEL_CONFIG);
    struct values values;
    BOOL ok;

    if (!channel)
        return FALSE;
    if (!used || flags)
        ok = evt_fail(ERROR_INVALID_PARAMETER);
    else
    {
        evt_values_begin(&values, buffer, size, 1);
        ok = config_value(&values, channel, property) ? evt_values_end(&values, used) : evt_fail(ERROR_NOT_SUPPORTED);
    }
    evt_object_release(channel);
    return ok;
}

static BOOL info_value(struct values *values, const struct channel *channel, EVT_LOG_PROPERTY_ID property)
{
    struct log_range range;

    evt_log_extent(channel->log, &range);
    switch (property)
    {
    case EvtLogCreationTime: evt_values_number(values, 0, EvtVarTypeFileTime, range.made); break;
    case EvtLogFileSize: evt_values_number(values, 0, EvtVarTypeUInt64, range.bytes); break;
    case EvtLogAttributes: evt_values_number(values, 0, EvtVarTypeUInt32, FILE_ATTRIBUTE_ARCHIVE); break;
    case EvtLogNumberOfLogRecords:
        evt_values_number(values, 0, EvtVarTypeUInt64, range.newest + 1 - range.oldest);
        break;
    case EvtLogOldestRecordNumber: evt_values_number(values, 0, EvtVarTypeUInt64, range.oldest); break;
    case EvtLogFull: evt_values_number(values, 0, EvtVarTypeBoolean, FALSE); break;
    default: return FALSE;
    }
    return TRUE;
}

BOOL WINAPI EvtGetLogInfo(EVT_HANDLE handle, EVT_LOG_PROPERTY_ID property, DWORD size, PEVT_VARIANT buffer, PDWORD used)
{
    struct channel *channel = evt_object_get(handle, LOG_INFO);
    struct values values;
    BOOL ok;

    if (!channel)
        return FALSE;
    if (!used)
        ok = evt_fail(ERROR_INVALID_PARAMETER);
    else
    {
        evt_values_begin(&values, buffer, size, 1);
        ok = info_value(&values, channel, property) ? evt_values_end(&values, used) : evt_fail(ERROR_NOT_SUPPORTED);
    }
    evt_object_release(channel);
    return ok;
}

BOOL WINAPI EvtClearLog(EVT_HANDLE session, LPCWSTR path, LPCWSTR target, DWORD flags)
{
    WCHAR log[LOG_CHARS];
    DWORD error;

    if (session || target)
        return evt_fail(ERROR_NOT_SUPPORTED);
    if (!path || !*path || flags)
        return evt_fail(ERROR_INVALID_PARAMETER);
    if (!evt_log_find(path, log))
        return evt_fail(ERROR_EVT_CHANNEL_NOT_FOUND);
    return (error = evt_log_clear(log)) ? evt_fail(error) : TRUE;
}

/* There is nothing more to say than the last error. */
DWORD WINAPI EvtGetExtendedStatus(DWORD size, LPWSTR buffer, PDWORD used)
{
    if (!used)
        return ERROR_INVALID_PARAMETER;
    *used = 1;
    if (!buffer || !size)
        return ERROR_INSUFFICIENT_BUFFER;
    *buffer = 0;
    return ERROR_SUCCESS;
}

/*
 * The rest: saved logs, other machines, changes of settings, manifests. The exports of this name have it in
 * wevtapi.def.
 */
ULONG_PTR WINAPI evt_not_supported(void)
{
    return (ULONG_PTR)evt_fail(ERROR_NOT_SUPPORTED);
}
