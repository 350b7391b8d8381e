/*
 * Server sessions and URL groups. A session is a file of the driver, which has its groups; the numbers of groups are
 * the driver's, and here is noted whose they are.
 */
#include "httpapi.h"

#include <string.h>

struct group
{
    struct group *next;
    HTTP_URL_GROUP_ID id;
    HANDLE session;
    HANDLE queue; /* that it is bound to */
};

static SRWLOCK guard = SRWLOCK_INIT;
static struct group *groups;

static struct group *find(HTTP_URL_GROUP_ID id)
{
    struct group *group;

    for (group = groups; group && group->id != id; group = group->next)
        ;
    return group;
}

/* The file that a group is one of, NULL: there is no such group. */
static HANDLE session_of(HTTP_URL_GROUP_ID id)
{
    struct group *group;
    HANDLE session;

    AcquireSRWLockShared(&guard);
    group = find(id);
    session = group ? group->session : NULL;
    ReleaseSRWLockShared(&guard);
    return session;
}

ULONG WINAPI HttpCreateServerSession(HTTPAPI_VERSION version, HTTP_SERVER_SESSION_ID *id, ULONG reserved)
{
    HANDLE file;
    ULONG error;

    if (!id || reserved || version.HttpApiMajorVersion != 2)
        return ERROR_INVALID_PARAMETER;
    error = httpapi_device_open(&file);
    if (!error)
        *id = (ULONG_PTR)file;
    return error;
}

/* Has the driver close a group that is in no list any more. */
static ULONG close_group(struct group *group)
{
    uint64_t number = group->id;
    ULONG error = httpapi_device_ask(group->session, HTTP_IOCTL_GROUP_CLOSE, &number, sizeof(number), NULL, 0, NULL,
                                     NULL);

    httpapi_put_back(group);
    return error;
}

/*
 * The driver learns of a closed handle some time after CloseHandle has returned. So the groups are closed one by one
 * before: then their ports are given back.
 */
ULONG WINAPI HttpCloseServerSession(HTTP_SERVER_SESSION_ID id)
{
    HANDLE file = (HANDLE)(ULONG_PTR)id;
    struct group *closed = NULL;

    AcquireSRWLockExclusive(&guard);
    for (struct group **at = &groups, *group; (group = *at);)
    {
        if (group->session != file)
        {
            at = &group->next;
            continue;
        }
        *at = group->next;
        group->next = closed;
        closed = group;
    }
    ReleaseSRWLockExclusive(&guard);
    while (closed)
    {
        struct group *next = closed->next;

        close_group(closed);
        closed = next;
    }
    return CloseHandle(file) ? ERROR_SUCCESS : ERROR_INVALID_PARAMETER;
}

ULONG WINAPI HttpCreateUrlGroup(HTTP_SERVER_SESSION_ID session, HTTP_URL_GROUP_ID *id, ULONG reserved)
{
    struct group *group;
    uint64_t number = 0;
    ULONG error;

    if (!id || reserved)
        return ERROR_INVALID_PARAMETER;
    group = httpapi_take(sizeof(*group));
    if (!group)
        return ERROR_NOT_ENOUGH_MEMORY;
    group->session = (HANDLE)(ULONG_PTR)session;
    error = httpapi_device_ask(group->session, HTTP_IOCTL_GROUP_NEW, NULL, 0, &number, sizeof(number), NULL, NULL);
    if (error)
    {
        httpapi_put_back(group);
        return error == ERROR_INVALID_HANDLE ? ERROR_INVALID_PARAMETER : error;
    }
    *id = group->id = number;
    AcquireSRWLockExclusive(&guard);
    group->next = groups;
    groups = group;
    ReleaseSRWLockExclusive(&guard);
    return ERROR_SUCCESS;
}

ULONG WINAPI HttpCloseUrlGroup(HTTP_URL_GROUP_ID id)
{
    struct group *group = NULL;

    AcquireSRWLockExclusive(&guard);
    for (struct group **at = &groups; *at; at = &(*at)->next)
        if ((*at)->id == id)
        {
            group = *at;
            *at = group->next;
            break;
        }
    ReleaseSRWLockExclusive(&guard);
    return group ? close_group(group) : ERROR_INVALID_PARAMETER;
}

static ULONG url(HANDLE file, uint32_t code, uint64_t group, const WCHAR *text, uint64_t context, BOOL all)
{
    size_t length = text ? wcslen(text) : 0, size = sizeof(struct http_url) + length * sizeof(WCHAR);
    struct http_url *in;
    ULONG error;

    if (!file || (!text && !all) || length > 32767)
        return ERROR_INVALID_PARAMETER;
    in = httpapi_take(size);
    if (!in)
        return ERROR_NOT_ENOUGH_MEMORY;
    in->group = group;
    in->context = context;
    in->all = all;
    in->length = (uint32_t)length;
    memcpy(in->text, text, length * sizeof(WCHAR));
    error = httpapi_device_ask(file, code, in, (ULONG)size, NULL, 0, NULL, NULL);
    httpapi_put_back(in);
    return error;
}

ULONG WINAPI HttpAddUrl(HANDLE queue, const WCHAR *text, void *reserved)
{
    return reserved ? ERROR_INVALID_PARAMETER : url(queue, HTTP_IOCTL_ADD_URL, 0, text, 0, FALSE);
}

ULONG WINAPI HttpRemoveUrl(HANDLE queue, const WCHAR *text)
{
    return url(queue, HTTP_IOCTL_REMOVE_URL, 0, text, 0, FALSE);
}

ULONG WINAPI HttpAddUrlToUrlGroup(HTTP_URL_GROUP_ID group, const WCHAR *text, HTTP_URL_CONTEXT context, ULONG reserved)
{
    return reserved ? ERROR_INVALID_PARAMETER : url(session_of(group), HTTP_IOCTL_ADD_URL, group, text, context, FALSE);
}

ULONG WINAPI HttpRemoveUrlFromUrlGroup(HTTP_URL_GROUP_ID group, const WCHAR *text, ULONG flags)
{
    BOOL all = flags == 1; /* HTTP_URL_FLAG_REMOVE_ALL */

    if (flags > 1 || (all && text))
        return ERROR_INVALID_PARAMETER;
    return url(session_of(group), HTTP_IOCTL_REMOVE_URL, group, text, 0, all);
}

static ULONG number(HTTP_URL_GROUP_ID group, uint32_t code, uint32_t id, uint64_t *value)
{
    HANDLE session = session_of(group);
    struct http_property in = {.group = group, .id = id, .value = *value};
    ULONG error = session ? httpapi_device_ask(session, code, &in, sizeof(in), &in, sizeof(in), NULL, NULL)
                          : ERROR_INVALID_PARAMETER;

    *value = in.value;
    return error;
}

static ULONG bind_to(HTTP_URL_GROUP_ID id, const HTTP_BINDING_INFO *binding)
{
    struct group *group;
    uint64_t queue = 0;
    ULONG error = ERROR_SUCCESS;

    if (binding->Flags.Present)
        error = httpapi_device_ask(binding->RequestQueueHandle, HTTP_IOCTL_QUEUE_ID, NULL, 0, &queue, sizeof(queue),
                                   NULL, NULL);
    if (!error)
        error = number(id, HTTP_IOCTL_GROUP_SET, HTTP_PROPERTY_BINDING, &queue);
    AcquireSRWLockExclusive(&guard);
    group = find(id);
    if (!error && group)
        group->queue = binding->Flags.Present ? binding->RequestQueueHandle : NULL;
    ReleaseSRWLockExclusive(&guard);
    return error;
}

static ULONG set_times(HTTP_URL_GROUP_ID id, const HTTP_TIMEOUT_LIMIT_INFO *info)
{
    HANDLE session = session_of(id);
    struct http_property in = {.group = id, .id = HTTP_PROPERTY_TIMES};

    in.times[HTTP_TIME_BODY] = info->EntityBody;
    in.times[HTTP_TIME_DRAIN] = info->DrainEntityBody;
    in.times[HTTP_TIME_QUEUE] = info->RequestQueue;
    in.times[HTTP_TIME_IDLE] = info->IdleConnection;
    in.times[HTTP_TIME_HEAD] = info->HeaderWait;
    in.rate = info->MinSendRate;
    return session ? httpapi_device_ask(session, HTTP_IOCTL_GROUP_SET, &in, sizeof(in), NULL, 0, NULL, NULL)
                   : ERROR_INVALID_PARAMETER;
}

static ULONG get_times(HTTP_URL_GROUP_ID id, HTTP_TIMEOUT_LIMIT_INFO *info)
{
    HANDLE session = session_of(id);
    struct http_property in = {.group = id, .id = HTTP_PROPERTY_TIMES};
    ULONG error = session
                      ? httpapi_device_ask(session, HTTP_IOCTL_GROUP_GET, &in, sizeof(in), &in, sizeof(in), NULL, NULL)
                      : ERROR_INVALID_PARAMETER;

    info->Flags.Present = 1;
    info->EntityBody = in.times[HTTP_TIME_BODY];
    info->DrainEntityBody = in.times[HTTP_TIME_DRAIN];
    info->RequestQueue = in.times[HTTP_TIME_QUEUE];
    info->IdleConnection = in.times[HTTP_TIME_IDLE];
    info->HeaderWait = in.times[HTTP_TIME_HEAD];
    info->MinSendRate = in.rate;
    return error;
}

/* That nobody is to log in is what there is; that somebody is cannot be had. */
static ULONG authentication(const void *information, ULONG length)
{
    const HTTP_SERVER_AUTHENTICATION_INFO *info = information;

    if (length < sizeof(*info))
        return ERROR_INVALID_PARAMETER;
    return info->Flags.Present && info->AuthSchemes ? ERROR_NOT_SUPPORTED : ERROR_SUCCESS;
}

ULONG WINAPI HttpSetUrlGroupProperty(HTTP_URL_GROUP_ID group, HTTP_SERVER_PROPERTY property, void *information,
                                     ULONG length)
{
    uint64_t state;

    if (!information || !session_of(group))
        return ERROR_INVALID_PARAMETER;
    switch (property)
    {
    case HttpServerBindingProperty:
        return length < sizeof(HTTP_BINDING_INFO) ? ERROR_INVALID_PARAMETER : bind_to(group, information);
    case HttpServerStateProperty:
        if (length < sizeof(HTTP_STATE_INFO))
            return ERROR_INVALID_PARAMETER;
        state = ((HTTP_STATE_INFO *)information)->State;
        return ((HTTP_STATE_INFO *)information)->Flags.Present
                   ? number(group, HTTP_IOCTL_GROUP_SET, HTTP_PROPERTY_STATE, &state)
                   : ERROR_SUCCESS;
    case HttpServerTimeoutsProperty:
        return length < sizeof(HTTP_TIMEOUT_LIMIT_INFO) ? ERROR_INVALID_PARAMETER : set_times(group, information);
    case HttpServerAuthenticationProperty:
    case HttpServerExtendedAuthenticationProperty: return authentication(information, length);
    default: return ERROR_NOT_SUPPORTED;
    }
}

static ULONG get_state(HTTP_URL_GROUP_ID id, HTTP_STATE_INFO *state)
{
    uint64_t value = 0;
    ULONG error = number(id, HTTP_IOCTL_GROUP_GET, HTTP_PROPERTY_STATE, &value);

    state->Flags.Present = 1;
    state->State = (HTTP_ENABLED_STATE)value;
    return error;
}

static ULONG get_binding(HTTP_URL_GROUP_ID id, HTTP_BINDING_INFO *binding)
{
    uint64_t value = 0;
    ULONG error = number(id, HTTP_IOCTL_GROUP_GET, HTTP_PROPERTY_BINDING, &value);
    struct group *group;

    AcquireSRWLockShared(&guard);
    group = find(id);
    binding->Flags.Present = value && group;
    binding->RequestQueueHandle = binding->Flags.Present ? group->queue : NULL;
    ReleaseSRWLockShared(&guard);
    return error;
}

ULONG WINAPI HttpQueryUrlGroupProperty(HTTP_URL_GROUP_ID id, HTTP_SERVER_PROPERTY property, void *information,
                                       ULONG length, ULONG *needed)
{
    ULONG size;

    if (!session_of(id))
        return ERROR_INVALID_PARAMETER;
    switch (property)
    {
    case HttpServerBindingProperty: size = sizeof(HTTP_BINDING_INFO); break;
    case HttpServerStateProperty: size = sizeof(HTTP_STATE_INFO); break;
    case HttpServerTimeoutsProperty: size = sizeof(HTTP_TIMEOUT_LIMIT_INFO); break;
    default: return ERROR_NOT_SUPPORTED;
    }
    if (needed)
        *needed = size;
    if (!information || length < size)
        return needed ? ERROR_MORE_DATA : ERROR_INSUFFICIENT_BUFFER;
    memset(information, 0, size);
    switch (property)
    {
    case HttpServerBindingProperty: return get_binding(id, information);
    case HttpServerStateProperty: return get_state(id, information);
    default: return get_times(id, information);
    }
}

ULONG WINAPI HttpSetServerSessionProperty(HTTP_SERVER_SESSION_ID session, HTTP_SERVER_PROPERTY property,
                                          void *information, ULONG length)
{
    (void)session;
    if (!information)
        return ERROR_INVALID_PARAMETER;
    if (property == HttpServerAuthenticationProperty || property == HttpServerExtendedAuthenticationProperty)
        return authentication(information, length);
    return ERROR_NOT_SUPPORTED;
}

ULONG WINAPI HttpQueryServerSessionProperty(HTTP_SERVER_SESSION_ID session, HTTP_SERVER_PROPERTY property,
                                            void *information, ULONG length, ULONG *needed)
{
    (void)session;
    (void)property;
    (void)information;
    (void)length;
    (void)needed;
    return ERROR_NOT_SUPPORTED;
}
