/*
 * The time zone: NtQuerySystemInformation, which GetTimeZoneInformation, GetDynamicTimeZoneInformation, GetLocalTime
 * and their like ask.
 *
 * Fact (Wine 8.0): it answers by Linux' zone, for which it takes the first of Windows' zones that fits, "Greenwich
 * Standard Time" for UTC. On Windows the zone is what HKLM\System\CurrentControlSet\Control\TimeZoneInformation says,
 * which a container has of its own; so it is here. Who sets the zone (tzutil) writes there what it means;
 * ActiveTimeBias is that of the moment. Each process of Wine writes Linux' zone into two of the key's values as it
 * begins, so these have a second name, and are written again.
 */
#include <string.h>

#include "hooks.h"
#include "timezone.h"

#define NAME L"MullionKeyName"
#define STANDARD L"MullionStandardName"
#define KEY L"\\Registry\\Machine\\System\\CurrentControlSet\\Control\\TimeZoneInformation"

#define SECOND 10000000 /* in 100 ns */

enum
{
    TIME_OF_DAY = 3,    /* SystemTimeOfDayInformation */
    CURRENT_ZONE = 44,  /* SystemCurrentTimeZoneInformation */
    DYNAMIC_ZONE = 102, /* SystemDynamicTimeZoneInformation */
    VALUE_PARTIAL = 2   /* KeyValuePartialInformation */
};

struct time_of_day
{
    LARGE_INTEGER boot, now, bias; /* bias: to be added for UTC, in 100 ns */
};

/* RTL_DYNAMIC_TIME_ZONE_INFORMATION; RTL_TIME_ZONE_INFORMATION ends before the name. */
struct zone
{
    LONG bias;
    WCHAR standard[32];
    USHORT standard_begins[8]; /* TIME_FIELDS, as in the registry */
    LONG standard_bias;
    WCHAR daylight[32];
    USHORT daylight_begins[8];
    LONG daylight_bias;
    WCHAR name[128];
    BOOLEAN no_daylight;
};

NTSTATUS NTAPI NtOpenKey(HANDLE *key, ACCESS_MASK access, OBJECT_ATTRIBUTES *attributes);
NTSTATUS NTAPI NtSetValueKey(HANDLE key, UNICODE_STRING *name, ULONG index, ULONG type, const void *data, ULONG size);
NTSTATUS NTAPI NtQueryValueKey(HANDLE key, UNICODE_STRING *name, ULONG class, void *information, ULONG size,
                               ULONG *length);

static HANDLE opened; /* the key; programs ask for the time often */

static HANDLE open_key(void)
{
    static WCHAR path[] = KEY;
    UNICODE_STRING name = {sizeof(path) - sizeof(WCHAR), sizeof(path), path};
    OBJECT_ATTRIBUTES attributes = {
        .Length = sizeof(attributes), .ObjectName = &name, .Attributes = OBJ_CASE_INSENSITIVE};
    HANDLE key = __atomic_load_n(&opened, __ATOMIC_ACQUIRE), none = NULL;

    if (key || NtOpenKey(&key, KEY_QUERY_VALUE | KEY_SET_VALUE, &attributes))
        return key;
    if (!__atomic_compare_exchange_n(&opened, &none, key, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    {
        NtClose(key);
        key = none;
    }
    return key;
}

/* Reads a value of at most size bytes; what it lacks is zero. */
static BOOL value(HANDLE key, const WCHAR *text, void *data, ULONG size)
{
    struct
    {
        ULONG index, type, length;
        BYTE data[sizeof(((struct zone *)0)->name)];
    } found;
    UNICODE_STRING name = {(USHORT)(lstrlenW(text) * sizeof(WCHAR)), (USHORT)(lstrlenW(text) * sizeof(WCHAR)),
                           (WCHAR *)text};
    ULONG length;

    memset(data, 0, size);
    if (NtQueryValueKey(key, &name, VALUE_PARTIAL, &found, sizeof(found), &length) || found.length > size)
        return FALSE;
    memcpy(data, found.data, found.length);
    return TRUE;
}

static BOOL read_zone(struct zone *zone)
{
    HANDLE key = open_key();
    LONG off = 0;

    if (!key || !value(key, NAME, zone->name, sizeof(zone->name) - sizeof(WCHAR)) ||
        !value(key, L"Bias", &zone->bias, sizeof(zone->bias)))
        return FALSE;
    value(key, STANDARD, zone->standard, sizeof(zone->standard) - sizeof(WCHAR));
    value(key, L"StandardStart", zone->standard_begins, sizeof(zone->standard_begins));
    value(key, L"StandardBias", &zone->standard_bias, sizeof(zone->standard_bias));
    value(key, L"DaylightName", zone->daylight, sizeof(zone->daylight) - sizeof(WCHAR));
    value(key, L"DaylightStart", zone->daylight_begins, sizeof(zone->daylight_begins));
    value(key, L"DaylightBias", &zone->daylight_bias, sizeof(zone->daylight_bias));
    value(key, L"DynamicDaylightTimeDisabled", &off, sizeof(off));
    zone->no_daylight = off != 0;
    return TRUE;
}

BOOL timezone_answer(ULONG class, void *information, ULONG size, ULONG *returned)
{
    ULONG length = class == CURRENT_ZONE ? FIELD_OFFSET(struct zone, name) : sizeof(struct zone);
    struct zone zone = {0};

    if ((class != CURRENT_ZONE && class != DYNAMIC_ZONE) || !information || size < length || !read_zone(&zone))
        return FALSE;
    memcpy(information, &zone, length);
    if (returned)
        *returned = length;
    return TRUE;
}

void timezone_correct(ULONG class, void *information, ULONG size)
{
    struct time_of_day *now = information;
    HANDLE key;
    LONG bias;

    if (class == TIME_OF_DAY &&
        size >= FIELD_OFFSET(
                    struct time_of_day,
                    bias)) /* Wine says when its server has started; this is the second that GetTickCount64 means */
        now->boot.QuadPart = (now->now.QuadPart - (LONGLONG)GetTickCount64() * 10000) / SECOND * SECOND;
    if (class == TIME_OF_DAY && size >= sizeof(*now) && (key = open_key()) &&
        value(key, L"ActiveTimeBias", &bias, sizeof(bias)))
        now->bias.QuadPart = (LONGLONG)bias * 60 * SECOND;
}

static void write_again(HANDLE key, const WCHAR *from, const WCHAR *to)
{
    UNICODE_STRING name = {(USHORT)(lstrlenW(to) * sizeof(WCHAR)), (USHORT)(lstrlenW(to) * sizeof(WCHAR)), (WCHAR *)to};
    WCHAR want[128] = {0}, is[128] = {0};

    if (value(key, from, want, sizeof(want) - sizeof(WCHAR)) &&
        (!value(key, to, is, sizeof(is) - sizeof(WCHAR)) || lstrcmpW(want, is)))
        NtSetValueKey(key, &name, 0, REG_SZ, want, (ULONG)(lstrlenW(want) + 1) * sizeof(WCHAR));
}

void timezone_start(void)
{
    HANDLE key = open_key();

    if (!key)
        return;
    write_again(key, NAME, L"TimeZoneKeyName");
    write_again(key, STANDARD, L"StandardName");
}
