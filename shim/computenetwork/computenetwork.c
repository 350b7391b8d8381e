/*
 * computenetwork.dll: the Host Compute Network functions, carried across to Mullion's HNS server. A handle is a small block
 * with the object's GUID; everything else is the server's.
 *
 * The functions are those of https://learn.microsoft.com/windows-server/networking/technologies/hcn/hcn-top.
 */
#include "hns_client.h"

#include <objbase.h>

#define HANDLE_MAGIC 0x4d484e31

struct handle
{
    DWORD magic;
    GUID id;
};

static const GUID *id_of(const void *handle)
{
    const struct handle *h = handle;

    return h && h->magic == HANDLE_MAGIC ? &h->id : NULL;
}

static HRESULT new_handle(const GUID *id, void **out)
{
    struct handle *h = HeapAlloc(GetProcessHeap(), 0, sizeof(*h));

    if (!h)
        return E_OUTOFMEMORY;
    h->magic = HANDLE_MAGIC;
    h->id = *id;
    *out = h;
    return S_OK;
}

static HRESULT close_handle(void *handle)
{
    struct handle *h = handle;

    if (!id_of(h))
        return E_HANDLE;
    h->magic = 0;
    HeapFree(GetProcessHeap(), 0, h);
    return S_OK;
}

/* Calls, hands the error record out or frees it, and drops an answer that nobody takes. */
static HRESULT finish(struct hns_call *call, WCHAR **answer, WCHAR **record)
{
    HRESULT result = hns_call(call);

    if (answer)
        *answer = call->answer;
    else
        CoTaskMemFree(call->answer);
    if (record)
        *record = call->record;
    else
        CoTaskMemFree(call->record);
    return result;
}

static HRESULT with_handle(struct hns_call *call, void **handle, WCHAR **record)
{
    HRESULT result;

    if (!handle)
        return E_POINTER;
    *handle = NULL;
    result = finish(call, NULL, record);
    return SUCCEEDED(result) ? new_handle(&call->id, handle) : result;
}

#define KIND(kind, enumerate)                                                                                        \
    HRESULT WINAPI Hcn##enumerate(const WCHAR *query, WCHAR **found, WCHAR **record)                                 \
    {                                                                                                                \
        struct hns_call call = {.function = "Hcn" #enumerate, .texts = 1, .text = {query}};                          \
        return found ? finish(&call, found, record) : E_POINTER;                                                     \
    }                                                                                                                \
    HRESULT WINAPI HcnOpen##kind(const GUID *id, void **handle, WCHAR **record)                                      \
    {                                                                                                                \
        struct hns_call call = {.function = "HcnOpen" #kind, .object = id};                                          \
        return id ? with_handle(&call, handle, record) : E_POINTER;                                                  \
    }                                                                                                                \
    HRESULT WINAPI HcnModify##kind(void *handle, const WCHAR *settings, WCHAR **record)                              \
    {                                                                                                                \
        struct hns_call call = {.function = "HcnModify" #kind, .object = id_of(handle), .texts = 1, .text = {settings}}; \
        return call.object ? finish(&call, NULL, record) : E_HANDLE;                                                 \
    }                                                                                                                \
    HRESULT WINAPI HcnQuery##kind##Properties(void *handle, const WCHAR *query, WCHAR **properties, WCHAR **record)  \
    {                                                                                                                \
        struct hns_call call = {                                                                                     \
            .function = "HcnQuery" #kind "Properties", .object = id_of(handle), .texts = 1, .text = {query}};        \
        if (!properties)                                                                                             \
            return E_POINTER;                                                                                        \
        return call.object ? finish(&call, properties, record) : E_HANDLE;                                           \
    }                                                                                                                \
    HRESULT WINAPI HcnDelete##kind(const GUID *id, WCHAR **record)                                                   \
    {                                                                                                                \
        struct hns_call call = {.function = "HcnDelete" #kind, .object = id};                                        \
        return id ? finish(&call, NULL, record) : E_POINTER;                                                         \
    }                                                                                                                \
    HRESULT WINAPI HcnClose##kind(void *handle) { return close_handle(handle); }

#define CREATE(kind)                                                                                                 \
    HRESULT WINAPI HcnCreate##kind(const GUID *id, const WCHAR *settings, void **handle, WCHAR **record)             \
    {                                                                                                                \
        struct hns_call call = {.function = "HcnCreate" #kind, .wanted = id, .texts = 1, .text = {settings}};        \
        return with_handle(&call, handle, record);                                                                   \
    }

KIND(Network, EnumerateNetworks)
KIND(Endpoint, EnumerateEndpoints)
KIND(Namespace, EnumerateNamespaces)
KIND(LoadBalancer, EnumerateLoadBalancers)
KIND(SdnRoute, EnumerateSdnRoutes)
CREATE(Network)
CREATE(Namespace)
CREATE(LoadBalancer)
CREATE(SdnRoute)

HRESULT WINAPI HcnCreateEndpoint(void *network, const GUID *id, const WCHAR *settings, void **handle, WCHAR **record)
{
    struct hns_call call = {
        .function = "HcnCreateEndpoint", .object = id_of(network), .wanted = id, .texts = 1, .text = {settings}};

    return call.object ? with_handle(&call, handle, record) : E_HANDLE;
}

HRESULT WINAPI HcnQueryEndpointStats(void *endpoint, const WCHAR *query, WCHAR **stats, WCHAR **record)
{
    struct hns_call call = {.function = "HcnQueryEndpointStats", .object = id_of(endpoint), .texts = 1, .text = {query}};

    if (!stats)
        return E_POINTER;
    return call.object ? finish(&call, stats, record) : E_HANDLE;
}

/* Exports of the real library that nothing which runs here needs: they say so. */
HRESULT WINAPI HcnRegisterServiceCallback(void *callback, void *context, void **handle)
{
    (void)callback, (void)context, (void)handle;
    return E_NOTIMPL;
}

HRESULT WINAPI HcnUnregisterServiceCallback(void *handle)
{
    (void)handle;
    return E_NOTIMPL;
}
