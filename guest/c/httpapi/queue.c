/* The library's start, and request queues. */
#include "httpapi.h"

unsigned httpapi_version = 1;

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, void *reserved)
{
    (void)instance;
    (void)reserved;
    if (reason == DLL_PROCESS_ATTACH)
        return httpapi_device_start();
    if (reason == DLL_THREAD_DETACH)
        httpapi_device_thread_ends();
    return TRUE;
}

ULONG WINAPI HttpInitialize(HTTPAPI_VERSION version, ULONG flags, void *reserved)
{
    HANDLE file;
    ULONG error;

    if (reserved || !flags || flags & ~(HTTP_INITIALIZE_SERVER | HTTP_INITIALIZE_CONFIG))
        return ERROR_INVALID_PARAMETER;
    if (version.HttpApiMajorVersion < 1 || version.HttpApiMajorVersion > 2 || version.HttpApiMinorVersion)
        return ERROR_REVISION_MISMATCH;
    if (!(flags & HTTP_INITIALIZE_SERVER))
        return ERROR_SUCCESS;
    if (version.HttpApiMajorVersion > httpapi_version)
        httpapi_version = version.HttpApiMajorVersion;
    error = httpapi_device_open(&file);
    if (!error)
        CloseHandle(file);
    return error;
}

ULONG WINAPI HttpTerminate(ULONG flags, void *reserved)
{
    (void)flags; /* what was opened is closed by its own handle */
    return reserved ? ERROR_INVALID_PARAMETER : ERROR_SUCCESS;
}

static ULONG queue_new(unsigned version, HANDLE *queue)
{
    struct http_queue_new in = {.version = version};
    ULONG error = httpapi_device_open(queue);

    if (error)
        return error;
    error = httpapi_device_ask(*queue, HTTP_IOCTL_QUEUE_NEW, &in, sizeof(in), NULL, 0, NULL, NULL);
    if (!error)
        return ERROR_SUCCESS;
    CloseHandle(*queue);
    *queue = NULL;
    return error;
}

ULONG WINAPI HttpCreateHttpHandle(HANDLE *queue, ULONG options)
{
    return queue && !options ? queue_new(httpapi_version, queue) : ERROR_INVALID_PARAMETER;
}

/* The name is for other processes that open the queue, which none can. */
ULONG WINAPI HttpCreateRequestQueue(HTTPAPI_VERSION version, const WCHAR *name, SECURITY_ATTRIBUTES *security,
                                    ULONG flags, HANDLE *queue)
{
    (void)name;
    (void)security;
    if (!queue || version.HttpApiMajorVersion != 2)
        return ERROR_INVALID_PARAMETER;
    return flags ? ERROR_NOT_SUPPORTED : queue_new(2, queue);
}

ULONG WINAPI HttpCloseRequestQueue(HANDLE queue)
{
    return CloseHandle(queue) ? ERROR_SUCCESS : ERROR_INVALID_HANDLE;
}

ULONG WINAPI HttpShutdownRequestQueue(HANDLE queue)
{
    return httpapi_device_ask(queue, HTTP_IOCTL_QUEUE_SHUTDOWN, NULL, 0, NULL, 0, NULL, NULL);
}

/* All of the properties of a queue are one number. */
static ULONG property(HANDLE queue, uint32_t code, HTTP_SERVER_PROPERTY name, uint32_t *value)
{
    struct http_property in = {.value = *value};
    ULONG error;

    switch (name)
    {
    case HttpServerStateProperty: in.id = HTTP_PROPERTY_STATE; break;
    case HttpServerQueueLengthProperty: in.id = HTTP_PROPERTY_LENGTH; break;
    case HttpServer503VerbosityProperty:
        if (code == HTTP_IOCTL_QUEUE_GET)
            *value = Http503ResponseVerbosityFull;
        return code == HTTP_IOCTL_QUEUE_SET && *value > Http503ResponseVerbosityFull ? ERROR_INVALID_PARAMETER
                                                                                     : ERROR_SUCCESS;
    default: return ERROR_NOT_SUPPORTED;
    }
    error = httpapi_device_ask(queue, code, &in, sizeof(in), &in, sizeof(in), NULL, NULL);
    *value = (uint32_t)in.value;
    return error;
}

ULONG WINAPI HttpSetRequestQueueProperty(HANDLE queue, HTTP_SERVER_PROPERTY name, void *information, ULONG length,
                                         ULONG reserved, void *reserved2)
{
    uint32_t value;

    if (!information || length < sizeof(value) || reserved || reserved2)
        return ERROR_INVALID_PARAMETER;
    value = *(uint32_t *)information;
    return property(queue, HTTP_IOCTL_QUEUE_SET, name, &value);
}

ULONG WINAPI HttpQueryRequestQueueProperty(HANDLE queue, HTTP_SERVER_PROPERTY name, void *information, ULONG length,
                                           ULONG reserved, ULONG *needed, void *reserved2)
{
    uint32_t value = 0;
    ULONG error;

    if (reserved || reserved2)
        return ERROR_INVALID_PARAMETER;
    if (needed)
        *needed = sizeof(value);
    if (!information || length < sizeof(value))
        return needed ? ERROR_MORE_DATA : ERROR_INSUFFICIENT_BUFFER;
    error = property(queue, HTTP_IOCTL_QUEUE_GET, name, &value);
    if (!error)
        *(uint32_t *)information = value;
    return error;
}

ULONG WINAPI HttpWaitForDemandStart(HANDLE queue, OVERLAPPED *overlapped)
{
    (void)queue;
    (void)overlapped;
    return ERROR_NOT_SUPPORTED;
}

BOOL WINAPI HttpIsFeatureSupported(int feature)
{
    (void)feature;
    return FALSE;
}
