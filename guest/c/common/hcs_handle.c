/*
 * Handles: a connection to the server, which writes events on it, and, once there is a callback, a thread that reads
 * them and calls the program. When the server is restarted, the object is opened again, however long that takes: a
 * program that is told that the service is gone ends its containers. If the object is gone with the server, the program
 * gets that as its last event.
 */
#include "hcs_handle.h"

#include <objbase.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

void hcs_handle_hold(struct handle *h)
{
    InterlockedIncrement(&h->references);
}

void hcs_handle_release(struct handle *h)
{
    if (InterlockedDecrement(&h->references))
        return;
    if (h->connection != INVALID_SOCKET)
        closesocket(h->connection);
    if (h->thread)
        CloseHandle(h->thread);
    DeleteCriticalSection(&h->calling);
    free(h->id);
    free(h);
}

HRESULT hcs_handle_make(const WCHAR *id, DWORD magic, struct handle **out)
{
    struct handle *h = calloc(1, sizeof(*h));

    *out = NULL;
    if (!h || !(h->id = _wcsdup(id)))
    {
        free(h);
        return E_OUTOFMEMORY;
    }
    InitializeCriticalSection(&h->calling);
    h->connection = INVALID_SOCKET;
    h->references = 1;
    h->magic = magic;
    *out = h;
    return S_OK;
}

HRESULT hcs_handle_open(struct hns_call *call, const WCHAR *id, DWORD magic, struct handle **out)
{
    HRESULT result = hcs_handle_make(id, magic, out);

    if (FAILED(result))
        return result;
    call->watches = TRUE;
    if (FAILED(result = hns_call_on(&(*out)->connection, call)))
    {
        hcs_handle_release(*out);
        *out = NULL;
    }
    return result;
}

BOOL hcs_handle_is(const struct handle *h, DWORD magic)
{
    return h && h->magic == magic;
}

#define PAUSE 200 /* ms, after an answer that the service is not there yet */

/* Opens the object of a handle again. */
static BOOL reopen(struct handle *h)
{
    struct hns_call call = {
        .function = "HcsOpenComputeSystem",
        .texts = 1,
        .text = {h->id, h->pid},
        .watches = TRUE,
        .ending = &h->ending,
    };
    SOCKET s = INVALID_SOCKET, lost = h->connection;
    HRESULT result;

    if (h->magic == PROCESS_MAGIC)
    {
        call.function = "HcsOpenProcess";
        call.texts = 2;
    }
    while ((result = h->ending ? E_ABORT : hns_call_on(&s, &call)) == E_SERVER_UNAVAILABLE)
    {
        CoTaskMemFree(call.answer);
        CoTaskMemFree(call.record);
        Sleep(PAUSE);
    }
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

/* Calls the listener, unless there is none any more. */
static void call_listener(struct handle *h, struct event *event)
{
    EnterCriticalSection(&h->calling);
    if (h->callback && !h->ending)
        h->callback(event, h->context);
    LeaveCriticalSection(&h->calling);
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
            if (event.type != told)
                call_listener(h, &event);
            told = event.type;
            CoTaskMemFree(answer.answer);
            CoTaskMemFree(answer.record);
        }
    } while (!h->ending && reopen(h));
    event.type = SERVICE_DISCONNECT;
    event.data = NULL;
    if (!told)
        call_listener(h, &event);
    hcs_handle_release(h);
    return 0;
}

HRESULT hcs_handle_listen(struct handle *h, listener callback, void *context)
{
    if (!callback)
        return E_POINTER;
    if (h->thread)
        return HRESULT_FROM_WIN32(ERROR_ALREADY_REGISTERED);
    if (h->connection == INVALID_SOCKET)
        return S_OK;
    h->callback = callback;
    h->context = context;
    if (!(h->thread = CreateThread(NULL, 0, deliver, h, CREATE_SUSPENDED, &h->thread_id)))
        return HRESULT_FROM_WIN32(GetLastError());
    hcs_handle_hold(h);
    ResumeThread(h->thread);
    return S_OK;
}

void hcs_handle_hush(struct handle *h)
{
    EnterCriticalSection(&h->calling);
    h->callback = NULL;
    LeaveCriticalSection(&h->calling);
}

void hcs_handle_close(struct handle *h)
{
    h->magic = 0;
    InterlockedExchange(&h->ending, 1);
    if (h->connection != INVALID_SOCKET)
        shutdown(h->connection, SD_BOTH);
    if (h->thread && GetCurrentThreadId() != h->thread_id)
        WaitForSingleObject(h->thread, INFINITE);
    hcs_handle_release(h);
}
