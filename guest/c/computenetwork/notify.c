/*
 * Callbacks: a registration is a connection to the server, which writes events on it, and a thread that reads them and
 * calls the program. When the service ends, the program gets that as its last event, and has to register again.
 */
#include "computenetwork.h"

#include <objbase.h>

#define REGISTRATION_MAGIC 0x4d484e32
#define SERVICE_DISCONNECT 0x01000000 /* HcnNotificationServiceDisconnect */

typedef void(CALLBACK *notification)(DWORD type, void *context, HRESULT status, const WCHAR *data);

struct registration
{
    DWORD magic, thread_id;
    notification callback;
    void *context;
    SOCKET connection;
    HANDLE thread;
    LONG references;      /* the handle and the thread */
    volatile LONG ending; /* the program has unregistered */
};

static void release(struct registration *r)
{
    if (InterlockedDecrement(&r->references))
        return;
    closesocket(r->connection);
    CloseHandle(r->thread);
    HeapFree(GetProcessHeap(), 0, r);
}

static DWORD WINAPI deliver(void *argument)
{
    struct registration *r = argument;
    struct hns_call event = {0};
    DWORD type;

    while (hns_next_event(r->connection, &event, &type))
    {
        if (!r->ending)
            r->callback(type, r->context, S_OK, event.answer);
        CoTaskMemFree(event.answer);
        CoTaskMemFree(event.record);
    }
    if (!r->ending)
        r->callback(SERVICE_DISCONNECT, r->context, S_OK, NULL);
    release(r);
    return 0;
}

static HRESULT start(struct registration *r, struct hns_call *call)
{
    HRESULT result;

    r->connection = INVALID_SOCKET;
    call->watches = TRUE;
    result = hns_call_on(&r->connection, call);
    CoTaskMemFree(call->answer);
    CoTaskMemFree(call->record);
    if (FAILED(result))
        return result;
    r->thread = CreateThread(NULL, 0, deliver, r, CREATE_SUSPENDED, &r->thread_id);
    if (!r->thread)
        return HRESULT_FROM_WIN32(GetLastError());
    r->magic = REGISTRATION_MAGIC;
    r->references = 2;
    ResumeThread(r->thread);
    return S_OK;
}

static HRESULT enlist(struct hns_call *call, notification callback, void *context, void **handle)
{
    struct registration *r;
    HRESULT result;

    if (!callback || !handle)
        return E_POINTER;
    *handle = NULL;
    if (!(r = HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, sizeof(*r))))
        return E_OUTOFMEMORY;
    r->callback = callback;
    r->context = context;
    if (FAILED(result = start(r, call)))
    {
        if (r->connection != INVALID_SOCKET)
            closesocket(r->connection);
        HeapFree(GetProcessHeap(), 0, r);
        return result;
    }
    *handle = r;
    return S_OK;
}

/* Ends a registration: afterwards the callback is not called any more. The callback itself may call it. */
static HRESULT leave(void *handle)
{
    struct registration *r = handle;

    if (!r || r->magic != REGISTRATION_MAGIC)
        return E_HANDLE;
    r->magic = 0;
    InterlockedExchange(&r->ending, 1);
    shutdown(r->connection, SD_BOTH);
    if (GetCurrentThreadId() != r->thread_id)
        WaitForSingleObject(r->thread, INFINITE);
    release(r);
    return S_OK;
}

HRESULT WINAPI HcnRegisterServiceCallback(notification callback, void *context, void **handle)
{
    struct hns_call call = {.function = "HcnRegisterServiceCallback"};

    return enlist(&call, callback, context, handle);
}

HRESULT WINAPI HcnRegisterNetworkCallback(void *network, notification callback, void *context, void **handle)
{
    struct hns_call call = {.function = "HcnRegisterNetworkCallback", .object = hcn_id_of(network)};

    return call.object ? enlist(&call, callback, context, handle) : E_HANDLE;
}

HRESULT WINAPI HcnRegisterGuestNetworkServiceCallback(void *service, notification callback, void *context,
                                                      void **handle)
{
    struct hns_call call = {.function = "HcnRegisterGuestNetworkServiceCallback", .object = hcn_id_of(service)};

    return call.object ? enlist(&call, callback, context, handle) : E_HANDLE;
}

HRESULT WINAPI HcnUnregisterServiceCallback(void *handle)
{
    return leave(handle);
}

HRESULT WINAPI HcnUnregisterNetworkCallback(void *handle)
{
    return leave(handle);
}

HRESULT WINAPI HcnUnregisterGuestNetworkServiceCallback(void *handle)
{
    return leave(handle);
}
