/* The sessions of a prefix. */
#include "table.h"

#include <string.h>

static struct table *table;
static HANDLE mutex, table_section;
static LONG listening = -1; /* the place of this process */
static SRWLOCK opening = SRWLOCK_INIT;

void tdh_object_name(WCHAR *name, const WCHAR *prefix, DWORD id)
{
    static const char digits[] = "0123456789abcdef";

    while (*prefix)
        *name++ = *prefix++;
    for (int shift = 28; shift >= 0; shift -= 4)
        *name++ = (WCHAR)digits[id >> shift & 15];
    *name = 0;
}

/* Maps memory of a name. Others find it by the name as long as the handle is open; a view alone keeps no name. */
static void *map(const WCHAR *name, DWORD size, HANDLE *section)
{
    void *view;
    DWORD error;

    *section = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, size, name);
    if (!*section)
        return NULL;
    if ((view = MapViewOfFile(*section, FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, size)))
        return view;
    error = GetLastError();
    CloseHandle(*section);
    *section = NULL;
    SetLastError(error);
    return NULL;
}

struct table *tdh_table_open(void)
{
    struct table *found = __atomic_load_n(&table, __ATOMIC_ACQUIRE);

    if (found)
        return found;
    AcquireSRWLockExclusive(&opening);
    if (!mutex)
        mutex = CreateMutexW(NULL, FALSE, L"Global\\MullionEtw1Mutex");
    if (!(found = table) && mutex && (found = map(L"Global\\MullionEtw1Table", sizeof(*table), &table_section)))
        __atomic_store_n(&table, found, __ATOMIC_RELEASE);
    ReleaseSRWLockExclusive(&opening);
    return found;
}

BOOL tdh_table_lock(void)
{
    enum
    {
        LOCK_WAIT = 5000 /* ms; it is held for microseconds, unless somebody stops a process that holds it */
    };
    DWORD answer = WaitForSingleObject(mutex, LOCK_WAIT);

    return answer == WAIT_OBJECT_0 || answer == WAIT_ABANDONED;
}

void tdh_table_unlock(void)
{
    ReleaseMutex(mutex);
}

static HANDLE event_of(DWORD process, BOOL make)
{
    WCHAR name[48];

    tdh_object_name(name, L"Global\\MullionEtw1Process", process);
    return make ? CreateEventW(NULL, FALSE, FALSE, name) : OpenEventW(EVENT_MODIFY_STATE, FALSE, name);
}

void tdh_table_changed(void)
{
    __atomic_add_fetch(&table->generation, 1, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < MOST_PROCESSES; i++)
    {
        DWORD id = table->processes[i].id;
        HANDLE event;

        if (!id)
            continue;
        if ((event = event_of(id, FALSE)))
        {
            SetEvent(event);
            CloseHandle(event);
        }
        else if (tdh_table_lock())
        {
            if (table->processes[i].id == id)
                table->processes[i].id = 0; /* it has ended */
            tdh_table_unlock();
        }
    }
}

HANDLE tdh_table_listen(void)
{
    HANDLE event = event_of(GetCurrentProcessId(), TRUE), other;

    if (!event || !tdh_table_lock())
        return event;
    for (unsigned i = 0; i < MOST_PROCESSES && listening < 0; i++)
    {
        DWORD id = table->processes[i].id;

        if (id && id != GetCurrentProcessId() && (other = event_of(id, FALSE)))
        {
            CloseHandle(other);
            continue;
        }
        table->processes[i].id = GetCurrentProcessId();
        table->processes[i].seen = 0;
        listening = (LONG)i;
    }
    tdh_table_unlock();
    return event;
}

void tdh_table_seen(LONG generation)
{
    if (listening >= 0)
        table->processes[listening].seen = generation;
}

BOOL tdh_table_wait(LONG generation, DWORD timeout)
{
    ULONGLONG end = GetTickCount64() + timeout;

    for (;;)
    {
        BOOL all = TRUE;

        for (unsigned i = 0; i < MOST_PROCESSES && all; i++)
        {
            DWORD id = table->processes[i].id;
            HANDLE event;

            if (!id || table->processes[i].seen - generation >= 0)
                continue;
            if ((event = event_of(id, FALSE)))
            {
                CloseHandle(event);
                all = FALSE;
            }
        }
        if (all)
            return TRUE;
        if (GetTickCount64() >= end)
            return FALSE;
        Sleep(1);
    }
}

BOOL tdh_channel_open(struct channel *channel, DWORD id)
{
    WCHAR name[48];

    *channel = (struct channel){.id = id};
    tdh_object_name(name, L"Global\\MullionEtw1Ring", id);
    channel->ring = map(name, sizeof(*channel->ring), &channel->section);
    tdh_object_name(name, L"Global\\MullionEtw1Event", id);
    channel->event = channel->ring ? CreateEventW(NULL, FALSE, FALSE, name) : NULL;
    if (channel->event)
        return TRUE;
    tdh_channel_close(channel);
    return FALSE;
}

void tdh_channel_close(struct channel *channel)
{
    DWORD error = GetLastError();

    if (channel->ring)
        UnmapViewOfFile(channel->ring);
    if (channel->section)
        CloseHandle(channel->section);
    if (channel->event)
        CloseHandle(channel->event);
    *channel = (struct channel){0};
    SetLastError(error);
}
