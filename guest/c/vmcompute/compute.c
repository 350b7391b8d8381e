/*
 * The functions of the Host Compute Service by which a program looks at the containers of this host and at what they
 * use. Those are asked of Mullion's server; opening and closing one is done here.
 */
#include "hns_client.h"

#include <objbase.h>
#include <stdlib.h>
#include <wchar.h>

/* A container that a program has opened. */
struct compute_system
{
    WCHAR *id;
};

/* Carries out a call with one text or two. The record of an error goes to *result, the answer to *answer. */
static HRESULT ask(const char *function, const WCHAR *first, const WCHAR *second, WCHAR **answer, WCHAR **result)
{
    struct hns_call call = {.function = function, .texts = second ? 2 : 1, .text = {first, second}};
    HRESULT error = hns_call(&call);

    *answer = call.answer;
    if (result)
        *result = call.record;
    else
        CoTaskMemFree(call.record);
    return error;
}

HRESULT WINAPI HcsEnumerateComputeSystems(const WCHAR *query, WCHAR **systems, WCHAR **result)
{
    if (!systems)
        return E_POINTER;
    return ask("HcsEnumerateComputeSystems", query ? query : L"", NULL, systems, result);
}

/* A container that is not there cannot be opened. */
HRESULT WINAPI HcsOpenComputeSystem(const WCHAR *id, struct compute_system **system, WCHAR **result)
{
    WCHAR *properties = NULL;
    HRESULT error;

    if (!id || !system)
        return E_POINTER;
    *system = NULL;
    error = ask("HcsGetComputeSystemProperties", id, L"", &properties, result);
    CoTaskMemFree(properties);
    if (FAILED(error))
        return error;
    if (!(*system = calloc(1, sizeof(**system))) || !((*system)->id = _wcsdup(id)))
    {
        free(*system);
        *system = NULL;
        return E_OUTOFMEMORY;
    }
    return S_OK;
}

HRESULT WINAPI HcsCloseComputeSystem(struct compute_system *system)
{
    if (!system)
        return E_HANDLE;
    free(system->id);
    free(system);
    return S_OK;
}

HRESULT WINAPI HcsGetComputeSystemProperties(const struct compute_system *system, const WCHAR *query,
                                             WCHAR **properties, WCHAR **result)
{
    if (!system)
        return E_HANDLE;
    if (!properties)
        return E_POINTER;
    return ask("HcsGetComputeSystemProperties", system->id, query ? query : L"", properties, result);
}

/* Nothing is reported: whoever wants to know whether a container has ended has to ask. */
HRESULT WINAPI HcsRegisterComputeSystemCallback(struct compute_system *system, void *callback, void *context,
                                                struct compute_system **handle)
{
    (void)callback;
    (void)context;
    if (!system || !handle)
        return E_POINTER;
    *handle = system;
    return S_OK;
}

HRESULT WINAPI HcsUnregisterComputeSystemCallback(struct compute_system *handle)
{
    return handle ? S_OK : E_HANDLE;
}
