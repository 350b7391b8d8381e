/*
 * Ports of the host that are reserved for a guest network service. The server holds them as long as the connection on
 * which they were reserved, so all reservations of a process use one connection, which ends with the process.
 *
 * The structures are those of computenetwork.h of the Windows SDK.
 */
#include "computenetwork.h"

#include <objbase.h>
#include <stdio.h>

struct port_range
{
    USHORT first, last; /* both included */
};

#define ENTRY_SIZE 64 /* HCN_PORT_RANGE_ENTRY */

static SRWLOCK lock = SRWLOCK_INIT;
static SOCKET connection = INVALID_SOCKET;

static HRESULT call_held(struct hns_call *call)
{
    HRESULT result;

    AcquireSRWLockExclusive(&lock);
    result = hns_call_on(&connection, call);
    ReleaseSRWLockExclusive(&lock);
    CoTaskMemFree(call->record);
    return result;
}

static HRESULT reserve(struct hns_call *call, struct port_range *range, void **handle)
{
    HRESULT result;

    if (!handle)
        return E_POINTER;
    *handle = NULL;
    if (!call->object)
        return E_HANDLE;
    result = call_held(call);
    if (SUCCEEDED(result) && call->size != sizeof(*range))
        result = E_UNEXPECTED;
    if (SUCCEEDED(result) && range)
        *range = *(struct port_range *)(void *)call->answer;
    CoTaskMemFree(call->answer);
    return SUCCEEDED(result) ? hcn_handle_new(&call->id, handle) : result;
}

HRESULT WINAPI HcnReserveGuestNetworkServicePort(void *service, int protocol, int access, USHORT port, void **handle)
{
    WCHAR text[96];
    struct hns_call call = {
        .function = "HcnReserveGuestNetworkServicePort", .object = hcn_id_of(service), .texts = 1, .text = {text}};

    swprintf(text, sizeof(text) / sizeof(*text), L"{\"Protocol\":%u,\"Access\":%u,\"Port\":%u}", (unsigned int)protocol,
             (unsigned int)access, (unsigned int)port);
    return reserve(&call, NULL, handle);
}

HRESULT WINAPI HcnReserveGuestNetworkServicePortRange(void *service, USHORT count, struct port_range *range,
                                                      void **handle)
{
    WCHAR text[32];
    struct hns_call call = {
        .function = "HcnReserveGuestNetworkServicePortRange", .object = hcn_id_of(service), .texts = 1, .text = {text}};

    if (!range)
        return E_POINTER;
    swprintf(text, sizeof(text) / sizeof(*text), L"{\"PortCount\":%u}", (unsigned int)count);
    return reserve(&call, range, handle);
}

HRESULT WINAPI HcnReleaseGuestNetworkServicePortReservationHandle(void *handle)
{
    struct hns_call call = {.function = "HcnReleaseGuestNetworkServicePortReservationHandle",
                            .object = hcn_id_of(handle)};
    HRESULT result;

    if (!call.object)
        return E_HANDLE;
    result = call_held(&call);
    CoTaskMemFree(call.answer);
    hcn_handle_close(handle);
    return result;
}

HRESULT WINAPI HcnEnumerateGuestNetworkPortReservations(ULONG *count, void **entries)
{
    struct hns_call call = {.function = "HcnEnumerateGuestNetworkPortReservations"};
    HRESULT result;

    if (!count || !entries)
        return E_POINTER;
    result = hns_call(&call);
    CoTaskMemFree(call.record);
    *count = call.size / ENTRY_SIZE;
    *entries = call.answer;
    return result;
}

void WINAPI HcnFreeGuestNetworkPortReservations(void *entries)
{
    CoTaskMemFree(entries);
}
