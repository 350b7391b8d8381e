/*
 * The network's adapters, in Wine 10.0.
 *
 * Fact: its GetAdaptersAddresses ends with ERROR_INVALID_DATA if it is asked for prefixes (GAA_FLAG_INCLUDE_PREFIX) and
 * the kernel has a route to ::/0 that has no gateway. Linux has one in each network namespace: the route that refuses
 * packets without any other route. Wine 8.0 reads no routes of IPv6, and later versions leave out routes that are not
 * up. Go's package net asks for prefixes and reads none.
 */
#include "winsock.h"

#include <iphlpapi.h>

#include "patch.h"

static ULONG(WINAPI *original_adapters)(ULONG, ULONG, void *, IP_ADAPTER_ADDRESSES *, ULONG *);

static ULONG WINAPI hook_GetAdaptersAddresses(ULONG family, ULONG flags, void *reserved, IP_ADAPTER_ADDRESSES *adapters, ULONG *size)
{
    ULONG error = original_adapters(family, flags, reserved, adapters, size);

    if (error == ERROR_INVALID_DATA && (flags & GAA_FLAG_INCLUDE_PREFIX))
        error = original_adapters(family, flags & ~(ULONG)GAA_FLAG_INCLUDE_PREFIX, reserved, adapters, size);
    return error;
}

void adapters_start(HMODULE iphlpapi)
{
    if (!original_adapters)
        patch_function(iphlpapi, "GetAdaptersAddresses", hook_GetAdaptersAddresses, (void **)&original_adapters);
}
