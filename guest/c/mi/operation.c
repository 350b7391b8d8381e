/*
 * Operations. A query runs in a thread of its own. Its instances go to the program's callback, in that thread, or wait
 * until the program asks for them; the last result has no instance.
 */
#include "mi.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum
{
    STACK_SIZE = 1 << 20,
    ERROR_CHARS = 64,
};

struct waiting
{
    struct waiting *next;
    struct mi_instance *instance;
};

struct mi_operation
{
    LONG references; /* the program's handle, the thread */
    struct mi_handle own, session;
    enum mi_kind kind;
    BOOL has_callbacks;
    struct mi_callbacks callbacks;
    WCHAR *space, *query;
    DWORD thread;

    SRWLOCK lock; /* for what follows */
    CONDITION_VARIABLE changed;
    struct waiting *first, **end;
    struct mi_instance *shown; /* what the program was given last */
    BOOL ended, unwanted;
    MI_Result result;
    WCHAR error[ERROR_CHARS]; /* empty if there is none */
};

static void release(struct mi_operation *operation)
{
    if (InterlockedDecrement(&operation->references))
        return;
    for (struct waiting *w = operation->first, *next; w; w = next)
    {
        next = w->next;
        mi_free_instance(w->instance);
        free(w);
    }
    mi_free_instance(operation->shown);
    free(operation->space);
    free(operation->query);
    free(operation);
}

static BOOL is_unwanted(struct mi_operation *operation)
{
    BOOL unwanted;

    AcquireSRWLockShared(&operation->lock);
    unwanted = operation->unwanted;
    ReleaseSRWLockShared(&operation->lock);
    return unwanted;
}

/* What a program calls when it has seen a result; nothing waits for that here. */
static MI_Result WINAPI acknowledge(struct mi_handle *operation)
{
    (void)operation;
    return MI_RESULT_OK;
}

/* Takes what the thread has found. */
static BOOL deliver(struct mi_operation *operation, struct mi_instance *instance)
{
    struct waiting *waiting;

    if (operation->has_callbacks)
    {
        if (operation->callbacks.instance_result)
            operation->callbacks.instance_result(&operation->own, operation->callbacks.context, instance, TRUE,
                                                 MI_RESULT_OK, NULL, NULL, acknowledge);
        mi_free_instance(instance);
        return !is_unwanted(operation);
    }
    if (!(waiting = calloc(1, sizeof(*waiting))))
    {
        mi_free_instance(instance);
        return FALSE;
    }
    waiting->instance = instance;
    AcquireSRWLockExclusive(&operation->lock);
    *operation->end = waiting;
    operation->end = &waiting->next;
    ReleaseSRWLockExclusive(&operation->lock);
    WakeAllConditionVariable(&operation->changed);
    return !is_unwanted(operation);
}

/* Delivers the last result. */
static void end(struct mi_operation *operation)
{
    const struct mi_callbacks *c = &operation->callbacks;
    const WCHAR *error = operation->error[0] ? operation->error : NULL;

    if (operation->has_callbacks)
    {
        if (operation->kind == MI_OF_INSTANCES && c->instance_result)
            c->instance_result(&operation->own, c->context, NULL, FALSE, operation->result, error, NULL, acknowledge);
        if (operation->kind == MI_OF_INDICATIONS && c->indication_result)
            c->indication_result(&operation->own, c->context, NULL, NULL, NULL, FALSE, operation->result, error, NULL,
                                 acknowledge);
        if (operation->kind == MI_OF_CLASSES && c->class_result)
            c->class_result(&operation->own, c->context, NULL, FALSE, operation->result, error, NULL, acknowledge);
    }
    AcquireSRWLockExclusive(&operation->lock);
    operation->ended = TRUE;
    ReleaseSRWLockExclusive(&operation->lock);
    WakeAllConditionVariable(&operation->changed);
}

static void describe(WCHAR *text, HRESULT error)
{
    static const WCHAR digits[] = L"0123456789abcdef", before[] = L"WMI answers 0x";
    size_t at = wcslen(before);

    memcpy(text, before, sizeof(before));
    for (int shift = 28; shift >= 0; shift -= 4)
        text[at++] = digits[(DWORD)error >> shift & 15];
    text[at] = 0;
}

static DWORD WINAPI run(void *argument)
{
    struct mi_operation *operation = argument;

    operation->thread = GetCurrentThreadId();
    if (operation->query)
    {
        const struct mi_query query = {operation->space, operation->query, deliver, operation};
        HRESULT error = mi_run_query(&query);

        operation->result = mi_result_of(error);
        if (FAILED(error))
            describe(operation->error, error);
    }
    end(operation);
    release(operation);
    return 0;
}

static MI_Result WINAPI operation_close(struct mi_handle *handle)
{
    struct mi_operation *operation = handle ? handle->object : NULL;

    if (!operation)
        return MI_RESULT_INVALID_PARAMETER;
    AcquireSRWLockExclusive(&operation->lock);
    operation->unwanted = TRUE;
    /* The last callback may close its operation; anybody else may free what the callbacks need when this returns. */
    while (!operation->ended && operation->thread != GetCurrentThreadId())
        SleepConditionVariableSRW(&operation->changed, &operation->lock, INFINITE, 0);
    ReleaseSRWLockExclusive(&operation->lock);
    if (handle != &operation->own)
        memset(handle, 0, sizeof(*handle));
    release(operation);
    return MI_RESULT_OK;
}

static MI_Result WINAPI operation_cancel(struct mi_handle *handle, DWORD reason)
{
    struct mi_operation *operation = handle ? handle->object : NULL;

    (void)reason;
    if (!operation)
        return MI_RESULT_INVALID_PARAMETER;
    AcquireSRWLockExclusive(&operation->lock);
    operation->unwanted = TRUE;
    ReleaseSRWLockExclusive(&operation->lock);
    return MI_RESULT_OK;
}

static MI_Result WINAPI operation_get_session(struct mi_handle *handle, struct mi_handle *session)
{
    struct mi_operation *operation = handle ? handle->object : NULL;

    if (!operation || !session)
        return MI_RESULT_INVALID_PARAMETER;
    *session = operation->session;
    return MI_RESULT_OK;
}

/* What the last result says, to whoever asks for it. */
static void show_end(const struct mi_operation *operation, MI_Boolean *more, MI_Result *result, const WCHAR **error,
                     const struct mi_instance **details)
{
    if (more)
        *more = FALSE;
    if (result)
        *result = operation ? operation->result : MI_RESULT_INVALID_PARAMETER;
    if (error)
        *error = operation && operation->error[0] ? operation->error : NULL;
    if (details)
        *details = NULL;
}

/* Waits until there is a result. NULL if the handle is no operation of this kind, or one with callbacks. */
static struct mi_operation *wait_for(struct mi_handle *handle, enum mi_kind kind)
{
    struct mi_operation *operation = handle ? handle->object : NULL;

    if (!operation || operation->has_callbacks || operation->kind != kind)
        return NULL;
    AcquireSRWLockExclusive(&operation->lock);
    while (!operation->first && !operation->ended)
        SleepConditionVariableSRW(&operation->changed, &operation->lock, INFINITE, 0);
    ReleaseSRWLockExclusive(&operation->lock);
    return operation;
}

/* The instance is the operation's: it lives until the next one is asked for. */
static MI_Result WINAPI operation_get_instance(struct mi_handle *handle, const struct mi_instance **instance,
                                               MI_Boolean *more, MI_Result *result, const WCHAR **error,
                                               const struct mi_instance **details)
{
    struct mi_operation *operation = wait_for(handle, MI_OF_INSTANCES);
    struct waiting *waiting = NULL;

    if (instance)
        *instance = NULL;
    show_end(operation, more, result, error, details);
    if (!operation || !instance)
        return MI_RESULT_INVALID_PARAMETER;
    AcquireSRWLockExclusive(&operation->lock);
    mi_free_instance(operation->shown);
    operation->shown = NULL;
    if ((waiting = operation->first))
    {
        if (!(operation->first = waiting->next))
            operation->end = &operation->first;
        operation->shown = waiting->instance;
    }
    ReleaseSRWLockExclusive(&operation->lock);
    if (!waiting)
        return MI_RESULT_OK;
    *instance = waiting->instance;
    free(waiting);
    if (more)
        *more = TRUE;
    if (result)
        *result = MI_RESULT_OK;
    if (error)
        *error = NULL;
    return MI_RESULT_OK;
}

static MI_Result WINAPI operation_get_indication(struct mi_handle *handle, const struct mi_instance **instance,
                                                 const WCHAR **bookmark, const WCHAR **machine, MI_Boolean *more,
                                                 MI_Result *result, const WCHAR **error,
                                                 const struct mi_instance **details)
{
    struct mi_operation *operation = wait_for(handle, MI_OF_INDICATIONS);

    if (instance)
        *instance = NULL;
    if (bookmark)
        *bookmark = NULL;
    if (machine)
        *machine = NULL;
    show_end(operation, more, result, error, details);
    return operation ? MI_RESULT_OK : MI_RESULT_INVALID_PARAMETER;
}

static MI_Result WINAPI operation_get_class(struct mi_handle *handle, const void **class, MI_Boolean *more,
                                            MI_Result *result, const WCHAR **error, const struct mi_instance **details)
{
    struct mi_operation *operation = wait_for(handle, MI_OF_CLASSES);

    if (class)
        *class = NULL;
    show_end(operation, more, result, error, details);
    return operation ? MI_RESULT_OK : MI_RESULT_INVALID_PARAMETER;
}

/* MI_OperationFT */
static const void *const operation_functions[] = {
    operation_close,        operation_cancel,         operation_get_session,
    operation_get_instance, operation_get_indication, operation_get_class,
};

/* What a program gets that no operation can be made for. */
static MI_Result no_operation(struct mi_handle *handle, struct mi_operation *operation)
{
    memset(handle, 0, sizeof(*handle));
    if (!operation)
        return MI_RESULT_SERVER_LIMITS_EXCEEDED;
    operation->references = 1;
    release(operation);
    return MI_RESULT_SERVER_LIMITS_EXCEEDED;
}

/* Starts the thread of an operation, and gives the program a handle. */
static MI_Result start(struct mi_handle *handle, struct mi_operation *operation, const struct mi_handle *session,
                       const struct mi_callbacks *callbacks)
{
    HANDLE thread;

    operation->own.object = operation;
    operation->own.functions = operation_functions;
    operation->session = *session;
    operation->references = 2;
    operation->end = &operation->first;
    InitializeSRWLock(&operation->lock);
    InitializeConditionVariable(&operation->changed);
    if (callbacks)
    {
        operation->has_callbacks = TRUE;
        operation->callbacks = *callbacks;
    }
    *handle = operation->own; /* before the thread begins: its callback may look at the program's handle */
    thread = CreateThread(NULL, STACK_SIZE, run, operation, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    if (!thread)
        return no_operation(handle, operation);
    CloseHandle(thread);
    return MI_RESULT_OK;
}

MI_Result mi_start_query(struct mi_handle *handle, const struct mi_handle *session, const WCHAR *space,
                         const WCHAR *query, const struct mi_callbacks *callbacks)
{
    struct mi_operation *operation = calloc(1, sizeof(*operation));

    if (!operation)
        return no_operation(handle, NULL);
    operation->space = _wcsdup(space ? space : L"");
    operation->query = _wcsdup(query);
    if (!operation->space || !operation->query)
        return no_operation(handle, operation);
    return start(handle, operation, session, callbacks);
}

MI_Result mi_start_ended(struct mi_handle *handle, const struct mi_handle *session, enum mi_kind kind, MI_Result result,
                         const struct mi_callbacks *callbacks)
{
    struct mi_operation *operation = calloc(1, sizeof(*operation));

    if (!operation)
        return no_operation(handle, NULL);
    operation->kind = kind;
    operation->result = result;
    return start(handle, operation, session, callbacks);
}
