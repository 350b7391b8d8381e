/*
 * Handles: a connection to the server, which writes events on it, and, once there is a callback, a thread that reads
 * them and calls the program. When the server is restarted, the object is opened again; if it is gone with the server,
 * the program gets that as its last event.
 */
#include "computecore.h"

#include <objbase.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define SERVICE_DISCONNECT 0x02000000 /* HcsEventServiceDisconnect */

static void release(struct handle *h)
{
    if (InterlockedDecrement(&h->references))
        return;
    if (h->connection != INVALID_SOCKET)
        closesocket(h->connection);
    if (h->thread)
        CloseHandle(h->thread);
    free(h->id);
    free(h);
}

HRESULT hcs_handle_open(struct hns_call *call, const WCHAR *id, DWORD magic, struct handle **out)
{
    struct handle *h = calloc(1, sizeof(*h));
    HRESULT result = E_OUTOFMEMORY;

    *out = NULL;
    if (!h || !(h->id = _wcsdup(id)))
    {
        free(h);
        return result;
    }
    h->connection = INVALID_SOCKET;
    h->references = 1;
    call->watches = TRUE;
    if (FAILED(result = hns_call_on(&h->connection, call)))
    {
        release(h);
        return result;
    }
    h->magic = magic;
    *out = h;
    return S_OK;
}

/* Opens the object of a handle again. */
static BOOL reopen(struct handle *h)
{
    struct hns_call call = {.function = "HcsOpenComputeSystem", .texts = 1, .text = {h->id, h->pid}, .watches = TRUE};
    SOCKET s = INVALID_SOCKET, lost = h->connection;
    HRESULT result;

    if (h->magic == PROCESS_MAGIC)
    {
        call.function = "HcsOpenProcess";
        call.texts = 2;
    }
    result = h->ending ? E_ABORT : hns_call_on(&s, &call);
    CoTaskMemFree(call.answer);
    CoTaskMemFree(call.record);
    if (FAILED(result))
    {
        if (s != INVALID_SOCKET)
            closesocket(s);
        return FALSE;
    }
    h->connection = s;
    closesocket(lost);
    if (h->ending) /* whoever ended it may have seen the lost one */
        shutdown(s, SD_BOTH);
    return TRUE;
}

static DWORD WINAPI deliver(void *argument)
{
    struct handle *h = argument;
    struct hns_call answer = {0};
    struct event event = {0};
    DWORD told = 0; /* the server tells again what it has told: each object has one event */

    do
    {
        while (hns_next_event(h->connection, &answer, &event.type))
        {
            event.data = answer.answer;
            if (!h->ending && event.type != told)
                h->callback(&event, h->context);
            told = event.type;
            CoTaskMemFree(answer.answer);
            CoTaskMemFree(answer.record);
        }
    } while (!h->ending && reopen(h));
    event.type = SERVICE_DISCONNECT;
    event.data = NULL;
    if (!h->ending && !told)
        h->callback(&event, h->context);
    release(h);
    return 0;
}

HRESULT hcs_handle_listen(struct handle *h, listener callback, void *context)
{
    if (!callback)
        return E_POINTER;
    if (h->thread)
        return HRESULT_FROM_WIN32(ERROR_ALREADY_REGISTERED);
    h->callback = callback;
    h->context = context;
    if (!(h->thread = CreateThread(NULL, 0, deliver, h, CREATE_SUSPENDED, &h->thread_id)))
        return HRESULT_FROM_WIN32(GetLastError());
    h->references = 2;
    ResumeThread(h->thread);
    return S_OK;
}

void hcs_handle_close(struct handle *h)
{
    h->magic = 0;
    InterlockedExchange(&h->ending, 1);
    shutdown(h->connection, SD_BOTH);
    if (h->thread && GetCurrentThreadId() != h->thread_id)
        WaitForSingleObject(h->thread, INFINITE);
    release(h);
}
