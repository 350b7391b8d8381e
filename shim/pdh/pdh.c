/* The functions of pdh.dll: queries, counters, formatting. The numbers come from sources.c. */
#include "counters.h"

#include <pdh.h>
#include <pdhmsg.h>
#include <stdlib.h>
#include <wchar.h>

enum
{
    MAGIC_QUERY = 0x51484450,
    MAGIC_COUNTER = 0x43484450
};

struct query;

struct counter
{
    DWORD magic;
    struct counter *next;
    struct query *query;
    const struct counter_def *def;
    WCHAR pattern[NAME_MAX_CHARS]; /* the instance, or "*" */
    struct samples before, now;
    BOOL have_now, have_before;
    double scale;
};

struct query
{
    DWORD magic;
    CRITICAL_SECTION lock;
    struct counter *counters;
};

static struct query *as_query(PDH_HQUERY handle)
{
    struct query *query = (struct query *)handle;
    return query && query->magic == MAGIC_QUERY ? query : NULL;
}

static struct counter *as_counter(PDH_HCOUNTER handle)
{
    struct counter *counter = (struct counter *)handle;
    return counter && counter->magic == MAGIC_COUNTER ? counter : NULL;
}

/*
 * parse_path takes \\machine\Object(instance)\Counter apart; the machine and the instance may be missing. The parts are copied into the caller's buffers of
 * PDH_MAX_COUNTER_NAME characters.
 */
static PDH_STATUS parse_path(const WCHAR *path, WCHAR *object, WCHAR *instance, WCHAR *counter)
{
    const WCHAR *slash, *open, *end;
    size_t length;

    if (!path)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    if (path[0] == '\\' && path[1] == '\\')
        path = wcschr(path + 2, '\\');
    if (!path || path[0] != '\\')
        return (PDH_STATUS)PDH_CSTATUS_BAD_COUNTERNAME;
    path++;
    open = wcschr(path, '(');
    slash = wcschr(path, '\\');
    instance[0] = 0;
    if (open && slash && open < slash)
    {
        for (end = slash = wcsstr(open, L")\\"); end; end = wcsstr(end + 1, L")\\"))
            slash = end;
        if (!slash || slash - open > NAME_MAX_CHARS)
            return (PDH_STATUS)PDH_CSTATUS_BAD_COUNTERNAME;
        wcsncpy(instance, open + 1, (size_t)(slash - open - 1));
        instance[slash - open - 1] = 0;
        slash++;
        end = open;
    }
    else
    {
        end = slash;
    }
    if (!slash || !slash[1] || end == path)
        return (PDH_STATUS)PDH_CSTATUS_BAD_COUNTERNAME;
    length = (size_t)(end - path);
    if (length >= PDH_MAX_COUNTER_NAME || wcslen(slash + 1) >= PDH_MAX_COUNTER_NAME)
        return (PDH_STATUS)PDH_CSTATUS_BAD_COUNTERNAME;
    wcsncpy(object, path, length);
    object[length] = 0;
    wcscpy(counter, slash + 1);
    return ERROR_SUCCESS;
}

static PDH_STATUS lookup_path(const WCHAR *path, WCHAR *instance, const struct counter_def **def)
{
    WCHAR object[PDH_MAX_COUNTER_NAME], counter[PDH_MAX_COUNTER_NAME];
    PDH_STATUS status = parse_path(path, object, instance, counter);
    LONG found;

    if (status)
        return status;
    *def = find_def(object, counter, &found);
    if (!*def)
        return found;
    if (def_has_instances(*def) != (instance[0] != 0))
        return (PDH_STATUS)PDH_CSTATUS_NO_INSTANCE;
    return ERROR_SUCCESS;
}

PDH_STATUS WINAPI PdhOpenQueryW(LPCWSTR source, DWORD_PTR user, PDH_HQUERY *handle)
{
    struct query *query;

    (void)user;
    if (!handle)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    if (source)
        return (PDH_STATUS)PDH_NOT_IMPLEMENTED; /* log files as a source */
    if (!(query = calloc(1, sizeof(*query))))
        return (PDH_STATUS)PDH_MEMORY_ALLOCATION_FAILURE;
    query->magic = MAGIC_QUERY;
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
    free(counter->before.items);
    free(counter->now.items);
    free(counter);
}

PDH_STATUS WINAPI PdhCloseQuery(PDH_HQUERY handle)
{
    struct query *query = as_query(handle);

    if (!query)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    for (struct counter *c = query->counters, *next; c; c = next)
    {
        next = c->next;
        free_counter(c);
    }
    query->magic = 0;
    DeleteCriticalSection(&query->lock);
    free(query);
    return ERROR_SUCCESS;
}

PDH_STATUS WINAPI PdhAddEnglishCounterW(PDH_HQUERY handle, LPCWSTR path, DWORD_PTR user, PDH_HCOUNTER *out)
{
    struct query *query = as_query(handle);
    WCHAR instance[NAME_MAX_CHARS + 1];
    const struct counter_def *def;
    struct counter *counter;
    PDH_STATUS status;

    (void)user;
    if (!out || !path)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    if (!query)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    if ((status = lookup_path(path, instance, &def)))
        return status;
    if (!(counter = calloc(1, sizeof(*counter))))
        return (PDH_STATUS)PDH_MEMORY_ALLOCATION_FAILURE;
    counter->magic = MAGIC_COUNTER;
    counter->query = query;
    counter->def = def;
    counter->scale = 1;
    wcsncpy(counter->pattern, instance, NAME_MAX_CHARS - 1);
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
    struct counter *counter = as_counter(handle), **link;
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

PDH_STATUS WINAPI PdhCollectQueryData(PDH_HQUERY handle)
{
    struct query *query = as_query(handle);
    PDH_STATUS status = (PDH_STATUS)PDH_NO_DATA;

    if (!query)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    EnterCriticalSection(&query->lock);
    for (struct counter *c = query->counters; c; c = c->next)
    {
        struct samples fresh;

        if (!take_samples(c->def, c->pattern, &fresh))
            continue;
        free(c->before.items);
        c->before = c->now;
        c->have_before = c->have_now;
        c->now = fresh;
        c->have_now = TRUE;
        status = ERROR_SUCCESS;
    }
    LeaveCriticalSection(&query->lock);
    return status;
}

static const struct sample *find_sample(const struct samples *samples, const WCHAR *name)
{
    for (int i = 0; i < samples->count; i++)
        if (!_wcsicmp(samples->items[i].name, name))
            return &samples->items[i];
    return NULL;
}

/* figure computes a counter's value for one instance. FALSE if it needs an earlier sample that is not there. */
static BOOL figure(const struct counter *counter, const struct sample *now, double *value)
{
    const struct sample *before = counter->have_before ? find_sample(&counter->before, now->name) : NULL;
    double divisor;

    switch (def_kind(counter->def))
    {
    case KIND_RAW: *value = now->value; return TRUE;
    case KIND_SHARE: *value = now->base > 0 ? 100 * now->value / now->base : 0; return TRUE;
    default: break;
    }
    if (!before)
        return FALSE;
    divisor = def_kind(counter->def) == KIND_RATE ? counter->now.seconds - counter->before.seconds : (now->base - before->base) / 100;
    *value = divisor > 0 && now->value > before->value ? (now->value - before->value) / divisor : 0;
    return TRUE;
}

static DWORD store(const struct counter *counter, const struct sample *now, DWORD format, PDH_FMT_COUNTERVALUE *out)
{
    double value = 0;

    out->CStatus = figure(counter, now, &value) ? PDH_CSTATUS_VALID_DATA : PDH_CSTATUS_INVALID_DATA;
    value *= counter->scale;
    if (format & PDH_FMT_DOUBLE)
        out->doubleValue = value;
    else if (format & PDH_FMT_LARGE)
        out->largeValue = (LONGLONG)value;
    else
        out->longValue = value > 2147483647.0 ? 2147483647 : (LONG)value;
    return out->CStatus;
}

static BOOL good_format(DWORD format)
{
    DWORD kind = format & (PDH_FMT_LONG | PDH_FMT_DOUBLE | PDH_FMT_LARGE);
    return kind == PDH_FMT_LONG || kind == PDH_FMT_DOUBLE || kind == PDH_FMT_LARGE;
}

PDH_STATUS WINAPI PdhGetFormattedCounterValue(PDH_HCOUNTER handle, DWORD format, LPDWORD type, PPDH_FMT_COUNTERVALUE value)
{
    struct counter *counter = as_counter(handle);
    PDH_STATUS status = ERROR_SUCCESS;

    if (!counter)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    if (!value || !good_format(format))
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    EnterCriticalSection(&counter->query->lock);
    if (!counter->have_now)
        status = (PDH_STATUS)PDH_NO_DATA;
    else if (!counter->now.count)
        status = (PDH_STATUS)PDH_CSTATUS_NO_INSTANCE;
    else if (store(counter, &counter->now.items[0], format, value))
        status = (PDH_STATUS)PDH_INVALID_DATA;
    if (type)
        *type = def_kind(counter->def) == KIND_RAW ? PERF_COUNTER_LARGE_RAWCOUNT : PERF_COUNTER_BULK_COUNT;
    LeaveCriticalSection(&counter->query->lock);
    return status;
}

/* The array is followed by the instances' names, all in the caller's buffer, as Windows lays it out. */
PDH_STATUS WINAPI PdhGetFormattedCounterArrayW(PDH_HCOUNTER handle, DWORD format, LPDWORD size, LPDWORD count, PPDH_FMT_COUNTERVALUE_ITEM_W items)
{
    struct counter *counter = as_counter(handle);
    PDH_STATUS status = ERROR_SUCCESS;
    size_t need = 0;
    WCHAR *name;

    if (!counter)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    if (!size || !count || !good_format(format))
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    EnterCriticalSection(&counter->query->lock);
    if (!counter->have_now)
        status = (PDH_STATUS)PDH_NO_DATA;
    else if (!counter->now.count)
        status = (PDH_STATUS)PDH_CSTATUS_NO_INSTANCE;
    for (int i = 0; i < counter->now.count; i++)
        need += sizeof(*items) + (wcslen(counter->now.items[i].name) + 1) * sizeof(WCHAR);
    if (!status && (!items || *size < need))
        status = (PDH_STATUS)PDH_MORE_DATA;
    if (!status)
    {
        name = (WCHAR *)(items + counter->now.count);
        for (int i = 0; i < counter->now.count; i++)
        {
            items[i].szName = name;
            wcscpy(name, counter->now.items[i].name);
            name += wcslen(name) + 1;
            if (store(counter, &counter->now.items[i], format, &items[i].FmtValue) && counter->now.count == 1)
                status = (PDH_STATUS)PDH_CSTATUS_INVALID_DATA;
        }
    }
    if (!status || status == (PDH_STATUS)PDH_MORE_DATA)
    {
        *size = (DWORD)need;
        *count = (DWORD)counter->now.count;
    }
    LeaveCriticalSection(&counter->query->lock);
    return status;
}

PDH_STATUS WINAPI PdhGetRawCounterValue(PDH_HCOUNTER handle, LPDWORD type, PPDH_RAW_COUNTER value)
{
    struct counter *counter = as_counter(handle);
    PDH_STATUS status = ERROR_SUCCESS;

    if (!counter)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    if (!value)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    EnterCriticalSection(&counter->query->lock);
    if (!counter->have_now || !counter->now.count)
    {
        status = (PDH_STATUS)PDH_NO_DATA;
    }
    else
    {
        value->CStatus = PDH_CSTATUS_VALID_DATA;
        GetSystemTimeAsFileTime(&value->TimeStamp);
        value->FirstValue = (LONGLONG)counter->now.items[0].value;
        value->SecondValue = (LONGLONG)counter->now.items[0].base;
        value->MultiCount = 1;
        if (type)
            *type = PERF_COUNTER_LARGE_RAWCOUNT;
    }
    LeaveCriticalSection(&counter->query->lock);
    return status;
}

PDH_STATUS WINAPI PdhSetCounterScaleFactor(PDH_HCOUNTER handle, LONG factor)
{
    struct counter *counter = as_counter(handle);

    if (!counter)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    if (factor < PDH_MIN_SCALE || factor > PDH_MAX_SCALE)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    counter->scale = 1;
    for (; factor > 0; factor--)
        counter->scale *= 10;
    for (; factor < 0; factor++)
        counter->scale /= 10;
    return ERROR_SUCCESS;
}

PDH_STATUS WINAPI PdhValidatePathW(LPCWSTR path)
{
    WCHAR instance[NAME_MAX_CHARS + 1];
    const struct counter_def *def;

    return lookup_path(path, instance, &def);
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
