/*
 * The network's adapters: their names (adaptername.c), and listing them with Wine 10.0.
 *
 * Fact: its GetAdaptersAddresses ends with ERROR_INVALID_DATA if it is asked for prefixes (GAA_FLAG_INCLUDE_PREFIX) and
 * the kernel has a route to ::/0 that has no gateway. Linux has one in each network namespace: the route that refuses
 * packets without any other route. Wine 8.0 reads no routes of IPv6, and later versions leave out routes that are not
 * up. Go's package net asks for prefixes and reads none.
 */
#include "winsock.h"

#include <ws2ipdef.h>

#include <iphlpapi.h>
#include <netioapi.h>

#include "adaptername.h"
#include "patch.h"

/* The end of a caller's buffer has names; adapters beyond those that have room keep Linux' names. */
enum
{
    NAMED = 4
};

struct named
{
    WCHAR name[ADAPTER_NAME_ROOM];
    WCHAR description[sizeof(VIRTUAL_ADAPTER) / sizeof(WCHAR)];
};

static ULONG(WINAPI *original_adapters)(ULONG, ULONG, void *, IP_ADAPTER_ADDRESSES *, ULONG *);
static DWORD(WINAPI *original_table)(MIB_IF_TABLE_LEVEL, MIB_IF_TABLE2 **);
static DWORD(WINAPI *original_entry)(MIB_IF_TABLE_LEVEL, MIB_IF_ROW2 *);
static DWORD(WINAPI *original_to_luid)(const WCHAR *, NET_LUID *);
static DWORD(WINAPI *luid_to_index)(const NET_LUID *, NET_IFINDEX *);
static void(WINAPI *free_table)(void *);
static DWORD(WINAPI *original_to_alias)(const NET_LUID *, WCHAR *, SIZE_T);

static ULONG list(ULONG family, ULONG flags, void *reserved, IP_ADAPTER_ADDRESSES *adapters, ULONG *size)
{
    ULONG error = original_adapters(family, flags, reserved, adapters, size);

    if (error == ERROR_INVALID_DATA && (flags & GAA_FLAG_INCLUDE_PREFIX))
        error = original_adapters(family, flags & ~(ULONG)GAA_FLAG_INCLUDE_PREFIX, reserved, adapters, size);
    return error;
}

/* An adapter that says that it has no DHCP has no addresses of DHCP: Wine says so of all. */
static void tell_origin(IP_ADAPTER_ADDRESSES *adapter)
{
    for (; adapter; adapter = adapter->Next)
        for (IP_ADAPTER_UNICAST_ADDRESS *a = adapter->FirstUnicastAddress; a; a = a->Next)
            if (!(adapter->Flags & IP_ADAPTER_DHCP_ENABLED) && a->PrefixOrigin == IpPrefixOriginDhcp)
            {
                a->PrefixOrigin = IpPrefixOriginManual;
                a->SuffixOrigin = IpSuffixOriginManual;
            }
}

static void name_adapters(IP_ADAPTER_ADDRESSES *adapter, struct named *names)
{
    int used = 0;

    for (; adapter && used < NAMED; adapter = adapter->Next)
    {
        struct named *n = &names[used];

        if (!adapter_name(adapter->IfIndex ? adapter->IfIndex : adapter->Ipv6IfIndex, n->name))
            continue;
        used++;
        if (adapter->FriendlyName) /* it may not have been asked for */
            adapter->FriendlyName = n->name;
        if (adapter_is_virtual(n->name))
        {
            memcpy(n->description, VIRTUAL_ADAPTER, sizeof(n->description));
            adapter->Description = n->description;
        }
    }
}

static ULONG WINAPI hook_GetAdaptersAddresses(ULONG family, ULONG flags, void *reserved, IP_ADAPTER_ADDRESSES *adapters,
                                              ULONG *size)
{
    const ULONG room = (NAMED + 1) * sizeof(struct named); /* one more: the end need not be even */
    ULONG inner, error;

    if (!size)
        return list(family, flags, reserved, adapters, size);
    inner = adapters && *size > room ? *size - room : 0;
    error = list(family, flags, reserved, inner ? adapters : NULL, &inner);
    if (error == ERROR_BUFFER_OVERFLOW)
        *size = inner + room;
    if (error == NO_ERROR && adapters)
    {
        ULONG_PTR end = ((ULONG_PTR)adapters + *size) & ~(ULONG_PTR)1;

        name_adapters(adapters, (struct named *)end - NAMED);
        tell_origin(adapters);
    }
    return error;
}

static void name_row(MIB_IF_ROW2 *row)
{
    WCHAR name[ADAPTER_NAME_ROOM];

    if (!adapter_name(row->InterfaceIndex, name))
        return;
    memcpy(row->Alias, name, sizeof(name));
    if (adapter_is_virtual(name))
        memcpy(row->Description, VIRTUAL_ADAPTER, sizeof(VIRTUAL_ADAPTER));
}

/* GetIfTable2 is this one too. */
static DWORD WINAPI hook_GetIfTable2Ex(MIB_IF_TABLE_LEVEL level, MIB_IF_TABLE2 **table)
{
    DWORD error = original_table(level, table);

    for (ULONG i = 0; error == NO_ERROR && i < (*table)->NumEntries; i++)
        name_row(&(*table)->Table[i]);
    return error;
}

/* GetIfEntry2 is this one too. */
static DWORD WINAPI hook_GetIfEntry2Ex(MIB_IF_TABLE_LEVEL level, MIB_IF_ROW2 *row)
{
    DWORD error = original_entry(level, row);

    if (error == NO_ERROR)
        name_row(row);
    return error;
}

static DWORD WINAPI hook_ConvertInterfaceLuidToAlias(const NET_LUID *luid, WCHAR *alias, SIZE_T room)
{
    DWORD error = original_to_alias(luid, alias, room);
    WCHAR name[ADAPTER_NAME_ROOM];
    NET_IFINDEX index;

    if (error != NO_ERROR || luid_to_index(luid, &index) != NO_ERROR || !adapter_name(index, name))
        return error;
    if ((SIZE_T)lstrlenW(name) >= room)
        return ERROR_NOT_ENOUGH_MEMORY;
    memcpy(alias, name, (lstrlenW(name) + 1u) * sizeof(WCHAR));
    return NO_ERROR;
}

static DWORD WINAPI hook_ConvertInterfaceAliasToLuid(const WCHAR *alias, NET_LUID *luid)
{
    MIB_IF_TABLE2 *table;
    DWORD error = original_to_luid(alias, luid);

    if (error == NO_ERROR || !alias || !luid || hook_GetIfTable2Ex(MibIfTableNormal, &table) != NO_ERROR)
        return error;
    for (ULONG i = 0; error != NO_ERROR && i < table->NumEntries; i++)
        if (!lstrcmpiW(table->Table[i].Alias, alias))
        {
            *luid = table->Table[i].InterfaceLuid;
            error = NO_ERROR;
        }
    free_table(table);
    return error;
}

void adapters_start(HMODULE iphlpapi)
{
    if (original_adapters)
        return;
    luid_to_index = (void *)GetProcAddress(iphlpapi, "ConvertInterfaceLuidToIndex");
    free_table = (void *)GetProcAddress(iphlpapi, "FreeMibTable");
    patch_function(iphlpapi, "GetAdaptersAddresses", hook_GetAdaptersAddresses, (void **)&original_adapters);
    patch_function(iphlpapi, "GetIfTable2Ex", hook_GetIfTable2Ex, (void **)&original_table);
    patch_function(iphlpapi, "GetIfEntry2Ex", hook_GetIfEntry2Ex, (void **)&original_entry);
    patch_function(iphlpapi, "ConvertInterfaceLuidToAlias", hook_ConvertInterfaceLuidToAlias,
                   (void **)&original_to_alias);
    patch_function(iphlpapi, "ConvertInterfaceAliasToLuid", hook_ConvertInterfaceAliasToLuid,
                   (void **)&original_to_luid);
}
