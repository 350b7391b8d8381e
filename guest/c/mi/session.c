/* Applications and sessions. There is one machine to talk to: this one. */
#include "mi.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum
{
    CLASS_CHARS = 256
};

static MI_Result WINAPI session_close(struct mi_handle *session, void *context, void(WINAPI *completed)(void *context))
{
    if (!session)
        return MI_RESULT_INVALID_PARAMETER;
    memset(session, 0, sizeof(*session));
    if (completed)
        completed(context);
    return MI_RESULT_OK;
}

static MI_Result WINAPI session_get_application(struct mi_handle *session, struct mi_handle *application)
{
    if (!session || !application)
        return MI_RESULT_INVALID_PARAMETER;
    mi_init_application(application);
    return MI_RESULT_OK;
}

/*
 * The functions of a session begin an operation, whose results say how it went. They return nothing in mi.h; a program
 * that looks at what they return all the same finds MI_RESULT_OK.
 */
static MI_Result WINAPI session_query(struct mi_handle *session, DWORD flags, void *options, const WCHAR *space,
                                      const WCHAR *dialect, const WCHAR *query, const struct mi_callbacks *callbacks,
                                      struct mi_handle *operation)
{
    (void)flags;
    (void)options;
    if (!session || !operation)
        return MI_RESULT_INVALID_PARAMETER;
    if (dialect && _wcsicmp(dialect, L"WQL"))
        return mi_start_ended(operation, session, MI_OF_INSTANCES, MI_RESULT_QUERY_LANGUAGE_NOT_SUPPORTED, callbacks);
    if (!query)
        return mi_start_ended(operation, session, MI_OF_INSTANCES, MI_RESULT_INVALID_PARAMETER, callbacks);
    return mi_start_query(operation, session, space, query, callbacks);
}

static MI_Result WINAPI session_enumerate(struct mi_handle *session, DWORD flags, void *options, const WCHAR *space,
                                          const WCHAR *class, MI_Boolean keys_only,
                                          const struct mi_callbacks *callbacks, struct mi_handle *operation)
{
    WCHAR query[CLASS_CHARS + 32] = L"SELECT * FROM ";

    (void)keys_only;
    if (!session || !operation)
        return MI_RESULT_INVALID_PARAMETER;
    if (!class || wcslen(class) >= CLASS_CHARS)
        return mi_start_ended(operation, session, MI_OF_INSTANCES, MI_RESULT_INVALID_PARAMETER, callbacks);
    return session_query(session, flags, options, space, NULL, wcscat(query, class), callbacks, operation);
}

static MI_Result WINAPI session_test(struct mi_handle *session, DWORD flags, const struct mi_callbacks *callbacks,
                                     struct mi_handle *operation)
{
    (void)flags;
    if (!session || !operation)
        return MI_RESULT_INVALID_PARAMETER;
    return mi_start_ended(operation, session, MI_OF_INSTANCES, MI_RESULT_OK, callbacks);
}

/* An operation that is not there; its callbacks and its handle are the last two of its function's parameters. */
static MI_Result refuse(struct mi_handle *session, enum mi_kind kind, const struct mi_callbacks *callbacks,
                        struct mi_handle *operation)
{
    if (!session || !operation)
        return MI_RESULT_INVALID_PARAMETER;
    return mi_start_ended(operation, session, kind, MI_RESULT_NOT_SUPPORTED, callbacks);
}

/* GetInstance, ModifyInstance, CreateInstance, DeleteInstance */
static MI_Result WINAPI session_one(struct mi_handle *session, DWORD flags, void *options, const WCHAR *space,
                                    const void *instance, const struct mi_callbacks *callbacks,
                                    struct mi_handle *operation)
{
    (void)flags;
    (void)options;
    (void)space;
    (void)instance;
    return refuse(session, MI_OF_INSTANCES, callbacks, operation);
}

static MI_Result WINAPI session_invoke(struct mi_handle *session, DWORD flags, void *options, const WCHAR *space,
                                       const WCHAR *class, const WCHAR *method, const void *instance,
                                       const void *properties, const struct mi_callbacks *callbacks,
                                       struct mi_handle *operation)
{
    (void)class;
    (void)method;
    (void)properties;
    return session_one(session, flags, options, space, instance, callbacks, operation);
}

static MI_Result WINAPI session_associators(struct mi_handle *session, DWORD flags, void *options, const WCHAR *space,
                                            const void *keys, const WCHAR *association, const WCHAR *result,
                                            const WCHAR *role, const WCHAR *result_role, MI_Boolean keys_only,
                                            const struct mi_callbacks *callbacks, struct mi_handle *operation)
{
    (void)association;
    (void)result;
    (void)role;
    (void)result_role;
    (void)keys_only;
    return session_one(session, flags, options, space, keys, callbacks, operation);
}

static MI_Result WINAPI session_references(struct mi_handle *session, DWORD flags, void *options, const WCHAR *space,
                                           const void *keys, const WCHAR *result, const WCHAR *role,
                                           MI_Boolean keys_only, const struct mi_callbacks *callbacks,
                                           struct mi_handle *operation)
{
    (void)result;
    (void)role;
    (void)keys_only;
    return session_one(session, flags, options, space, keys, callbacks, operation);
}

static MI_Result WINAPI session_subscribe(struct mi_handle *session, DWORD flags, void *options, const WCHAR *space,
                                          const WCHAR *dialect, const WCHAR *query, const void *delivery,
                                          const struct mi_callbacks *callbacks, struct mi_handle *operation)
{
    (void)flags;
    (void)options;
    (void)space;
    (void)dialect;
    (void)query;
    (void)delivery;
    return refuse(session, MI_OF_INDICATIONS, callbacks, operation);
}

static MI_Result WINAPI session_class(struct mi_handle *session, DWORD flags, void *options, const WCHAR *space,
                                      const WCHAR *class, const struct mi_callbacks *callbacks,
                                      struct mi_handle *operation)
{
    (void)flags;
    (void)options;
    (void)space;
    (void)class;
    return refuse(session, MI_OF_CLASSES, callbacks, operation);
}

static MI_Result WINAPI session_classes(struct mi_handle *session, DWORD flags, void *options, const WCHAR *space,
                                        const WCHAR *class, MI_Boolean names, const struct mi_callbacks *callbacks,
                                        struct mi_handle *operation)
{
    (void)names;
    return session_class(session, flags, options, space, class, callbacks, operation);
}

/* MI_SessionFT */
static const void *const session_functions[] = {
    session_close,     session_get_application, session_one, /* GetInstance */
    session_one,                                             /* ModifyInstance */
    session_one,                                             /* CreateInstance */
    session_one,                                             /* DeleteInstance */
    session_invoke,    session_enumerate,       session_query,   session_associators, session_references,
    session_subscribe, session_class,           session_classes, session_test,
};

static MI_Result WINAPI application_close(struct mi_handle *application)
{
    if (!application)
        return MI_RESULT_INVALID_PARAMETER;
    memset(application, 0, sizeof(*application));
    return MI_RESULT_OK;
}

static BOOL is_here(const WCHAR *destination)
{
    WCHAR own[MAX_COMPUTERNAME_LENGTH + 1];
    DWORD length = MAX_COMPUTERNAME_LENGTH + 1;

    return !destination || !*destination || !wcscmp(destination, L".") || !_wcsicmp(destination, L"localhost") ||
           (GetComputerNameW(own, &length) && !_wcsicmp(destination, own));
}

/* Any protocol will do: nothing leaves this machine. */
static MI_Result WINAPI application_new_session(struct mi_handle *application, const WCHAR *protocol,
                                                const WCHAR *destination, void *options, void *callbacks,
                                                const struct mi_instance **error, struct mi_handle *session)
{
    (void)protocol;
    (void)options;
    (void)callbacks;
    if (error)
        *error = NULL;
    if (!application || !session)
        return MI_RESULT_INVALID_PARAMETER;
    memset(session, 0, sizeof(*session));
    if (!is_here(destination))
        return MI_RESULT_NOT_SUPPORTED;
    session->functions = session_functions;
    return MI_RESULT_OK;
}

static MI_Result WINAPI application_new_destination_options(struct mi_handle *application, struct mi_handle *options)
{
    if (!application || !options)
        return MI_RESULT_INVALID_PARAMETER;
    mi_init_options(options, TRUE);
    return MI_RESULT_OK;
}

static MI_Result WINAPI application_new_operation_options(struct mi_handle *application, MI_Boolean must_understand,
                                                          struct mi_handle *options)
{
    (void)must_understand;
    if (!application || !options)
        return MI_RESULT_INVALID_PARAMETER;
    mi_init_options(options, FALSE);
    return MI_RESULT_OK;
}

/* MI_ApplicationFT */
static const void *const application_functions[] = {
    application_close,
    application_new_session,
    mi_not_supported, /* NewHostedProvider */
    mi_not_supported, /* NewInstance */
    application_new_destination_options,
    application_new_operation_options,
    mi_not_supported, /* NewSubscriptionDeliveryOptions */
    mi_not_supported, /* NewSerializer */
    mi_not_supported, /* NewDeserializer */
    mi_not_supported, /* NewInstanceFromClass */
    mi_not_supported, /* NewClass */
};

void mi_init_application(struct mi_handle *application)
{
    memset(application, 0, sizeof(*application));
    application->functions = application_functions;
}

/* The library stays: its threads may outlive the program's last handle. */
MI_Result WINAPI MI_Application_InitializeV1(DWORD flags, const WCHAR *id, const struct mi_instance **error,
                                             struct mi_handle *application)
{
    HMODULE own;

    (void)flags;
    (void)id;
    if (error)
        *error = NULL;
    if (!application)
        return MI_RESULT_INVALID_PARAMETER;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                       (const WCHAR *)application_functions, &own);
    mi_init_application(application);
    SetLastError(ERROR_SUCCESS); /* windows_exporter takes any other for a failure */
    return MI_RESULT_OK;
}
