/*
 * Sessions: starting, stopping and asking for them, and enabling providers.
 *
 * Facts: learn.microsoft.com/windows/win32/api/evntrace. Only sessions in real time are there. Those with a log file,
 * in a process' own memory or of the kernel are refused.
 */
#include "session.h"

#include <string.h>

#include <evntcons.h>

#include "table.h"

enum
{
    FILE_MODES = EVENT_TRACE_FILE_MODE_SEQUENTIAL | EVENT_TRACE_FILE_MODE_CIRCULAR | EVENT_TRACE_FILE_MODE_APPEND |
                 EVENT_TRACE_FILE_MODE_NEWFILE | EVENT_TRACE_FILE_MODE_PREALLOCATE,
    OTHER_MODES = EVENT_TRACE_BUFFERING_MODE | EVENT_TRACE_PRIVATE_LOGGER_MODE | EVENT_TRACE_PRIVATE_IN_PROC,
    SYSTEM_LOGGER = 0x02000000, /* EVENT_TRACE_SYSTEM_LOGGER_MODE */
    KILO = 1024
};

/* SystemTraceControlGuid: the logger of the kernel's events. */
static const GUID kernel = {0x9e814aad, 0x3204, 0x11d2, {0x9a, 0x82, 0x00, 0x60, 0x08, 0xa8, 0x69, 0x39}};

/* The rings of the sessions that this process has started: they are there as long as somebody has them. */
static struct channel kept[MOST_SESSIONS];

static BOOL same_name(const WCHAR *a, const WCHAR *b)
{
    return CompareStringOrdinal(a, -1, b, -1, TRUE) == CSTR_EQUAL;
}

BOOL tdh_widen(WCHAR *to, DWORD chars, const char *from)
{
    return MultiByteToWideChar(CP_ACP, 0, from, -1, to, (int)chars) > 0;
}

/* Finds a session by its handle, which is its id, or by its name. The table is locked. */
static struct session *find(struct table *table, TRACEHANDLE handle, const WCHAR *name)
{
    for (unsigned i = 0; i < MOST_SESSIONS; i++)
    {
        struct session *s = &table->sessions[i];

        s->name[NAME_CHARS - 1] = 0;
        if (s->id && (handle ? s->id == handle : name && same_name(s->name, name)))
            return s;
    }
    return NULL;
}

DWORD tdh_session_of(const WCHAR *name)
{
    struct table *table = tdh_table_open();
    struct session *s;
    DWORD id = 0;

    if (table && tdh_table_lock())
    {
        if ((s = find(table, 0, name)))
            id = s->id;
        tdh_table_unlock();
    }
    return id;
}

/* Puts a text where properties have room for it. */
static void put_text(EVENT_TRACE_PROPERTIES *p, ULONG offset, const WCHAR *text, BOOL wide)
{
    ULONG room = offset >= sizeof(*p) && offset < p->Wnode.BufferSize ? p->Wnode.BufferSize - offset : 0;
    BYTE *to = (BYTE *)p + offset;
    char narrow[NAME_CHARS * 3];

    if (wide && (lstrlenW(text) + 1) * sizeof(*text) <= room)
        memcpy(to, text, (lstrlenW(text) + 1) * sizeof(*text));
    else if (!wide && WideCharToMultiByte(CP_ACP, 0, text, -1, narrow, sizeof(narrow), NULL, NULL) > 0 &&
             strlen(narrow) < room)
        memcpy(to, narrow, strlen(narrow) + 1);
}

/* Writes what is known of a session. */
static void put_properties(EVENT_TRACE_PROPERTIES *p, const struct session *s, BOOL wide)
{
    struct channel channel;

    p->Wnode.HistoricalContext = s->id;
    p->Wnode.Guid = s->guid;
    p->Wnode.ClientContext = s->clock;
    p->Wnode.Flags |= WNODE_FLAG_TRACED_GUID;
    p->BufferSize = s->buffer_size;
    p->MinimumBuffers = s->minimum_buffers;
    p->MaximumBuffers = s->maximum_buffers;
    p->MaximumFileSize = 0;
    p->LogFileMode = s->mode;
    p->FlushTimer = s->flush_timer;
    p->EnableFlags = s->flags;
    p->NumberOfBuffers = s->minimum_buffers;
    p->FreeBuffers = 0;
    p->LogBuffersLost = p->RealTimeBuffersLost = 0;
    p->LoggerThreadId = NULL;
    if (tdh_channel_open(&channel, s->id))
    {
        UINT64 used = (UINT64)(channel.ring->head - channel.ring->tail);

        p->EventsLost = (ULONG)channel.ring->lost;
        p->BuffersWritten = (ULONG)((UINT64)channel.ring->tail / KILO / s->buffer_size);
        p->FreeBuffers = used < RING_BYTES ? (ULONG)((RING_BYTES - used) * s->minimum_buffers / RING_BYTES) : 0;
        tdh_channel_close(&channel);
    }
    put_text(p, p->LoggerNameOffset, s->name, wide);
    put_text(p, p->LogFileNameOffset, L"", wide);
}

/* Whether the name that properties give a log file is not empty. */
static BOOL has_file(const EVENT_TRACE_PROPERTIES *p)
{
    return p->LogFileNameOffset >= sizeof(*p) && p->LogFileNameOffset + sizeof(WCHAR) <= p->Wnode.BufferSize &&
           *((const BYTE *)p + p->LogFileNameOffset);
}

static ULONG refusal(const WCHAR *name, const EVENT_TRACE_PROPERTIES *p)
{
    if (!memcmp(&p->Wnode.Guid, &kernel, sizeof(kernel)) || same_name(name, KERNEL_LOGGER_NAMEW) ||
        (p->LogFileMode & SYSTEM_LOGGER))
        return ERROR_ACCESS_DENIED;
    if (has_file(p) || (p->LogFileMode & (FILE_MODES | OTHER_MODES)))
        return ERROR_NOT_SUPPORTED;
    return p->LogFileMode & EVENT_TRACE_REAL_TIME_MODE ? ERROR_SUCCESS : ERROR_INVALID_PARAMETER;
}

/* Fills in a session's place. */
static void begin(struct session *s, DWORD id, const WCHAR *name, const EVENT_TRACE_PROPERTIES *p)
{
    enum
    {
        BUFFER_KILO = 64, /* what Windows takes if a program leaves it out */
        BUFFERS = 4
    };

    memset(s, 0, sizeof(*s));
    s->id = id;
    s->mode = p->LogFileMode;
    s->flush_timer = p->FlushTimer ? p->FlushTimer : 1;
    s->buffer_size = p->BufferSize ? p->BufferSize : BUFFER_KILO;
    s->minimum_buffers = max(p->MinimumBuffers, BUFFERS);
    s->maximum_buffers = max(p->MaximumBuffers, s->minimum_buffers);
    s->clock = p->Wnode.ClientContext ? p->Wnode.ClientContext : 1;
    s->flags = p->EnableFlags;
    s->guid = p->Wnode.Guid;
    lstrcpynW(s->name, name, NAME_CHARS);
}

static ULONG start(TRACEHANDLE *handle, const WCHAR *name, EVENT_TRACE_PROPERTIES *p, BOOL wide)
{
    struct table *table;
    ULONG error;
    unsigned i;

    if (!handle || !name || !*name || !p || p->Wnode.BufferSize < sizeof(*p) || lstrlenW(name) >= NAME_CHARS)
        return ERROR_INVALID_PARAMETER;
    *handle = 0;
    if ((error = refusal(name, p)))
        return error;
    if (!(table = tdh_table_open()) || !tdh_table_lock())
        return ERROR_NO_SYSTEM_RESOURCES;
    if (find(table, 0, name))
        error = ERROR_ALREADY_EXISTS;
    for (i = 0; i < MOST_SESSIONS && table->sessions[i].id; i++)
        ;
    if (!error && i == MOST_SESSIONS)
        error = ERROR_NO_SYSTEM_RESOURCES;
    if (!error)
    {
        DWORD id = ++table->ids ? table->ids : ++table->ids;

        tdh_channel_close(&kept[i]);
        if (tdh_channel_open(&kept[i], id))
        {
            begin(&table->sessions[i], id, name, p);
            *handle = id;
            put_properties(p, &table->sessions[i], wide);
        }
        else
            error = ERROR_NO_SYSTEM_RESOURCES;
    }
    tdh_table_unlock();
    return error;
}

ULONG WINAPI MullionStartTraceW(TRACEHANDLE *handle, const WCHAR *name, EVENT_TRACE_PROPERTIES *p)
{
    return start(handle, name, p, TRUE);
}

ULONG WINAPI MullionStartTraceA(TRACEHANDLE *handle, const char *name, EVENT_TRACE_PROPERTIES *p)
{
    WCHAR wide[NAME_CHARS];

    return name && tdh_widen(wide, NAME_CHARS, name) ? start(handle, wide, p, FALSE) : ERROR_INVALID_PARAMETER;
}

/* Ends a session that is out of the table: its consumer reads what is left. */
static void end(DWORD id)
{
    struct channel channel;

    if (tdh_channel_open(&channel, id))
    {
        __atomic_store_n(&channel.ring->ended, 1, __ATOMIC_SEQ_CST);
        SetEvent(channel.event);
        tdh_channel_close(&channel);
    }
    for (unsigned i = 0; i < MOST_SESSIONS; i++)
    {
        if (kept[i].id == id)
            tdh_channel_close(&kept[i]);
    }
}

static ULONG control(TRACEHANDLE handle, const WCHAR *name, EVENT_TRACE_PROPERTIES *p, ULONG code, BOOL wide)
{
    struct table *table = tdh_table_open();
    ULONG error = ERROR_SUCCESS;
    struct session *s;
    DWORD ended = 0;

    if (!p || p->Wnode.BufferSize < sizeof(*p) || (!handle && !name) || code > EVENT_TRACE_CONTROL_FLUSH)
        return ERROR_INVALID_PARAMETER;
    if (!handle && same_name(name, KERNEL_LOGGER_NAMEW))
        return ERROR_WMI_INSTANCE_NOT_FOUND;
    if (!table || !tdh_table_lock())
        return ERROR_NO_SYSTEM_RESOURCES;
    if (!(s = find(table, handle, name)))
        error = ERROR_WMI_INSTANCE_NOT_FOUND;
    else if (code == EVENT_TRACE_CONTROL_UPDATE &&
             (has_file(p) || (p->LogFileMode && !(p->LogFileMode & EVENT_TRACE_REAL_TIME_MODE))))
        error = ERROR_NOT_SUPPORTED;
    else
    {
        if (code == EVENT_TRACE_CONTROL_UPDATE && p->FlushTimer)
            s->flush_timer = p->FlushTimer;
        if (code == EVENT_TRACE_CONTROL_UPDATE && p->MaximumBuffers)
            s->maximum_buffers = p->MaximumBuffers;
        put_properties(p, s, wide);
        if (code == EVENT_TRACE_CONTROL_STOP)
        {
            ended = s->id;
            s->id = 0;
        }
    }
    tdh_table_unlock();
    if (ended)
    {
        tdh_table_changed();
        end(ended);
    }
    return error;
}

ULONG WINAPI MullionControlTraceW(TRACEHANDLE handle, const WCHAR *name, EVENT_TRACE_PROPERTIES *p, ULONG code)
{
    return control(handle, name, p, code, TRUE);
}

ULONG WINAPI MullionControlTraceA(TRACEHANDLE handle, const char *name, EVENT_TRACE_PROPERTIES *p, ULONG code)
{
    WCHAR wide[NAME_CHARS];

    if (name && !tdh_widen(wide, NAME_CHARS, name))
        return ERROR_INVALID_PARAMETER;
    return control(handle, name ? wide : NULL, p, code, FALSE);
}

static ULONG query_all(EVENT_TRACE_PROPERTIES **p, ULONG count, ULONG *sessions, BOOL wide)
{
    struct table *table = tdh_table_open();
    ULONG found = 0;

    if (!sessions || (count && !p) || count > MOST_SESSIONS)
        return ERROR_INVALID_PARAMETER;
    *sessions = 0;
    if (!table || !tdh_table_lock())
        return ERROR_NO_SYSTEM_RESOURCES;
    for (unsigned i = 0; i < MOST_SESSIONS; i++)
    {
        table->sessions[i].name[NAME_CHARS - 1] = 0;
        if (!table->sessions[i].id)
            continue;
        if (found < count && p[found] && p[found]->Wnode.BufferSize >= sizeof(**p))
            put_properties(p[found], &table->sessions[i], wide);
        found++;
    }
    tdh_table_unlock();
    *sessions = found;
    return found > count ? ERROR_MORE_DATA : ERROR_SUCCESS;
}

ULONG WINAPI MullionQueryAllTracesW(EVENT_TRACE_PROPERTIES **p, ULONG count, ULONG *sessions)
{
    return query_all(p, count, sessions, TRUE);
}

ULONG WINAPI MullionQueryAllTracesA(EVENT_TRACE_PROPERTIES **p, ULONG count, ULONG *sessions)
{
    return query_all(p, count, sessions, FALSE);
}

/* How many sessions have enabled a provider. */
static unsigned enabled_by(const struct table *table, const GUID *provider)
{
    unsigned count = 0;

    for (unsigned i = 0; i < MOST_SESSIONS; i++)
    {
        for (unsigned e = 0; table->sessions[i].id && e < MOST_ENABLED; e++)
            count += table->sessions[i].enabled[e].used &&
                     !memcmp(&table->sessions[i].enabled[e].provider, provider, sizeof(*provider));
    }
    return count;
}

/* The place of a provider in a session, or a free one; NULL: there is none. */
static struct enabled *place_of(struct session *s, const GUID *provider)
{
    struct enabled *free = NULL;

    for (unsigned i = 0; i < MOST_ENABLED; i++)
    {
        struct enabled *e = &s->enabled[i];

        if (e->used && !memcmp(&e->provider, provider, sizeof(*provider)))
            return e;
        if (!e->used && !free)
            free = e;
    }
    return free;
}

ULONG WINAPI MullionEnableTraceEx2(TRACEHANDLE handle, const GUID *provider, ULONG code, UCHAR level, ULONGLONG any,
                                   ULONGLONG all, ULONG timeout, const ENABLE_TRACE_PARAMETERS *parameters)
{
    struct table *table = tdh_table_open();
    ULONG error = ERROR_SUCCESS;
    struct session *s;
    struct enabled *e = NULL;

    if (!handle || !provider || code > EVENT_CONTROL_CODE_CAPTURE_STATE)
        return ERROR_INVALID_PARAMETER;
    if (parameters && parameters->EnableFilterDesc)
        return ERROR_NOT_SUPPORTED;
    if (!table || !tdh_table_lock())
        return ERROR_NO_SYSTEM_RESOURCES;
    if (!(s = find(table, handle, NULL)))
        error = ERROR_INVALID_HANDLE;
    else if (!(e = place_of(s, provider)) || (code == EVENT_CONTROL_CODE_ENABLE_PROVIDER && !e->used &&
                                              enabled_by(table, provider) >= MOST_PER_PROVIDER))
        error = ERROR_NO_SYSTEM_RESOURCES;
    else if (code == EVENT_CONTROL_CODE_ENABLE_PROVIDER)
    {
        e->used = TRUE;
        e->provider = *provider;
        e->source = parameters ? parameters->SourceId : (GUID){0};
        e->property = parameters ? parameters->EnableProperty : 0;
        e->level = level ? level : 0xff;
        e->any = any ? any : ~0ULL;
        e->all = all;
    }
    else if (e->used && code == EVENT_CONTROL_CODE_CAPTURE_STATE)
        e->captures++;
    else if (e->used)
        memset(e, 0, sizeof(*e));
    tdh_table_unlock();
    if (error)
        return error;
    tdh_table_changed();
    return timeout && !tdh_table_wait(table->generation, timeout) ? ERROR_TIMEOUT : ERROR_SUCCESS;
}

ULONG WINAPI MullionEnableTraceEx(const GUID *provider, const GUID *source, TRACEHANDLE handle, ULONG enable,
                                  UCHAR level, ULONGLONG any, ULONGLONG all, ULONG property,
                                  EVENT_FILTER_DESCRIPTOR *filter)
{
    ENABLE_TRACE_PARAMETERS parameters = {.Version = 1, .EnableProperty = property, .EnableFilterDesc = filter};

    if (source)
        parameters.SourceId = *source;
    return MullionEnableTraceEx2(handle, provider,
                                 enable ? EVENT_CONTROL_CODE_ENABLE_PROVIDER : EVENT_CONTROL_CODE_DISABLE_PROVIDER,
                                 level, any, all, 0, &parameters);
}

ULONG WINAPI MullionEnableTrace(ULONG enable, ULONG flags, ULONG level, const GUID *provider, TRACEHANDLE handle)
{
    return MullionEnableTraceEx2(handle, provider,
                                 enable ? EVENT_CONTROL_CODE_ENABLE_PROVIDER : EVENT_CONTROL_CODE_DISABLE_PROVIDER,
                                 (UCHAR)level, flags, 0, 0, NULL);
}
