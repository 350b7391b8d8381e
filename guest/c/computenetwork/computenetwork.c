/*
 * computenetwork.dll: the Host Compute Network functions, which call Mullion's HNS server. A handle is a small block
 * with the object's GUID; everything else is in the server.
 *
 * The functions are those of https://learn.microsoft.com/windows-server/networking/technologies/hcn/hcn-top.
 */
#include "computenetwork.h"

#include <objbase.h>

#define HANDLE_MAGIC 0x4d484e31

struct handle
{
    DWORD magic;
    GUID id;
};

const GUID *hcn_id_of(const void *handle)
{
    const struct handle *h = handle;

    return h && h->magic == HANDLE_MAGIC ? &h->id : NULL;
}

HRESULT hcn_handle_new(const GUID *id, void **out)
{
    struct handle *h = HeapAlloc(GetProcessHeap(), 0, sizeof(*h));

    if (!h)
        return E_OUTOFMEMORY;
    h->magic = HANDLE_MAGIC;
    h->id = *id;
    *out = h;
    return S_OK;
}

HRESULT hcn_handle_close(void *handle)
{
    struct handle *h = handle;

    if (!hcn_id_of(h))
        return E_HANDLE;
    h->magic = 0;
    HeapFree(GetProcessHeap(), 0, h);
    return S_OK;
}

/* Carries out the call, returns the error record or frees it, and frees an answer that the caller does not want. */
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
    return SUCCEEDED(result) ? hcn_handle_new(&call->id, handle) : result;
}

/* Opens an object without a call if a valid copy shows that it exists. */
static HRESULT open_handle(struct hns_call *call, void **handle, WCHAR **record)
{
    if (!call->object || !handle)
        return E_POINTER;
    if (!copies_find(call->names, call->object, NULL))
        return with_handle(call, handle, record);
    if (record)
        *record = NULL;
    *handle = NULL;
    return hcn_handle_new(call->object, handle);
}

/* Answers from a valid copy without a call. HNS' answer is the same whatever the query says. */
static HRESULT query(struct hns_call *call, WCHAR **properties, WCHAR **record)
{
    if (!properties)
        return E_POINTER;
    if (!call->object)
        return E_HANDLE;
    if (!copies_find(call->names, call->object, properties))
        return finish(call, properties, record);
    if (record)
        *record = NULL;
    return S_OK;
}

/* HcnOpen… of a guest network service always calls the server: copies_find has no copies of COPIES_NONE. */
#define KIND(kind, enumerate, copies) \
    HRESULT WINAPI Hcn##enumerate(const WCHAR *query, WCHAR **found, WCHAR **record) \
    { \
        struct hns_call call = {.function = "Hcn" #enumerate, .texts = 1, .text = {query}, .names = copies}; \
        return found ? finish(&call, found, record) : E_POINTER; \
    } \
    HRESULT WINAPI HcnOpen##kind(const GUID *id, void **handle, WCHAR **record) \
    { \
        struct hns_call call = {.function = "HcnOpen" #kind, .object = id, .names = copies}; \
        return open_handle(&call, handle, record); \
    } \
    HRESULT WINAPI HcnModify##kind(void *handle, const WCHAR *settings, WCHAR **record) \
    { \
        struct hns_call call = { \
            .function = "HcnModify" #kind, .object = hcn_id_of(handle), .texts = 1, .text = {settings}}; \
        return call.object ? finish(&call, NULL, record) : E_HANDLE; \
    } \
    HRESULT WINAPI HcnQuery##kind##Properties(void *handle, const WCHAR *text, WCHAR **properties, WCHAR **record) \
    { \
        struct hns_call call = {.function = "HcnQuery" #kind "Properties", \
                                .object = hcn_id_of(handle), \
                                .texts = 1, \
                                .text = {text}, \
                                .names = copies}; \
        return query(&call, properties, record); \
    } \
    HRESULT WINAPI HcnDelete##kind(const GUID *id, WCHAR **record) \
    { \
        struct hns_call call = {.function = "HcnDelete" #kind, .object = id}; \
        return id ? finish(&call, NULL, record) : E_POINTER; \
    } \
    HRESULT WINAPI HcnClose##kind(void *handle) \
    { \
        return hcn_handle_close(handle); \
    }

#define CREATE(kind, copies) \
    HRESULT WINAPI HcnCreate##kind(const GUID *id, const WCHAR *settings, void **handle, WCHAR **record) \
    { \
        struct hns_call call = { \
            .function = "HcnCreate" #kind, .wanted = id, .texts = 1, .text = {settings}, .names = copies}; \
        return with_handle(&call, handle, record); \
    }

KIND(Network, EnumerateNetworks, COPIES_NETWORK)
KIND(Endpoint, EnumerateEndpoints, COPIES_ENDPOINT)
KIND(Namespace, EnumerateNamespaces, COPIES_NAMESPACE)
KIND(LoadBalancer, EnumerateLoadBalancers, COPIES_LOADBALANCER)
KIND(SdnRoute, EnumerateSdnRoutes, COPIES_SDNROUTE)
KIND(GuestNetworkService, EnumerateGuestNetworkServices, COPIES_NONE)
CREATE(Network, COPIES_NETWORK)
CREATE(Namespace, COPIES_NAMESPACE)
CREATE(LoadBalancer, COPIES_LOADBALANCER)
CREATE(SdnRoute, COPIES_SDNROUTE)
CREATE(GuestNetworkService, COPIES_NONE)

HRESULT WINAPI HcnCreateEndpoint(void *network, const GUID *id, const WCHAR *settings, void **handle, WCHAR **record)
{
    struct hns_call call = {.function = "HcnCreateEndpoint",
                            .object = hcn_id_of(network),
                            .wanted = id,
                            .texts = 1,
                            .text = {settings},
                            .names = COPIES_ENDPOINT};

    return call.object ? with_handle(&call, handle, record) : E_HANDLE;
}

HRESULT WINAPI HcnQueryEndpointStats(void *endpoint, const WCHAR *query, WCHAR **stats, WCHAR **record)
{
    struct hns_call call = {
        .function = "HcnQueryEndpointStats", .object = hcn_id_of(endpoint), .texts = 1, .text = {query}};

    if (!stats)
        return E_POINTER;
    return call.object ? finish(&call, stats, record) : E_HANDLE;
}
