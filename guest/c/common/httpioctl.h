/*
 * What httpapi.dll (../httpapi) and the driver behind it (../http) say to each other. An open file of the device is a
 * request queue, a server session with its URL groups, or both; what it owns goes with it. All of the requests have the
 * form of METHOD_BUFFERED. Numbers are those of this machine.
 */
#ifndef MULLION_HTTPIOCTL_H
#define MULLION_HTTPIOCTL_H

#include <stdint.h>

#define HTTP_DEVICE L"\\Device\\MullionHttp"

/* CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800 + n, METHOD_BUFFERED, FILE_ANY_ACCESS) */
#define HTTP_IOCTL(n) (0x00220000u | (0x800u + (n)) << 2)

// clang-format off
enum
{
    HTTP_IOCTL_QUEUE_NEW      = HTTP_IOCTL(0),  /* in: http_queue_new */
    HTTP_IOCTL_QUEUE_SET      = HTTP_IOCTL(1),  /* in: http_property */
    HTTP_IOCTL_QUEUE_GET      = HTTP_IOCTL(2),  /* in, out: http_property */
    HTTP_IOCTL_QUEUE_ID       = HTTP_IOCTL(3),  /* out: the queue's number, uint64_t */
    HTTP_IOCTL_QUEUE_SHUTDOWN = HTTP_IOCTL(4),
    HTTP_IOCTL_GROUP_NEW      = HTTP_IOCTL(5),  /* out: the group's number, uint64_t */
    HTTP_IOCTL_GROUP_CLOSE    = HTTP_IOCTL(6),  /* in: uint64_t */
    HTTP_IOCTL_GROUP_SET      = HTTP_IOCTL(7),  /* in: http_property */
    HTTP_IOCTL_GROUP_GET      = HTTP_IOCTL(8),  /* in, out: http_property */
    HTTP_IOCTL_ADD_URL        = HTTP_IOCTL(9),  /* in: http_url */
    HTTP_IOCTL_REMOVE_URL     = HTTP_IOCTL(10), /* in: http_url */
    HTTP_IOCTL_RECEIVE        = HTTP_IOCTL(11), /* in: http_receive; out: HTTP_REQUEST */
    HTTP_IOCTL_BODY           = HTTP_IOCTL(12), /* in: http_body; out: bytes */
    HTTP_IOCTL_SEND           = HTTP_IOCTL(13), /* in: http_send, reason, headers, body */
    HTTP_IOCTL_CANCEL         = HTTP_IOCTL(14), /* in: a request's number, uint64_t */
    HTTP_IOCTL_WAIT           = HTTP_IOCTL(15), /* in: a connection's number, uint64_t; done when it is gone */
};
// clang-format on

struct http_queue_new
{
    uint32_t version; /* of the API: 1 or 2; what HTTP_REQUEST a receiver gets */
};

enum http_property_id
{
    HTTP_PROPERTY_STATE,   /* 0: active, 1: inactive */
    HTTP_PROPERTY_LENGTH,  /* of a queue: how many requests may wait */
    HTTP_PROPERTY_BINDING, /* of a group: the queue's number, 0: none */
    HTTP_PROPERTY_TIMES,   /* of a group: seconds */
};

/* How long something may take, in the order of HTTP_TIMEOUT_LIMIT_INFO. */
enum http_time
{
    HTTP_TIME_BODY,  /* until the next part of a request's body comes */
    HTTP_TIME_DRAIN, /* until the rest of a body has come that nobody reads */
    HTTP_TIME_QUEUE, /* until a request is received */
    HTTP_TIME_IDLE,  /* until the next request begins */
    HTTP_TIME_HEAD,  /* until its head has come */
    HTTP_TIMES,
};

struct http_property
{
    uint64_t group; /* 0: the queue of the file */
    uint32_t id;    /* http_property_id */
    uint64_t value;
    uint16_t times[HTTP_TIMES]; /* 0: the default */
    uint32_t rate;              /* bytes a second that a client must take; kept, not carried out */
};

struct http_url
{
    uint64_t group;   /* 0: the queue of the file */
    uint64_t context; /* HTTP_URL_CONTEXT, for what is added */
    uint32_t all;     /* remove all of the group's */
    uint32_t length;  /* of text, in characters */
    uint16_t text[];
};

struct http_receive
{
    uint64_t id;      /* of the request; 0: the next one */
    uint64_t address; /* of the receiver's buffer, which pointers in it go by */
    uint32_t flags;   /* HTTP_RECEIVE_REQUEST_FLAG_… */
};

struct http_body
{
    uint64_t id;
    uint32_t flags; /* HTTP_RECEIVE_REQUEST_ENTITY_BODY_FLAG_… */
};

/* What of a response's headers the driver has to know: it adds those that are missing. */
enum http_given
{
    HTTP_GIVEN_DATE = 1,
    HTTP_GIVEN_SERVER = 2,
    HTTP_GIVEN_LENGTH = 4,     /* Content-Length */
    HTTP_GIVEN_ENCODING = 8,   /* Transfer-Encoding */
    HTTP_GIVEN_CLOSE = 16,     /* Connection: close */
    HTTP_GIVEN_CONNECTION = 32 /* Connection, of any value */
};

struct http_send
{
    uint64_t id;
    uint32_t flags;                 /* HTTP_SEND_RESPONSE_FLAG_… */
    uint32_t status;                /* 0: more of the body of a response that has begun */
    uint32_t given;                 /* http_given */
    uint32_t whole;                 /* this call has all of the body */
    uint64_t content_length;        /* of it, or of HTTP_GIVEN_LENGTH */
    uint32_t earlier;               /* bytes of the same call that are sent already; counted in the answer */
    uint32_t reason, headers, body; /* lengths of what follows */
    char data[];
};

#endif
