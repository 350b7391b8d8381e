/* Processes of compute systems: how one is started, and its streams. */
#include "hcs_handle.h"

#include <objbase.h>
#include <string.h>
#include <wchar.h>

/* The decimal digits of a process id. */
static void digits(DWORD number, WCHAR out[12])
{
    WCHAR text[12], *digit = text + 11;

    *digit = 0;
    do
        *--digit = (WCHAR)('0' + number % 10);
    while (number /= 10);
    wcscpy(out, digit);
}

/* Keeps what the server says of a process, and returns which streams it has, a bit each. */
static DWORD learn(struct handle *process, const struct hns_call *call)
{
    DWORD said[2] = {0, 0};

    if (call->size == sizeof(said))
        memcpy(said, call->answer, sizeof(said));
    process->number = said[0];
    digits(said[0], process->pid);
    return said[1];
}

/* Connects to the streams of a process: the handles are sockets, and the caller's. */
static HRESULT connect_streams(const struct handle *process, DWORD streams, struct process_information *info)
{
    static const WCHAR *const numbers[] = {L"0", L"1", L"2"};
    HANDLE *handles[] = {&info->input, &info->output, &info->error};

    for (int i = 0; i < 3; i++)
    {
        struct hns_call call = {.function = "HcsConnectStream",
                                .texts = 3,
                                .text = {process->id, process->pid, numbers[i]},
                                .watches = TRUE};
        SOCKET s = INVALID_SOCKET;
        HRESULT result;

        if (!(streams & (1u << i)))
            continue;
        result = hns_call_on(&s, &call);
        CoTaskMemFree(call.answer);
        CoTaskMemFree(call.record);
        if (SUCCEEDED(result))
        {
            *handles[i] = (HANDLE)s;
            continue;
        }
        while (i--)
            if (*handles[i])
                closesocket((SOCKET)*handles[i]);
        memset(info, 0, sizeof(*info));
        return result;
    }
    return S_OK;
}

HRESULT hcs_process_create(const struct handle *system, const WCHAR *parameters, struct hns_call *call,
                           struct handle **process, struct process_information *info)
{
    DWORD streams;
    HRESULT result;

    if (info)
        memset(info, 0, sizeof(*info));
    memset(call, 0, sizeof(*call));
    call->function = "HcsCreateProcess";
    call->texts = 2;
    call->text[0] = system->id;
    call->text[1] = parameters;
    if (FAILED(result = hcs_handle_open(call, system->id, PROCESS_MAGIC, process)))
        return result;
    streams = learn(*process, call);
    CoTaskMemFree(call->answer); /* a structure, and no document */
    call->answer = NULL;
    if (!info) /* whoever does not take them has none */
        return S_OK;
    info->pid = (*process)->number;
    if (FAILED(result = connect_streams(*process, streams, info)))
    {
        hcs_handle_close(*process);
        *process = NULL;
    }
    return result;
}

HRESULT hcs_process_open(const struct handle *system, DWORD pid, struct hns_call *call, struct handle **process)
{
    WCHAR number[12];
    HRESULT result;

    digits(pid, number);
    memset(call, 0, sizeof(*call));
    call->function = "HcsOpenProcess";
    call->texts = 2;
    call->text[0] = system->id;
    call->text[1] = number;
    if (SUCCEEDED(result = hcs_handle_open(call, system->id, PROCESS_MAGIC, process)))
    {
        learn(*process, call);
        CoTaskMemFree(call->answer);
        call->answer = NULL;
    }
    call->text[1] = NULL;
    return result;
}
