/* Queries: what they hold, and measuring it. The figures are read in values.c. */
#include "query.h"

#include <stdlib.h>
#include <wchar.h>

enum
{
    MAGIC_QUERY = 0x51484450,
    MAGIC_COUNTER = 0x43484450
};

struct query *pdh_query_of(PDH_HQUERY handle)
{
    struct query *query = (struct query *)handle;
    return query && query->magic == MAGIC_QUERY ? query : NULL;
}

struct counter *pdh_counter_of(PDH_HCOUNTER handle)
{
    struct counter *counter = (struct counter *)handle;
    return counter && counter->magic == MAGIC_COUNTER ? counter : NULL;
}

PDH_STATUS pdh_lookup_path(const WCHAR *path, WCHAR *pattern, const struct counter_def **def)
{
    WCHAR object[PATH_PART_CHARS], counter[PATH_PART_CHARS];
    LONG status;

    if (!path)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    if ((status = pdh_parse_path(path, object, pattern, counter)))
        return status;
    *def = pdh_find_counter(object, counter, &status);
    if (!*def)
        return status;
    if (!(*def)->object->instances && wcscmp(pattern, L"*") == 0)
        pattern[0] = 0; /* as on Windows, all there are */
    return (*def)->object->instances == (pattern[0] != 0) ? ERROR_SUCCESS : (PDH_STATUS)PDH_CSTATUS_NO_INSTANCE;
}

const struct row *pdh_next_row(const struct counter *counter, const struct table *table, int *at)
{
    while (*at < table->count)
    {
        const struct row *row = &table->rows[(*at)++];

        if (!counter->def->object->instances || pdh_matches(counter->pattern, row->name))
            return row;
    }
    return NULL;
}

PDH_STATUS WINAPI PdhOpenQueryW(LPCWSTR source, DWORD_PTR user, PDH_HQUERY *handle)
{
    struct query *query;

    if (!handle)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    if (source)
        return (PDH_STATUS)PDH_NOT_IMPLEMENTED; /* log files as a source */
    if (!(query = calloc(1, sizeof(*query))))
        return (PDH_STATUS)PDH_MEMORY_ALLOCATION_FAILURE;
    query->magic = MAGIC_QUERY;
    query->user = user;
    InitializeCriticalSection(&query->lock);
    *handle = (PDH_HQUERY)query;
    return ERROR_SUCCESS;
}

PDH_STATUS WINAPI PdhOpenQueryA(LPCSTR source, DWORD_PTR user, PDH_HQUERY *handle)
{
    return PdhOpenQueryW(source ? L"" : NULL, user, handle);
}

static void free_counter(struct counter *counter)
{
    counter->magic = 0;
    free(counter->pattern);
    free(counter->path);
    free(counter);
}

PDH_STATUS WINAPI PdhCloseQuery(PDH_HQUERY handle)
{
    struct query *query = pdh_query_of(handle);

    if (!query)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    for (struct counter *c = query->counters, *next; c; c = next)
    {
        next = c->next;
        free_counter(c);
    }
    for (int i = 0; i < SOURCES; i++)
    {
        free(query->before[i].rows);
        free(query->now[i].rows);
    }
    query->magic = 0;
    DeleteCriticalSection(&query->lock);
    free(query);
    return ERROR_SUCCESS;
}

PDH_STATUS WINAPI PdhAddEnglishCounterW(PDH_HQUERY handle, LPCWSTR path, DWORD_PTR user, PDH_HCOUNTER *out)
{
    struct query *query = pdh_query_of(handle);
    const struct counter_def *def;
    WCHAR pattern[PATH_PART_CHARS];
    struct counter *counter;
    PDH_STATUS status;

    if (!out || !path)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    if (!query)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    if ((status = pdh_lookup_path(path, pattern, &def)))
        return status;
    if (!(counter = calloc(1, sizeof(*counter))))
        return (PDH_STATUS)PDH_MEMORY_ALLOCATION_FAILURE;
    counter->query = query;
    counter->def = def;
    counter->user = user;
    counter->pattern = _wcsdup(pattern);
    counter->path = _wcsdup(path);
    if (!counter->pattern || !counter->path)
    {
        free_counter(counter);
        return (PDH_STATUS)PDH_MEMORY_ALLOCATION_FAILURE;
    }
    counter->magic = MAGIC_COUNTER;
    EnterCriticalSection(&query->lock);
    counter->next = query->counters;
    query->counters = counter;
    LeaveCriticalSection(&query->lock);
    *out = (PDH_HCOUNTER)counter;
    return ERROR_SUCCESS;
}

/* Mullion's Windows hosts are English: localized names are the English ones. */
PDH_STATUS WINAPI PdhAddCounterW(PDH_HQUERY handle, LPCWSTR path, DWORD_PTR user, PDH_HCOUNTER *out)
{
    return PdhAddEnglishCounterW(handle, path, user, out);
}

PDH_STATUS WINAPI PdhAddEnglishCounterA(PDH_HQUERY handle, LPCSTR path, DWORD_PTR user, PDH_HCOUNTER *out)
{
    WCHAR wide[PDH_MAX_COUNTER_PATH];

    if (!path)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    if (!MultiByteToWideChar(CP_ACP, 0, path, -1, wide, PDH_MAX_COUNTER_PATH))
        return (PDH_STATUS)PDH_CSTATUS_BAD_COUNTERNAME;
    return PdhAddEnglishCounterW(handle, wide, user, out);
}

PDH_STATUS WINAPI PdhAddCounterA(PDH_HQUERY handle, LPCSTR path, DWORD_PTR user, PDH_HCOUNTER *out)
{
    return PdhAddEnglishCounterA(handle, path, user, out);
}

PDH_STATUS WINAPI PdhRemoveCounter(PDH_HCOUNTER handle)
{
    struct counter *counter = pdh_counter_of(handle), **link;
    struct query *query;

    if (!counter)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    query = counter->query;
    EnterCriticalSection(&query->lock);
    for (link = &query->counters; *link && *link != counter; link = &(*link)->next)
    {
    }
    if (*link)
        *link = counter->next;
    LeaveCriticalSection(&query->lock);
    free_counter(counter);
    return ERROR_SUCCESS;
}

/* Measures each source of the query's counters once. It succeeds if one of them could be measured. */
static PDH_STATUS collect(struct query *query)
{
    PDH_STATUS status = (PDH_STATUS)PDH_NO_DATA;
    BOOL done[SOURCES] = {FALSE};

    for (struct counter *c = query->counters; c; c = c->next)
    {
        enum source source = c->def->object->source;

        if (done[source])
            continue;
        done[source] = TRUE;
        free(query->before[source].rows);
        query->before[source] = query->now[source];
        if (pdh_take_table(source, &query->now[source]))
            status = ERROR_SUCCESS;
    }
    return status;
}

PDH_STATUS WINAPI PdhCollectQueryData(PDH_HQUERY handle)
{
    struct query *query = pdh_query_of(handle);
    PDH_STATUS status;

    if (!query)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    EnterCriticalSection(&query->lock);
    status = collect(query);
    LeaveCriticalSection(&query->lock);
    return status;
}

/* The time is local, as a FILETIME. */
PDH_STATUS WINAPI PdhCollectQueryDataWithTime(PDH_HQUERY handle, LONGLONG *time)
{
    PDH_STATUS status = time ? PdhCollectQueryData(handle) : (PDH_STATUS)PDH_INVALID_ARGUMENT;
    FILETIME now, local;

    if (status)
        return status;
    GetSystemTimeAsFileTime(&now);
    FileTimeToLocalFileTime(&now, &local);
    *time = (LONGLONG)local.dwHighDateTime << 32 | local.dwLowDateTime;
    return ERROR_SUCCESS;
}

PDH_STATUS WINAPI PdhValidatePathW(LPCWSTR path)
{
    WCHAR pattern[PATH_PART_CHARS];
    const struct counter_def *def;

    return pdh_lookup_path(path, pattern, &def);
}

PDH_STATUS WINAPI PdhValidatePathA(LPCSTR path)
{
    WCHAR wide[PDH_MAX_COUNTER_PATH];

    if (!path)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    if (!MultiByteToWideChar(CP_ACP, 0, path, -1, wide, PDH_MAX_COUNTER_PATH))
        return (PDH_STATUS)PDH_CSTATUS_BAD_COUNTERNAME;
    return PdhValidatePathW(wide);
}

PDH_STATUS WINAPI PdhValidatePathExW(PDH_HLOG source, LPCWSTR path)
{
    (void)source;
    return PdhValidatePathW(path);
}

PDH_STATUS WINAPI PdhGetDllVersion(LPDWORD version)
{
    if (!version)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    *version = PDH_VERSION;
    return ERROR_SUCCESS;
}

/*
 * All other functions that Windows exports: they answer that they are not implemented, so that a program that
 * imports them loads.
 */
PDH_STATUS WINAPI PdhNotImplemented(void)
{
    return (PDH_STATUS)PDH_NOT_IMPLEMENTED;
}
