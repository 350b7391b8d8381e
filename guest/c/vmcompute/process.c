/* Version 1 of the Host Compute Service: processes of compute systems. */
#include "vmcompute.h"

#include <objbase.h>
#include <string.h>

/* A call about a process. The record of an error goes to *record, the answer to *answer, unless that is NULL. */
static HRESULT ask(const char *function, const struct handle *process, const WCHAR *text, WCHAR **answer,
                   WCHAR **record)
{
    struct hns_call call = {.function = function, .texts = text ? 3 : 2};
    HRESULT error;

    if (!hcs_handle_is(process, PROCESS_MAGIC))
        return E_HANDLE;
    call.text[0] = process->id;
    call.text[1] = process->pid;
    call.text[2] = text;
    error = hns_call(&call);
    if (answer)
        *answer = call.answer;
    else
        CoTaskMemFree(call.answer);
    return hcs_give_record(error, &call, record);
}

/* The streams are the caller's: they are given here, once. */
HRESULT WINAPI HcsCreateProcess(struct handle *system, const WCHAR *parameters, struct process_information *info,
                                struct handle **process, WCHAR **result)
{
    struct hns_call call = {0};
    HRESULT error;

    if (!hcs_handle_is(system, SYSTEM_MAGIC))
        return E_HANDLE;
    if (!parameters || !process)
        return E_POINTER;
    error = hcs_process_create(system, parameters, &call, process, info);
    return hcs_give_record(error, &call, result);
}

HRESULT WINAPI HcsOpenProcess(struct handle *system, DWORD pid, struct handle **process, WCHAR **result)
{
    struct hns_call call = {0};
    HRESULT error;

    if (!hcs_handle_is(system, SYSTEM_MAGIC))
        return E_HANDLE;
    if (!process)
        return E_POINTER;
    error = hcs_process_open(system, pid, &call, process);
    return hcs_give_record(error, &call, result);
}

HRESULT WINAPI HcsCloseProcess(struct handle *process)
{
    if (!hcs_handle_is(process, PROCESS_MAGIC))
        return E_HANDLE;
    hcs_handle_close(process);
    return S_OK;
}

HRESULT WINAPI HcsTerminateProcess(struct handle *process, WCHAR **result)
{
    return ask("HcsTerminateProcess", process, NULL, NULL, result);
}

HRESULT WINAPI HcsSignalProcess(struct handle *process, const WCHAR *options, WCHAR **result)
{
    return ask("HcsSignalProcess", process, options ? options : L"", NULL, result);
}

HRESULT WINAPI HcsModifyProcess(struct handle *process, const WCHAR *settings, WCHAR **result)
{
    return ask("HcsModifyProcess", process, settings ? settings : L"", NULL, result);
}

HRESULT WINAPI HcsGetProcessProperties(struct handle *process, WCHAR **properties, WCHAR **result)
{
    return properties ? ask("HcsGetProcessProperties", process, NULL, properties, result) : E_POINTER;
}

HRESULT WINAPI HcsGetProcessInfo(struct handle *process, struct process_information *info, WCHAR **result)
{
    if (result)
        *result = NULL;
    if (!hcs_handle_is(process, PROCESS_MAGIC))
        return E_HANDLE;
    if (!info)
        return E_POINTER;
    memset(info, 0, sizeof(*info));
    info->pid = process->number;
    return S_OK;
}

HRESULT WINAPI HcsRegisterProcessCallback(struct handle *process, notification callback, void *context,
                                          struct registration **handle)
{
    return hcs_handle_is(process, PROCESS_MAGIC) ? hcs_registration_make(process, callback, context, handle) : E_HANDLE;
}

HRESULT WINAPI HcsUnregisterProcessCallback(struct registration *handle)
{
    return hcs_registration_end(handle);
}
