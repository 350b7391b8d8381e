/*
 * The description of events and of providers.
 *
 * No provider is installed: Windows' own write nothing here, and nobody registers manifests. What events of
 * TraceLogging say of themselves is read by our programs (guest/etw); the functions that would describe it to others
 * are refused.
 */
#include <windows.h>

#include <string.h>

#include <tdh.h>

/* Lists the installed providers: none. */
ULONG WINAPI TdhEnumerateProviders(PROVIDER_ENUMERATION_INFO *buffer, ULONG *size)
{
    const ULONG needed = FIELD_OFFSET(PROVIDER_ENUMERATION_INFO, TraceProviderInfoArray);

    if (!size || (*size && !buffer))
        return ERROR_INVALID_PARAMETER;
    if (*size < needed)
    {
        *size = needed;
        return ERROR_INSUFFICIENT_BUFFER;
    }
    *size = needed;
    memset(buffer, 0, needed);
    return ERROR_SUCCESS;
}

ULONG WINAPI tdh_not_supported(void)
{
    return ERROR_NOT_SUPPORTED;
}
