/*
 * vmcompute.dll: HNSCall, which calls Mullion's HNS server. Of version 1 of the Host Compute Service there are the
 * functions of compute systems (compute.c), of their processes (process.c) and of layers (layer.c); the others answer
 * that they are not implemented.
 */
#include "hns_client.h"

#include <objbase.h>

HRESULT WINAPI HNSCall(const WCHAR *method, const WCHAR *path, const WCHAR *request, WCHAR **response)
{
    struct hns_call call = {.function = "HNSCall", .texts = 3, .text = {method, path, request}};
    HRESULT result;

    if (!response)
        return E_POINTER;
    result = hns_call(&call);
    CoTaskMemFree(call.record);
    *response = call.answer;
    return result;
}

/* On x64 the caller clears the stack, so one function serves for all of them, whatever their arguments are. */
HRESULT WINAPI hcs_not_implemented(void)
{
    return E_NOTIMPL;
}
