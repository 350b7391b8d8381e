/* computecore.dll: version 2 of the Host Compute Service, as calls of Mullion's server. Nothing is decided here. */
#ifndef MULLION_COMPUTECORE_H
#define MULLION_COMPUTECORE_H

#include "hns_client.h"

/* HCS_PROCESS_INFORMATION. */
struct process_information
{
    DWORD pid, reserved;
    HANDLE input, output, error;
};

/* HCS_OPERATION: what a function that has ended has answered. */
struct operation;
typedef void(CALLBACK *completion)(struct operation *operation, void *context);

struct operation
{
    HRESULT result;
    WCHAR *document; /* CoTaskMem, or NULL */
    struct process_information info;
    void *context;
    completion callback;
};

/* HCS_EVENT. */
struct event
{
    DWORD type;
    const WCHAR *data;
    struct operation *operation;
};

typedef void(CALLBACK *listener)(struct event *event, void *context);

/*
 * HCS_SYSTEM and HCS_PROCESS: the connection on which the server tells events, which is the handle for the server, too.
 */
struct handle
{
    DWORD magic;
    SOCKET connection;
    WCHAR *id, pid[12]; /* pid: L"" for a system */
    DWORD number;       /* pid's */
    listener callback;
    void *context;
    HANDLE thread;
    DWORD thread_id;
    LONG references; /* the handle and the thread */
    volatile LONG ending;
};

/* Carries out a call that opens a handle. */
HRESULT hcs_handle_open(struct hns_call *call, const WCHAR *id, DWORD magic, struct handle **out);

/* Calls the listener of the events from now on. */
HRESULT hcs_handle_listen(struct handle *h, listener callback, void *context);

/* Closes a handle: afterwards its listener is not called any more. The listener itself may call it. */
void hcs_handle_close(struct handle *h);

#define SYSTEM_MAGIC 0x4d485331
#define PROCESS_MAGIC 0x4d485032

#endif
