/*
 * What is not there: the store of certificates and reservations (netsh http), and the cache of responses. Nobody has to
 * reserve a URL: every account may listen.
 */
#include "httpapi.h"

ULONG WINAPI HttpSetServiceConfiguration(HANDLE handle, HTTP_SERVICE_CONFIG_ID id, void *information, ULONG length,
                                         OVERLAPPED *overlapped)
{
    (void)handle;
    (void)id;
    (void)information;
    (void)length;
    (void)overlapped;
    return ERROR_NOT_SUPPORTED;
}

ULONG WINAPI HttpDeleteServiceConfiguration(HANDLE handle, HTTP_SERVICE_CONFIG_ID id, void *information, ULONG length,
                                            OVERLAPPED *overlapped)
{
    (void)handle;
    (void)id;
    (void)information;
    (void)length;
    (void)overlapped;
    return ERROR_FILE_NOT_FOUND;
}

/* There are none. */
ULONG WINAPI HttpQueryServiceConfiguration(HANDLE handle, HTTP_SERVICE_CONFIG_ID id, void *query, ULONG query_length,
                                           void *information, ULONG length, ULONG *needed, OVERLAPPED *overlapped)
{
    (void)handle;
    (void)id;
    (void)information;
    (void)length;
    (void)needed;
    (void)overlapped;
    if (query && query_length >= sizeof(HTTP_SERVICE_CONFIG_QUERY_TYPE) &&
        *(HTTP_SERVICE_CONFIG_QUERY_TYPE *)query == HttpServiceConfigQueryNext)
        return ERROR_NO_MORE_ITEMS;
    return ERROR_FILE_NOT_FOUND;
}

ULONG WINAPI HttpFlushResponseCache(HANDLE queue, const WCHAR *url, ULONG flags, OVERLAPPED *overlapped)
{
    (void)queue;
    (void)url;
    (void)flags;
    (void)overlapped;
    return ERROR_SUCCESS; /* it is empty */
}

ULONG WINAPI HttpAddFragmentToCache(HANDLE queue, const WCHAR *url, HTTP_DATA_CHUNK *chunk, HTTP_CACHE_POLICY *policy,
                                    OVERLAPPED *overlapped)
{
    (void)queue;
    (void)url;
    (void)chunk;
    (void)policy;
    (void)overlapped;
    return ERROR_NOT_SUPPORTED;
}

ULONG WINAPI HttpReadFragmentFromCache(HANDLE queue, const WCHAR *url, HTTP_BYTE_RANGE *range, void *buffer,
                                       ULONG length, ULONG *read, OVERLAPPED *overlapped)
{
    (void)queue;
    (void)url;
    (void)range;
    (void)buffer;
    (void)length;
    (void)read;
    (void)overlapped;
    return ERROR_FILE_NOT_FOUND;
}
