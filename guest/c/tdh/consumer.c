/*
 * Consumers of sessions in real time.
 *
 * Facts: learn.microsoft.com/windows/win32/api/evntrace: OpenTrace succeeds for a session that there is not,
 * ProcessTrace says so; ProcessTrace returns when the session has stopped, after CloseTrace, or when the callback for
 * buffers says so. Files, events in the older form and raw time stamps are refused. A session has one consumer.
 */
#include "session.h"

#include <string.h>

#include "event.h"
#include "table.h"

enum
{
    MOST_CONSUMERS = 64,
    PATIENCE =
        1000, /* ms: for a record that is not whole, and between two looks at a session in which nothing happens */
    EVENT_RECORDS = 0x10000000, /* PROCESS_TRACE_MODE_EVENT_RECORD */
    RAW_TIMES = 0x1000,         /* PROCESS_TRACE_MODE_RAW_TIMESTAMP */
    REAL_TIME = 0x100           /* PROCESS_TRACE_MODE_REAL_TIME */
};

struct consumer
{
    BOOL taken, running;
    volatile LONG closing;
    DWORD use;
    WCHAR name[NAME_CHARS];
    EVENT_TRACE_LOGFILEW logfile;
    struct channel channel;
    BYTE record[MOST_RECORD];
};

static struct consumer *consumers[MOST_CONSUMERS];
static SRWLOCK lock = SRWLOCK_INIT;

static struct consumer *find(TRACEHANDLE handle)
{
    DWORD at = (DWORD)handle - 1;

    return at < MOST_CONSUMERS && consumers[at] && consumers[at]->taken && consumers[at]->use == (DWORD)(handle >> 32)
               ? consumers[at]
               : NULL;
}

static TRACEHANDLE fail(DWORD error)
{
    SetLastError(error);
    return INVALID_PROCESSTRACE_HANDLE;
}

/* What the head of a log says of the machine. */
static void put_head(TRACE_LOGFILE_HEADER *head)
{
    LARGE_INTEGER frequency;
    SYSTEM_INFO system;

    GetSystemInfo(&system);
    QueryPerformanceFrequency(&frequency);
    memset(head, 0, sizeof(*head));
    head->BufferSize = RING_BYTES;
    head->NumberOfProcessors = system.dwNumberOfProcessors;
    head->PointerSize = sizeof(void *);
    head->PerfFreq = frequency;
    head->TimerResolution = 156250; /* 100 ns */
    head->LogFileMode = EVENT_TRACE_REAL_TIME_MODE;
    head->BuffersWritten = 1;
    GetSystemTimeAsFileTime((FILETIME *)(void *)&head->StartTime);
}

static TRACEHANDLE open(const WCHAR *name, EVENT_TRACE_LOGFILEW *logfile)
{
    struct consumer *c = NULL;
    unsigned i;

    if (!(logfile->ProcessTraceMode & EVENT_RECORDS) || (logfile->ProcessTraceMode & RAW_TIMES))
        return fail(ERROR_NOT_SUPPORTED);
    if (!logfile->EventRecordCallback)
        return fail(ERROR_INVALID_PARAMETER);
    AcquireSRWLockExclusive(&lock);
    for (i = 0; i < MOST_CONSUMERS && consumers[i] && (consumers[i]->taken || consumers[i]->running); i++)
        ;
    if (i < MOST_CONSUMERS && !consumers[i] &&
        (consumers[i] = HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, sizeof(*c))))
        consumers[i]->use = 1;
    if (i < MOST_CONSUMERS && (c = consumers[i]))
    {
        c->taken = TRUE;
        c->closing = FALSE;
        put_head(&logfile->LogfileHeader);
        logfile->IsKernelTrace = FALSE;
        c->logfile = *logfile;
        c->logfile.LoggerName = c->name;
        c->logfile.LogFileName = NULL;
        lstrcpynW(c->name, name, NAME_CHARS);
    }
    ReleaseSRWLockExclusive(&lock);
    return c ? (TRACEHANDLE)c->use << 32 | (i + 1) : fail(ERROR_NO_SYSTEM_RESOURCES);
}

/* Whether what a program opens is a session. */
static DWORD refusal(BOOL named, const EVENT_TRACE_LOGFILEW *logfile)
{
    if (!(logfile->ProcessTraceMode & REAL_TIME))
        return logfile->LogFileName ? ERROR_NOT_SUPPORTED : ERROR_INVALID_PARAMETER;
    return named ? ERROR_SUCCESS : ERROR_INVALID_PARAMETER;
}

TRACEHANDLE WINAPI MullionOpenTraceW(EVENT_TRACE_LOGFILEW *logfile)
{
    DWORD error;

    if (!logfile)
        return fail(ERROR_INVALID_PARAMETER);
    if ((error = refusal(logfile->LoggerName && lstrlenW(logfile->LoggerName) < NAME_CHARS, logfile)))
        return fail(error);
    return open(logfile->LoggerName, logfile);
}

/*
 * The structures of OpenTraceA and OpenTraceW differ only by the names, which are pointers; so does what the callback
 * for buffers gets.
 */
TRACEHANDLE WINAPI MullionOpenTraceA(EVENT_TRACE_LOGFILEA *logfile)
{
    EVENT_TRACE_LOGFILEW *wide = (EVENT_TRACE_LOGFILEW *)(void *)logfile;
    WCHAR name[NAME_CHARS];
    DWORD error;

    if (!logfile)
        return fail(ERROR_INVALID_PARAMETER);
    if ((error = refusal(logfile->LoggerName && tdh_widen(name, NAME_CHARS, logfile->LoggerName), wide)))
        return fail(error);
    return open(name, wide);
}

static void deliver(struct consumer *c, DWORD size)
{
    struct event_view view;

    if (!tdh_event_view(&view, c->record, size))
        return;
    view.record.UserContext = c->logfile.Context;
    c->logfile.EventRecordCallback(&view.record);
}

/* Reads until there is nothing; returns how many events there were. */
static DWORD drain(struct consumer *c)
{
    ULONGLONG since = 0;
    DWORD size, events = 0;

    while (!c->closing)
    {
        switch (tdh_ring_read(c->channel.ring, c->record, &size))
        {
        case RING_RECORD:
            events++;
            since = 0;
            deliver(c, size);
            break;
        case RING_EMPTY: return events;
        case RING_UNFINISHED:
            if (!since)
                since = GetTickCount64();
            if (GetTickCount64() - since > PATIENCE)
            {
                tdh_ring_skip(c->channel.ring);
                since = 0;
            }
            else
                Sleep(1);
            break;
        }
    }
    return events;
}

static ULONG run(struct consumer *c)
{
    struct ring *ring = c->channel.ring;

    for (;;)
    {
        BOOL ended = ring->ended;
        DWORD events = drain(c);

        c->logfile.EventsLost = (ULONG)ring->lost;
        if (events)
        {
            c->logfile.BuffersRead++;
            c->logfile.BufferSize = RING_BYTES;
            if (c->logfile.BufferCallback && !c->logfile.BufferCallback(&c->logfile))
                return ERROR_CANCELLED;
        }
        if (c->closing || ended)
            return ERROR_SUCCESS;
        if (events)
            continue;
        __atomic_store_n(&ring->waiting, 1, __ATOMIC_SEQ_CST);
        if (ring->head == ring->tail && !ring->ended && !c->closing)
            WaitForSingleObject(c->channel.event, PATIENCE);
    }
}

ULONG WINAPI MullionProcessTrace(TRACEHANDLE *handles, ULONG count, FILETIME *from, FILETIME *to)
{
    ULONG error = ERROR_SUCCESS;
    struct consumer *c;
    WCHAR name[48];
    HANDLE reading;
    DWORD id;

    if (!handles || count != 1)
        return ERROR_BAD_LENGTH; /* one session in real time at a time, as on Windows */
    if (from || to)
        return ERROR_INVALID_TIME;
    AcquireSRWLockExclusive(&lock);
    if (!(c = find(handles[0])) || c->running)
        error = ERROR_INVALID_HANDLE;
    else
        c->running = TRUE;
    ReleaseSRWLockExclusive(&lock);
    if (error)
        return error;
    if (!(id = tdh_session_of(c->name)))
        error = ERROR_WMI_INSTANCE_NOT_FOUND;
    else
    {
        tdh_object_name(name, L"Global\\MullionEtw1Reader", id);
        if (!(reading = CreateMutexW(NULL, FALSE, name)))
            error = ERROR_NO_SYSTEM_RESOURCES;
        else if (WaitForSingleObject(reading, 0) == WAIT_TIMEOUT)
            error = ERROR_NO_SYSTEM_RESOURCES; /* another consumer reads it */
        else
        {
            error = tdh_channel_open(&c->channel, id) ? run(c) : ERROR_NO_SYSTEM_RESOURCES;
            ReleaseMutex(reading);
        }
        if (reading)
            CloseHandle(reading);
    }
    AcquireSRWLockExclusive(&lock);
    tdh_channel_close(&c->channel);
    c->running = FALSE;
    ReleaseSRWLockExclusive(&lock);
    return error;
}

ULONG WINAPI MullionCloseTrace(TRACEHANDLE handle)
{
    ULONG error = ERROR_SUCCESS;
    struct consumer *c;

    AcquireSRWLockExclusive(&lock);
    if (!(c = find(handle)))
        error = ERROR_INVALID_HANDLE;
    else
    {
        c->taken = FALSE;
        c->use++;
        c->closing = TRUE;
        if (c->running)
            error = ERROR_CTX_CLOSE_PENDING; /* ProcessTrace ends soon */
        if (c->channel.event)
            SetEvent(c->channel.event);
    }
    ReleaseSRWLockExclusive(&lock);
    return error;
}
