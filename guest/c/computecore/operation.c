/* Operations. A function has ended when it returns, and the operation has its result: there is nothing to wait for. */
#include "computecore.h"

#include <objbase.h>
#include <stdlib.h>
#include <string.h>

/* NULL if there is no memory. */
struct operation *WINAPI HcsCreateOperation(void *context, completion callback)
{
    struct operation *operation = calloc(1, sizeof(*operation));

    if (!operation)
    {
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return NULL;
    }
    operation->context = context;
    operation->callback = callback;
    operation->result = HRESULT_FROM_WIN32(ERROR_INVALID_STATE); /* of none yet */
    return operation;
}

void WINAPI HcsCloseOperation(struct operation *operation)
{
    if (!operation)
        return;
    CoTaskMemFree(operation->document);
    free(operation);
}

void *WINAPI HcsGetOperationContext(struct operation *operation)
{
    return operation ? operation->context : NULL;
}

HRESULT WINAPI HcsSetOperationContext(struct operation *operation, void *context)
{
    if (!operation)
        return E_HANDLE;
    operation->context = context;
    return S_OK;
}

HRESULT WINAPI HcsSetOperationCallback(struct operation *operation, void *context, completion callback)
{
    if (!operation)
        return E_HANDLE;
    operation->context = context;
    operation->callback = callback;
    return S_OK;
}

/* The document is the caller's from then on. */
HRESULT WINAPI HcsGetOperationResult(struct operation *operation, WCHAR **document)
{
    if (!operation)
        return E_HANDLE;
    if (document)
    {
        *document = operation->document;
        operation->document = NULL;
    }
    return operation->result;
}

HRESULT WINAPI HcsGetOperationResultAndProcessInfo(struct operation *operation, struct process_information *info,
                                                   WCHAR **document)
{
    if (!operation)
        return E_HANDLE;
    if (info)
        *info = operation->info;
    return HcsGetOperationResult(operation, document);
}

HRESULT WINAPI HcsWaitForOperationResult(struct operation *operation, DWORD milliseconds, WCHAR **document)
{
    (void)milliseconds;
    return HcsGetOperationResult(operation, document);
}

HRESULT WINAPI HcsWaitForOperationResultAndProcessInfo(struct operation *operation, DWORD milliseconds,
                                                       struct process_information *info, WCHAR **document)
{
    (void)milliseconds;
    return HcsGetOperationResultAndProcessInfo(operation, info, document);
}
