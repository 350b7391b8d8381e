/* What the job object of a container answers, for guest/c/hooks/job.c. */
#include "hns_client.h"

#include <ntstatus.h>
#include <objbase.h>
#include <winternl.h>
#include <string.h>

#define SYSTEM_NOT_FOUND ((HRESULT)0xc037010e) /* HCS_E_SYSTEM_NOT_FOUND */

/* A program that may not ask is no administrator of a host; in a container there is no such name. */
static NTSTATUS status_of(HRESULT error)
{
    switch (error)
    {
    case SYSTEM_NOT_FOUND: return STATUS_OBJECT_NAME_NOT_FOUND;
    case E_NOTIMPL: return STATUS_NOT_IMPLEMENTED;
    case E_ACCESSDENIED: return hns_token_there() ? STATUS_ACCESS_DENIED : STATUS_OBJECT_NAME_NOT_FOUND;
    case E_OUTOFMEMORY: return STATUS_NO_MEMORY;
    default: return STATUS_UNSUCCESSFUL;
    }
}

/* The structure of an information class; with class 0 only whether the container is there. */
NTSTATUS WINAPI MullionJobInformation(const WCHAR *id, ULONG class, void *information, ULONG size, ULONG *returned)
{
    WCHAR number[12], *digit = number + 11;
    struct hns_call call = {.function = "HcsQueryJobObject", .texts = 2, .text = {id, number}};
    NTSTATUS status;
    HRESULT error;

    for (*digit = 0; class; class /= 10)
        *--digit = (WCHAR)('0' + class % 10);
    call.text[1] = digit;
    error = hns_call(&call);
    status = FAILED(error) ? status_of(error) : STATUS_SUCCESS;
    if (!status && call.size > size)
        status = STATUS_INFO_LENGTH_MISMATCH;
    if (!status && call.size)
        memcpy(information, call.answer, call.size);
    if (!status && returned)
        *returned = call.size;
    CoTaskMemFree(call.answer);
    CoTaskMemFree(call.record);
    return status;
}
