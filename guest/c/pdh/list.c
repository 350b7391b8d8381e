/* Lists: the objects, their counters and instances, and the paths that one with wild cards stands for. */
#include "query.h"

#include <stdlib.h>
#include <wchar.h>

/* A list of texts, each ended by a zero, which ends with another zero. It counts on when its buffer is full. */
struct list
{
    WCHAR *at;
    size_t room, used;
};

static void put(struct list *list, WCHAR c)
{
    if (list->at && list->used < list->room)
        list->at[list->used] = c;
    list->used++;
}

static void put_text(struct list *list, const WCHAR *text)
{
    while (*text)
        put(list, *text++);
}

static void put_item(struct list *list, const WCHAR *text)
{
    put_text(list, text);
    put(list, 0);
}

static struct list list_in(WCHAR *buffer, const DWORD *size)
{
    struct list list = {buffer, size ? *size : 0, 0};
    return list;
}

/* Ends a list and says how long it is. */
static PDH_STATUS end_list(struct list *list, DWORD *size)
{
    put(list, 0);
    if (!size)
        return ERROR_SUCCESS;
    *size = (DWORD)list->used;
    return list->at && list->used <= list->room ? ERROR_SUCCESS : (PDH_STATUS)PDH_MORE_DATA;
}

/* Only this machine can be asked; its name or none. */
static BOOL is_here(const WCHAR *machine)
{
    WCHAR own[MAX_COMPUTERNAME_LENGTH + 1];
    DWORD length = MAX_COMPUTERNAME_LENGTH + 1;

    if (!machine || !*machine)
        return TRUE;
    while (*machine == '\\')
        machine++;
    return pdh_same_name(machine, L"localhost") || pdh_same_name(machine, L".") ||
           (GetComputerNameW(own, &length) && pdh_same_name(machine, own));
}

PDH_STATUS WINAPI PdhEnumObjectsW(LPCWSTR source, LPCWSTR machine, LPWSTR objects, LPDWORD size, DWORD detail,
                                  WINBOOL refresh)
{
    struct list list = list_in(objects, size);
    const struct object_def *object;

    (void)detail;
    (void)refresh;
    if (!size)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    if (source)
        return (PDH_STATUS)PDH_NOT_IMPLEMENTED;
    if (!is_here(machine))
        return (PDH_STATUS)PDH_CSTATUS_NO_MACHINE;
    for (int i = 0; (object = pdh_object_at(i)); i++)
        put_item(&list, object->name);
    return end_list(&list, size);
}

PDH_STATUS WINAPI PdhEnumObjectItemsW(LPCWSTR source, LPCWSTR machine, LPCWSTR object, LPWSTR counters,
                                      LPDWORD counters_size, LPWSTR instances, LPDWORD instances_size, DWORD detail,
                                      DWORD flags)
{
    struct list names = list_in(counters, counters_size), rows = list_in(instances, instances_size);
    const struct object_def *found = object ? pdh_find_object(object) : NULL;
    const struct counter_def *def;
    struct table table;
    PDH_STATUS status;

    (void)detail;
    (void)flags;
    if (!object || !counters_size || !instances_size)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    if (source)
        return (PDH_STATUS)PDH_NOT_IMPLEMENTED;
    if (!is_here(machine))
        return (PDH_STATUS)PDH_CSTATUS_NO_MACHINE;
    if (!found)
        return (PDH_STATUS)PDH_CSTATUS_NO_OBJECT;
    for (int i = 0; (def = pdh_counter_at(i)); i++)
        if (def->object == found)
            put_item(&names, def->name);
    status = end_list(&names, counters_size);
    if (!found->instances)
    {
        *instances_size = 0;
        return status;
    }
    pdh_take_table(found->source, &table);
    for (int i = 0; i < table.count; i++)
        put_item(&rows, table.rows[i].name);
    free(table.rows);
    return end_list(&rows, instances_size) ? (PDH_STATUS)PDH_MORE_DATA : status;
}

static void put_path(struct list *list, const struct counter_def *def, const WCHAR *instance)
{
    put(list, '\\');
    put_text(list, def->object->name);
    if (instance)
    {
        put(list, '(');
        put_text(list, instance);
        put(list, ')');
    }
    put(list, '\\');
    put_item(list, def->name);
}

/* The paths of one counter, for each instance that the pattern stands for. */
static void put_paths(struct list *list, const struct counter_def *def, const WCHAR *pattern, const struct table *table,
                      DWORD flags)
{
    if (!def->object->instances)
    {
        put_path(list, def, NULL);
        return;
    }
    if (flags & PDH_NOEXPANDINSTANCES || !wcschr(pattern, '*'))
    {
        put_path(list, def, pattern);
        return;
    }
    for (int i = 0; i < table->count; i++)
        if (pdh_matches(pattern, table->rows[i].name))
            put_path(list, def, table->rows[i].name);
}

PDH_STATUS WINAPI PdhExpandWildCardPathW(LPCWSTR source, LPCWSTR path, LPWSTR paths, LPDWORD size, DWORD flags)
{
    WCHAR object[PATH_PART_CHARS], pattern[PATH_PART_CHARS], counter[PATH_PART_CHARS];
    struct list list = list_in(paths, size);
    const struct object_def *found;
    const struct counter_def *def;
    BOOL known = FALSE;
    struct table table;

    if (!path || !size)
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    if (source)
        return (PDH_STATUS)PDH_NOT_IMPLEMENTED;
    if (pdh_parse_path(path, object, pattern, counter))
        return (PDH_STATUS)PDH_INVALID_PATH;
    if (!(found = pdh_find_object(object)))
        return (PDH_STATUS)PDH_CSTATUS_NO_OBJECT;
    pdh_take_table(found->source, &table);
    for (int i = 0; (def = pdh_counter_at(i)); i++)
    {
        if (def->object != found ||
            !(flags & PDH_NOEXPANDCOUNTERS ? pdh_same_name(counter, def->name) : pdh_matches(counter, def->name)))
            continue;
        known = TRUE;
        put_paths(&list, def, pattern, &table, flags);
    }
    free(table.rows);
    if (!list.used)
        return (PDH_STATUS)(known ? PDH_CSTATUS_NO_INSTANCE : PDH_CSTATUS_NO_COUNTER);
    return end_list(&list, size);
}
