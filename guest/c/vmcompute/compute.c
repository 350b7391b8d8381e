/*
 * Version 1 of the Host Compute Service: compute systems. It makes those that computecore.dll makes, by the same calls
 * of Mullion's server; the containers of pods can be opened to be looked at. Every function has ended when it returns,
 * so none answers that it is pending, and there is no notification of its end.
 */
#include "vmcompute.h"

#include <objbase.h>

#define SYSTEM_NOT_FOUND ((HRESULT)0xc037010e) /* HCS_E_SYSTEM_NOT_FOUND */

HRESULT hcs_give_record(HRESULT error, struct hns_call *call, WCHAR **record)
{
    if (record)
        *record = call->record;
    else
        CoTaskMemFree(call->record);
    call->record = NULL;
    return error;
}

/* Carries out a call with one text or two. The record of an error goes to *result, the answer to *answer. */
static HRESULT ask(const char *function, const WCHAR *first, const WCHAR *second, WCHAR **answer, WCHAR **result)
{
    struct hns_call call = {.function = function, .texts = second ? 2 : 1, .text = {first, second}};
    HRESULT error = hns_call(&call);

    if (answer)
        *answer = call.answer;
    else
        CoTaskMemFree(call.answer);
    return hcs_give_record(error, &call, result);
}

HRESULT hcs_ask_of_system(const char *function, const struct handle *system, const WCHAR *text, WCHAR **record)
{
    return hcs_handle_is(system, SYSTEM_MAGIC) ? ask(function, system->id, text, NULL, record) : E_HANDLE;
}

HRESULT WINAPI HcsEnumerateComputeSystems(const WCHAR *query, WCHAR **systems, WCHAR **result)
{
    if (!systems)
        return E_POINTER;
    return ask("HcsEnumerateComputeSystems", query ? query : L"", NULL, systems, result);
}

/* The identity is that of a service of Windows, which has no place here. */
HRESULT WINAPI HcsCreateComputeSystem(const WCHAR *id, const WCHAR *configuration, HANDLE identity,
                                      struct handle **system, WCHAR **result)
{
    struct hns_call call = {.function = "HcsCreateComputeSystem", .texts = 2, .text = {id, configuration}};
    HRESULT error;

    (void)identity;
    if (!id || !configuration || !system)
        return E_POINTER;
    error = hcs_handle_open(&call, id, SYSTEM_MAGIC, system);
    CoTaskMemFree(call.answer);
    return hcs_give_record(error, &call, result);
}

/*
 * A container of a pod has no events, and is none of those that can be changed. One that is not there cannot be opened.
 */
static HRESULT open_of_pod(const WCHAR *id, struct handle **system, WCHAR **result)
{
    HRESULT error = ask("HcsGetComputeSystemProperties", id, L"", NULL, result);

    return FAILED(error) ? error : hcs_handle_make(id, SYSTEM_MAGIC, system);
}

HRESULT WINAPI HcsOpenComputeSystem(const WCHAR *id, struct handle **system, WCHAR **result)
{
    struct hns_call call = {.function = "HcsOpenComputeSystem", .texts = 1, .text = {id}};
    HRESULT error;

    if (!id || !system)
        return E_POINTER;
    error = hcs_handle_open(&call, id, SYSTEM_MAGIC, system);
    CoTaskMemFree(call.answer);
    if (error == SYSTEM_NOT_FOUND || error == E_NOTIMPL) /* E_NOTIMPL: of a host on which none can be made */
    {
        CoTaskMemFree(call.record);
        return open_of_pod(id, system, result);
    }
    return hcs_give_record(error, &call, result);
}

HRESULT WINAPI HcsCloseComputeSystem(struct handle *system)
{
    if (!hcs_handle_is(system, SYSTEM_MAGIC))
        return E_HANDLE;
    hcs_handle_close(system);
    return S_OK;
}

HRESULT WINAPI HcsStartComputeSystem(struct handle *system, const WCHAR *options, WCHAR **result)
{
    (void)options; /* of virtual machines, as those of the next two */
    return hcs_ask_of_system("HcsStartComputeSystem", system, NULL, result);
}

HRESULT WINAPI HcsShutdownComputeSystem(struct handle *system, const WCHAR *options, WCHAR **result)
{
    (void)options;
    return hcs_ask_of_system("HcsShutDownComputeSystem", system, NULL, result);
}

HRESULT WINAPI HcsTerminateComputeSystem(struct handle *system, const WCHAR *options, WCHAR **result)
{
    (void)options;
    return hcs_ask_of_system("HcsTerminateComputeSystem", system, NULL, result);
}

HRESULT WINAPI HcsModifyComputeSystem(struct handle *system, const WCHAR *configuration, WCHAR **result)
{
    return hcs_ask_of_system("HcsModifyComputeSystem", system, configuration ? configuration : L"", result);
}

HRESULT WINAPI HcsGetComputeSystemProperties(const struct handle *system, const WCHAR *query, WCHAR **properties,
                                             WCHAR **result)
{
    if (!hcs_handle_is(system, SYSTEM_MAGIC))
        return E_HANDLE;
    if (!properties)
        return E_POINTER;
    return ask("HcsGetComputeSystemProperties", system->id, query ? query : L"", properties, result);
}

HRESULT WINAPI HcsRegisterComputeSystemCallback(struct handle *system, notification callback, void *context,
                                                struct registration **handle)
{
    return hcs_handle_is(system, SYSTEM_MAGIC) ? hcs_registration_make(system, callback, context, handle) : E_HANDLE;
}

HRESULT WINAPI HcsUnregisterComputeSystemCallback(struct registration *handle)
{
    return hcs_registration_end(handle);
}
