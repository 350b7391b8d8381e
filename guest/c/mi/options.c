/*
 * Options of sessions and operations. Those that change nothing here are accepted: languages, as there is English
 * alone, and times after which to give up, as queries of this machine end by themselves. They are not kept, so they
 * cannot be asked for.
 */
#include "mi.h"

#include <string.h>
#include <wchar.h>

/* MI_DESTINATIONOPTIONS_… and MI_OPERATIONOPTIONS_… of mi.h. */
static BOOL changes_nothing(const WCHAR *name)
{
    static const WCHAR *const names[] = {
        L"__MI_DESTINATIONOPTIONS_TIMEOUT",      L"__MI_DESTINATIONOPTIONS_UI_LOCALE",
        L"__MI_DESTINATIONOPTIONS_DATA_LOCALE",  L"__MI_DESTINATIONOPTIONS_IMPERSONATION_TYPE",
        L"__MI_OPERATIONOPTIONS_TIMEOUT",        L"__MI_OPERATIONOPTIONS_LOCALE",
        L"__MI_OPERATIONOPTIONS_WRITEERRORMODE", L"__MI_OPERATIONOPTIONS_PROMPTUSERMODE",
    };

    for (unsigned i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
        if (!wcscmp(name, names[i]))
            return TRUE;
    return FALSE;
}

static MI_Result accept_option(const struct mi_handle *options, const WCHAR *name)
{
    if (!options || !name)
        return MI_RESULT_INVALID_PARAMETER;
    return changes_nothing(name) ? MI_RESULT_OK : MI_RESULT_NOT_SUPPORTED;
}

/* It returns nothing in mi.h; MI_RESULT_OK is for programs that look. */
static MI_Result WINAPI options_delete(struct mi_handle *options)
{
    if (options)
        memset(options, 0, sizeof(*options));
    return MI_RESULT_OK;
}

static MI_Result WINAPI options_set_string(struct mi_handle *options, const WCHAR *name, const WCHAR *value,
                                           DWORD flags)
{
    (void)value;
    (void)flags;
    return accept_option(options, name);
}

static MI_Result WINAPI options_set_number(struct mi_handle *options, const WCHAR *name, DWORD value, DWORD flags)
{
    (void)value;
    (void)flags;
    return accept_option(options, name);
}

static MI_Result WINAPI options_set_interval(struct mi_handle *options, const WCHAR *name, const void *value,
                                             DWORD flags)
{
    (void)value;
    (void)flags;
    return accept_option(options, name);
}

static MI_Result WINAPI options_count(const struct mi_handle *options, DWORD *count)
{
    if (!options || !count)
        return MI_RESULT_INVALID_PARAMETER;
    *count = 0;
    return MI_RESULT_OK;
}

static MI_Result WINAPI options_clone(const struct mi_handle *options, struct mi_handle *copy)
{
    if (!options || !copy)
        return MI_RESULT_INVALID_PARAMETER;
    *copy = *options;
    return MI_RESULT_OK;
}

/* MI_DestinationOptionsFT: nobody can be another user here. */
static const void *const destination_functions[] = {
    options_delete,   options_set_string,   options_set_number, mi_not_supported, /* AddCredentials */
    mi_not_supported,                                                             /* GetString */
    mi_not_supported,                                                             /* GetNumber */
    options_count,    mi_not_supported,                                           /* GetOptionAt */
    mi_not_supported,                                                             /* GetOption */
    options_count,                                                                /* GetCredentialsCount */
    mi_not_supported,                                                             /* GetCredentialsAt */
    mi_not_supported,                                                             /* GetCredentialsPasswordAt */
    options_clone,    options_set_interval, mi_not_supported,                     /* GetInterval */
};

/* MI_OperationOptionsFT */
static const void *const operation_functions[] = {
    options_delete,   options_set_string,   options_set_number, mi_not_supported, /* SetCustomOption */
    mi_not_supported,                                                             /* GetString */
    mi_not_supported,                                                             /* GetNumber */
    options_count,    mi_not_supported,                                           /* GetOptionAt */
    mi_not_supported,                                                             /* GetOption */
    mi_not_supported,                                                             /* GetEnabledChannels */
    options_clone,    options_set_interval, mi_not_supported,                     /* GetInterval */
};

void mi_init_options(struct mi_handle *options, BOOL for_destination)
{
    memset(options, 0, sizeof(*options));
    options->functions = for_destination ? destination_functions : operation_functions;
}
