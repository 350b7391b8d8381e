/* The values of a query's counters, raw and formatted, and what is known of a counter. */
#include "query.h"

#include <string.h>
#include <wchar.h>

static const struct row *find_row(const struct table *table, const WCHAR *name)
{
    for (int i = 0; i < table->count; i++)
        if (pdh_same_name(table->rows[i].name, name))
            return &table->rows[i];
    return NULL;
}

static double scaled(double value, LONG scale)
{
    for (; scale > 0; scale--)
        value *= 10;
    for (; scale < 0; scale++)
        value /= 10;
    return value;
}

static BOOL good_format(DWORD format)
{
    DWORD kind = format & (PDH_FMT_LONG | PDH_FMT_DOUBLE | PDH_FMT_LARGE);
    return kind == PDH_FMT_LONG || kind == PDH_FMT_DOUBLE || kind == PDH_FMT_LARGE;
}

/* Writes the figure that follows from two raw values; returns its status. */
static DWORD format_figure(const struct counter *counter, const struct raw *now, const struct raw *before, DWORD format,
                           PDH_FMT_COUNTERVALUE *out)
{
    double value = 0;

    out->CStatus = pdh_figure(counter->def->type, now, before, !(format & PDH_FMT_NOCAP100), &value)
                       ? PDH_CSTATUS_VALID_DATA
                       : PDH_CSTATUS_INVALID_DATA;
    value = scaled(value, format & PDH_FMT_NOSCALE ? 0 : counter->scale);
    if (format & PDH_FMT_1000)
        value *= 1000;
    if (format & PDH_FMT_DOUBLE)
        out->doubleValue = value;
    else if (format & PDH_FMT_LARGE)
        out->largeValue = (LONGLONG)value;
    else
        out->longValue = value > 2147483647.0 ? 2147483647 : (LONG)value;
    return out->CStatus;
}

static DWORD format_row(const struct counter *counter, const struct row *row, DWORD format, PDH_FMT_COUNTERVALUE *out)
{
    const struct table *now = &counter->query->now[counter->def->object->source];
    const struct table *before = &counter->query->before[counter->def->object->source];
    const struct row *earlier = before->taken ? find_row(before, row->name) : NULL;
    struct raw first = pdh_raw_of(counter->def, now, row), second = {FALSE, 0, 0};

    if (earlier)
        second = pdh_raw_of(counter->def, before, earlier);
    return format_figure(counter, &first, &second, format, out);
}

static void raw_row(const struct counter *counter, const struct row *row, PDH_RAW_COUNTER *out)
{
    const struct table *now = &counter->query->now[counter->def->object->source];
    struct raw raw = pdh_raw_of(counter->def, now, row);
    FILETIME date = {(DWORD)now->date, (DWORD)(now->date >> 32)};

    memset(out, 0, sizeof(*out));
    out->CStatus = raw.valid ? PDH_CSTATUS_VALID_DATA : PDH_CSTATUS_INVALID_DATA;
    FileTimeToLocalFileTime(&date, &out->TimeStamp);
    out->FirstValue = raw.first;
    out->SecondValue = raw.second;
    out->MultiCount = 1;
}

/* The first row of a counter; a status if there is none. */
static PDH_STATUS first_row(const struct counter *counter, const struct row **row)
{
    const struct table *now = &counter->query->now[counter->def->object->source];
    int at = 0;

    if (!now->taken)
        return (PDH_STATUS)PDH_NO_DATA;
    *row = pdh_next_row(counter, now, &at);
    return *row ? ERROR_SUCCESS : (PDH_STATUS)PDH_CSTATUS_NO_INSTANCE;
}

PDH_STATUS WINAPI PdhGetFormattedCounterValue(PDH_HCOUNTER handle, DWORD format, LPDWORD type,
                                              PPDH_FMT_COUNTERVALUE value)
{
    struct counter *counter = pdh_counter_of(handle);
    const struct row *row;
    PDH_STATUS status;

    if (!counter)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    if (!value || !good_format(format))
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    EnterCriticalSection(&counter->query->lock);
    status = first_row(counter, &row);
    if (!status && format_row(counter, row, format, value))
        status = (PDH_STATUS)PDH_INVALID_DATA;
    LeaveCriticalSection(&counter->query->lock);
    if (type)
        *type = counter->def->type;
    return status;
}

PDH_STATUS WINAPI PdhGetRawCounterValue(PDH_HCOUNTER handle, LPDWORD type, PPDH_RAW_COUNTER value)
{
    struct counter *counter = pdh_counter_of(handle);
    const struct row *row;
    PDH_STATUS status;

    if (!counter)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    if (!value)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    EnterCriticalSection(&counter->query->lock);
    status = first_row(counter, &row);
    if (!status)
        raw_row(counter, row, value);
    LeaveCriticalSection(&counter->query->lock);
    if (type)
        *type = counter->def->type;
    return status;
}

/*
 * An array of all instances, which is followed by their names, all in the caller's buffer, as Windows lays it out. The
 * status is PDH_MORE_DATA if the buffer is too small. store writes the i-th item.
 */
struct array
{
    const struct counter *counter;
    char *items;
    size_t item_size;
    DWORD format;
    void (*store)(const struct array *array, int i, const struct row *row, WCHAR *name);
};

static void store_formatted(const struct array *array, int i, const struct row *row, WCHAR *name)
{
    PDH_FMT_COUNTERVALUE_ITEM_W *item = (PDH_FMT_COUNTERVALUE_ITEM_W *)array->items + i;

    item->szName = name;
    format_row(array->counter, row, array->format, &item->FmtValue);
}

static void store_raw(const struct array *array, int i, const struct row *row, WCHAR *name)
{
    PDH_RAW_COUNTER_ITEM_W *item = (PDH_RAW_COUNTER_ITEM_W *)array->items + i;

    item->szName = name;
    raw_row(array->counter, row, &item->RawValue);
}

static PDH_STATUS fill_array(const struct array *array, LPDWORD size, LPDWORD count)
{
    const struct table *now = &array->counter->query->now[array->counter->def->object->source];
    size_t need = 0, rows = 0;
    const struct row *row;
    WCHAR *name;
    int at = 0;

    if (!now->taken)
        return (PDH_STATUS)PDH_NO_DATA;
    for (; (row = pdh_next_row(array->counter, now, &at)); rows++)
        need += array->item_size + (wcslen(row->name) + 1) * sizeof(WCHAR);
    *count = (DWORD)rows;
    if (!rows)
        return (PDH_STATUS)PDH_CSTATUS_NO_INSTANCE;
    if (!array->items || *size < need)
    {
        *size = (DWORD)need;
        return (PDH_STATUS)PDH_MORE_DATA;
    }
    *size = (DWORD)need;
    name = (WCHAR *)(array->items + rows * array->item_size);
    at = 0;
    for (int i = 0; (row = pdh_next_row(array->counter, now, &at)); i++)
    {
        array->store(array, i, row, wcscpy(name, row->name));
        name += wcslen(name) + 1;
    }
    return ERROR_SUCCESS;
}

PDH_STATUS WINAPI PdhGetFormattedCounterArrayW(PDH_HCOUNTER handle, DWORD format, LPDWORD size, LPDWORD count,
                                               PPDH_FMT_COUNTERVALUE_ITEM_W items)
{
    struct counter *counter = pdh_counter_of(handle);
    struct array array = {counter, (char *)items, sizeof(*items), format, store_formatted};
    PDH_STATUS status;

    if (!counter)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    if (!size || !count || !good_format(format))
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    EnterCriticalSection(&counter->query->lock);
    status = fill_array(&array, size, count);
    if (!status && *count == 1 && items[0].FmtValue.CStatus)
        status = (PDH_STATUS)PDH_CSTATUS_INVALID_DATA;
    LeaveCriticalSection(&counter->query->lock);
    return status;
}

/* An instance whose raw value is not known is in the array, with the status PDH_CSTATUS_INVALID_DATA. */
PDH_STATUS WINAPI PdhGetRawCounterArrayW(PDH_HCOUNTER handle, LPDWORD size, LPDWORD count,
                                         PPDH_RAW_COUNTER_ITEM_W items)
{
    struct counter *counter = pdh_counter_of(handle);
    struct array array = {counter, (char *)items, sizeof(*items), 0, store_raw};
    PDH_STATUS status;

    if (!counter)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    if (!size || !count)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    EnterCriticalSection(&counter->query->lock);
    status = fill_array(&array, size, count);
    LeaveCriticalSection(&counter->query->lock);
    return status;
}

static struct raw from_raw(const PDH_RAW_COUNTER *value)
{
    struct raw raw = {FALSE, 0, 0};

    if (value)
    {
        raw.valid = value->CStatus == PDH_CSTATUS_VALID_DATA || value->CStatus == PDH_CSTATUS_NEW_DATA;
        raw.first = value->FirstValue;
        raw.second = value->SecondValue;
    }
    return raw;
}

PDH_STATUS WINAPI PdhCalculateCounterFromRawValue(PDH_HCOUNTER handle, DWORD format, PPDH_RAW_COUNTER now,
                                                  PPDH_RAW_COUNTER before, PPDH_FMT_COUNTERVALUE value)
{
    struct counter *counter = pdh_counter_of(handle);
    struct raw first, second;

    if (!counter)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    if (!now || !value || !good_format(format))
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    first = from_raw(now);
    second = from_raw(before);
    return format_figure(counter, &first, &second, format, value) ? (PDH_STATUS)PDH_INVALID_DATA : ERROR_SUCCESS;
}

PDH_STATUS WINAPI PdhSetCounterScaleFactor(PDH_HCOUNTER handle, LONG factor)
{
    struct counter *counter = pdh_counter_of(handle);

    if (!counter)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    if (factor < PDH_MIN_SCALE || factor > PDH_MAX_SCALE)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    counter->scale = factor;
    return ERROR_SUCCESS;
}

PDH_STATUS WINAPI PdhGetCounterTimeBase(PDH_HCOUNTER handle, LONGLONG *base)
{
    if (!pdh_counter_of(handle))
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    if (!base)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    *base = TIME_BASE;
    return ERROR_SUCCESS;
}

/* Appends a text to the strings behind a structure, and says where; NULL stays NULL. */
static WCHAR *append(WCHAR **end, const WCHAR *text)
{
    WCHAR *at = *end;

    if (!text)
        return NULL;
    wcscpy(at, text);
    *end += wcslen(text) + 1;
    return at;
}

static size_t room_for(const WCHAR *text)
{
    return text ? (wcslen(text) + 1) * sizeof(WCHAR) : 0;
}

/*
 * There are no help texts, and no parents of instances; the path has the name of the machine only if the program named
 * one.
 */
PDH_STATUS WINAPI PdhGetCounterInfoW(PDH_HCOUNTER handle, BOOLEAN explain, LPDWORD size, PPDH_COUNTER_INFO_W info)
{
    struct counter *counter = pdh_counter_of(handle);
    const WCHAR *instance;
    WCHAR *end;
    size_t need;

    (void)explain;
    if (!counter)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    if (!size)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    instance = counter->def->object->instances ? counter->pattern : NULL;
    need = sizeof(*info) + room_for(counter->path) + room_for(counter->def->object->name) + room_for(instance) +
           room_for(counter->def->name);
    if (!info || *size < need)
    {
        *size = (DWORD)need;
        return (PDH_STATUS)PDH_MORE_DATA;
    }
    *size = (DWORD)need;
    memset(info, 0, sizeof(*info));
    end = (WCHAR *)(info + 1);
    info->dwLength = (DWORD)need;
    info->dwType = counter->def->type;
    info->lScale = counter->scale;
    info->dwUserData = counter->user;
    info->dwQueryUserData = counter->query->user;
    info->szFullPath = append(&end, counter->path);
    info->szObjectName = append(&end, counter->def->object->name);
    info->szInstanceName = append(&end, instance);
    info->szCounterName = append(&end, counter->def->name);
    return ERROR_SUCCESS;
}
