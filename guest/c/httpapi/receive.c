/* Requests and their bodies. */
#include "httpapi.h"

ULONG WINAPI HttpReceiveHttpRequest(HANDLE queue, HTTP_REQUEST_ID id, ULONG flags, HTTP_REQUEST *request, ULONG length,
                                    ULONG *received, OVERLAPPED *overlapped)
{
    struct http_receive in = {.id = id, .address = (ULONG_PTR)request, .flags = flags};

    if (!request)
        return ERROR_INVALID_PARAMETER;
    if (length < sizeof(HTTP_REQUEST_V1))
        return ERROR_INSUFFICIENT_BUFFER;
    return httpapi_device_ask(queue, HTTP_IOCTL_RECEIVE, &in, sizeof(in), request, length, received, overlapped);
}

ULONG WINAPI HttpReceiveRequestEntityBody(HANDLE queue, HTTP_REQUEST_ID id, ULONG flags, void *buffer, ULONG length,
                                          ULONG *received, OVERLAPPED *overlapped)
{
    struct http_body in = {.id = id, .flags = flags};

    if (!buffer || !length)
        return ERROR_INVALID_PARAMETER;
    return httpapi_device_ask(queue, HTTP_IOCTL_BODY, &in, sizeof(in), buffer, length, received, overlapped);
}

ULONG WINAPI HttpCancelHttpRequest(HANDLE queue, HTTP_REQUEST_ID id, OVERLAPPED *overlapped)
{
    uint64_t in = id;

    return httpapi_device_ask(queue, HTTP_IOCTL_CANCEL, &in, sizeof(in), NULL, 0, NULL, overlapped);
}

ULONG WINAPI HttpWaitForDisconnect(HANDLE queue, HTTP_CONNECTION_ID id, OVERLAPPED *overlapped)
{
    uint64_t in = id;

    return httpapi_device_ask(queue, HTTP_IOCTL_WAIT, &in, sizeof(in), NULL, 0, NULL, overlapped);
}

ULONG WINAPI HttpWaitForDisconnectEx(HANDLE queue, HTTP_CONNECTION_ID id, ULONG reserved, OVERLAPPED *overlapped)
{
    return reserved ? ERROR_INVALID_PARAMETER : HttpWaitForDisconnect(queue, id, overlapped);
}

/* Connections have no certificates, because there is no HTTPS. */
ULONG WINAPI HttpReceiveClientCertificate(HANDLE queue, HTTP_CONNECTION_ID id, ULONG flags,
                                          HTTP_SSL_CLIENT_CERT_INFO *info, ULONG size, ULONG *received,
                                          OVERLAPPED *overlapped)
{
    (void)queue;
    (void)id;
    (void)flags;
    (void)info;
    (void)size;
    (void)received;
    (void)overlapped;
    return ERROR_NOT_SUPPORTED;
}
