/* The functions of HCS that ask the server. Each returns the result of its operation, and leaves it there, too. */
#include "computecore.h"

#include <objbase.h>
#include <string.h>

/* Ends an operation, which may be NULL, with what a call has answered. */
static HRESULT finish(struct operation *operation, HRESULT result, struct hns_call *call)
{
    WCHAR *document = FAILED(result) ? call->record : call->answer;

    CoTaskMemFree(FAILED(result) ? call->answer : call->record);
    if (!operation)
    {
        CoTaskMemFree(document);
        return result;
    }
    CoTaskMemFree(operation->document);
    operation->document = document;
    operation->result = result;
    if (operation->callback)
        operation->callback(operation, operation->context);
    return result;
}

/* A call about a compute system, or about one of its processes if pid is not NULL. */
static HRESULT ask(const char *function, const struct handle *h, const WCHAR *pid, const WCHAR *text,
                   struct operation *operation)
{
    struct hns_call call = {.function = function, .texts = 2, .text = {h->id, text ? text : L""}};

    if (pid)
    {
        call.text[1] = pid;
        call.text[2] = text ? text : L"";
        call.texts = text ? 3 : 2;
    }
    return finish(operation, hns_call(&call), &call);
}

static HRESULT ask_system(const char *function, const struct handle *system, const WCHAR *text,
                          struct operation *operation)
{
    return hcs_handle_is(system, SYSTEM_MAGIC) ? ask(function, system, NULL, text, operation) : E_HANDLE;
}

static HRESULT ask_process(const char *function, const struct handle *process, const WCHAR *text,
                           struct operation *operation)
{
    return hcs_handle_is(process, PROCESS_MAGIC) ? ask(function, process, process->pid, text, operation) : E_HANDLE;
}

HRESULT WINAPI HcsEnumerateComputeSystems(const WCHAR *query, struct operation *operation)
{
    struct hns_call call = {.function = "HcsEnumerateComputeSystems", .texts = 1, .text = {query ? query : L""}};

    return finish(operation, hns_call(&call), &call);
}

HRESULT WINAPI HcsCreateComputeSystem(const WCHAR *id, const WCHAR *configuration, struct operation *operation,
                                      const void *descriptor, struct handle **system)
{
    struct hns_call call = {.function = "HcsCreateComputeSystem", .texts = 2, .text = {id, configuration}};
    HRESULT result;

    (void)descriptor;
    if (!id || !system)
        return E_POINTER;
    result = hcs_handle_open(&call, id, SYSTEM_MAGIC, system);
    return finish(operation, result, &call);
}

HRESULT WINAPI HcsOpenComputeSystem(const WCHAR *id, DWORD access, struct handle **system)
{
    struct hns_call call = {.function = "HcsOpenComputeSystem", .texts = 1, .text = {id}};
    HRESULT result;

    (void)access;
    if (!id || !system)
        return E_POINTER;
    result = hcs_handle_open(&call, id, SYSTEM_MAGIC, system);
    return finish(NULL, result, &call);
}

void WINAPI HcsCloseComputeSystem(struct handle *system)
{
    if (hcs_handle_is(system, SYSTEM_MAGIC))
        hcs_handle_close(system);
}

/* A call about a compute system that says nothing more. The options of these functions are about virtual machines. */
static HRESULT ask_plain(const char *function, const struct handle *system, struct operation *operation)
{
    struct hns_call call = {.function = function, .texts = 1};

    if (!hcs_handle_is(system, SYSTEM_MAGIC))
        return E_HANDLE;
    call.text[0] = system->id;
    return finish(operation, hns_call(&call), &call);
}

HRESULT WINAPI HcsStartComputeSystem(struct handle *system, struct operation *operation, const WCHAR *options)
{
    (void)options;
    return ask_plain("HcsStartComputeSystem", system, operation);
}

HRESULT WINAPI HcsShutDownComputeSystem(struct handle *system, struct operation *operation, const WCHAR *options)
{
    (void)options;
    return ask_plain("HcsShutDownComputeSystem", system, operation);
}

HRESULT WINAPI HcsTerminateComputeSystem(struct handle *system, struct operation *operation, const WCHAR *options)
{
    (void)options;
    return ask_plain("HcsTerminateComputeSystem", system, operation);
}

HRESULT WINAPI HcsGetComputeSystemProperties(struct handle *system, struct operation *operation, const WCHAR *query)
{
    return ask_system("HcsGetComputeSystemProperties", system, query, operation);
}

HRESULT WINAPI HcsModifyComputeSystem(struct handle *system, struct operation *operation, const WCHAR *configuration,
                                      HANDLE identity)
{
    (void)identity;
    return ask_system("HcsModifyComputeSystem", system, configuration, operation);
}

HRESULT WINAPI HcsSetComputeSystemCallback(struct handle *system, DWORD options, void *context, listener callback)
{
    (void)options;
    return hcs_handle_is(system, SYSTEM_MAGIC) ? hcs_handle_listen(system, callback, context) : E_HANDLE;
}

HRESULT WINAPI HcsCreateProcess(struct handle *system, const WCHAR *parameters, struct operation *operation,
                                const void *descriptor, struct handle **process)
{
    struct hns_call call = {0};
    HRESULT result;

    (void)descriptor;
    if (!hcs_handle_is(system, SYSTEM_MAGIC))
        return E_HANDLE;
    if (!process)
        return E_POINTER;
    result = hcs_process_create(system, parameters, &call, process, operation ? &operation->info : NULL);
    return finish(operation, result, &call);
}

HRESULT WINAPI HcsOpenProcess(struct handle *system, DWORD pid, DWORD access, struct handle **process)
{
    struct hns_call call = {0};
    HRESULT result;

    (void)access;
    if (!hcs_handle_is(system, SYSTEM_MAGIC))
        return E_HANDLE;
    if (!process)
        return E_POINTER;
    result = hcs_process_open(system, pid, &call, process);
    return finish(NULL, result, &call);
}

void WINAPI HcsCloseProcess(struct handle *process)
{
    if (hcs_handle_is(process, PROCESS_MAGIC))
        hcs_handle_close(process);
}

HRESULT WINAPI HcsTerminateProcess(struct handle *process, struct operation *operation, const WCHAR *options)
{
    (void)options;
    return ask_process("HcsTerminateProcess", process, NULL, operation);
}

HRESULT WINAPI HcsSignalProcess(struct handle *process, struct operation *operation, const WCHAR *options)
{
    return ask_process("HcsSignalProcess", process, options ? options : L"", operation);
}

HRESULT WINAPI HcsGetProcessInfo(struct handle *process, struct operation *operation)
{
    struct hns_call none = {0};

    if (!hcs_handle_is(process, PROCESS_MAGIC))
        return E_HANDLE;
    if (operation)
    {
        memset(&operation->info, 0, sizeof(operation->info));
        operation->info.pid = process->number;
    }
    return finish(operation, S_OK, &none);
}

HRESULT WINAPI HcsGetProcessProperties(struct handle *process, struct operation *operation, const WCHAR *query)
{
    (void)query;
    return ask_process("HcsGetProcessProperties", process, NULL, operation);
}

HRESULT WINAPI HcsModifyProcess(struct handle *process, struct operation *operation, const WCHAR *settings)
{
    return ask_process("HcsModifyProcess", process, settings ? settings : L"", operation);
}

HRESULT WINAPI HcsSetProcessCallback(struct handle *process, DWORD options, void *context, listener callback)
{
    (void)options;
    return hcs_handle_is(process, PROCESS_MAGIC) ? hcs_handle_listen(process, callback, context) : E_HANDLE;
}

/* On x64 the caller clears the stack, so one function serves for all of them, whatever their arguments are. */
HRESULT WINAPI hcs_not_implemented(void)
{
    return E_NOTIMPL;
}

/* For those that return an object, a number or a kind: none. */
void *WINAPI hcs_none(void)
{
    return NULL;
}
