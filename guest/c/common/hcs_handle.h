/*
 * What both faces of the Host Compute Service have of compute systems and processes: computecore.dll, version 2, and
 * vmcompute.dll, version 1. Nothing is decided here.
 */
#ifndef MULLION_HCS_HANDLE_H
#define MULLION_HCS_HANDLE_H

#include "hns_client.h"

/* HCS_PROCESS_INFORMATION. */
struct process_information
{
    DWORD pid, reserved;
    HANDLE input, output, error;
};

/* HCS_EVENT. */
struct event
{
    DWORD type;
    const WCHAR *data;
    void *operation;
};

typedef void(CALLBACK *listener)(struct event *event, void *context);

/*
 * HCS_SYSTEM and HCS_PROCESS: the connection on which the server tells events, which is the handle for the server, too.
 */
struct handle
{
    DWORD magic;
    SOCKET connection;        /* INVALID_SOCKET: of what has no events */
    WCHAR *id, pid[12];       /* pid: L"" for a system */
    DWORD number;             /* pid's */
    CRITICAL_SECTION calling; /* held while the listener is called */
    listener callback;
    void *context;
    HANDLE thread;
    DWORD thread_id;
    LONG references; /* the handle, the thread, and who holds it */
    volatile LONG ending;
};

#define SYSTEM_MAGIC 0x4d485331
#define PROCESS_MAGIC 0x4d485032
#define SERVICE_DISCONNECT 0x02000000 /* HcsEventServiceDisconnect */

/* Makes a handle without a connection. */
HRESULT hcs_handle_make(const WCHAR *id, DWORD magic, struct handle **out);

/* Carries out a call that opens a handle. */
HRESULT hcs_handle_open(struct hns_call *call, const WCHAR *id, DWORD magic, struct handle **out);

BOOL hcs_handle_is(const struct handle *h, DWORD magic);

/* Calls the listener of the events from now on. */
HRESULT hcs_handle_listen(struct handle *h, listener callback, void *context);

/* The listener is not called any more. It may call this itself. */
void hcs_handle_hush(struct handle *h);

/* The memory of a handle stays until it is released, also when it is closed. */
void hcs_handle_hold(struct handle *h);
void hcs_handle_release(struct handle *h);

/* Closes a handle: afterwards its listener is not called any more. The listener itself may call it. */
void hcs_handle_close(struct handle *h);

/* Starts a process. info, unless NULL, gets its id and its streams. The call has an error's record, to be freed. */
HRESULT hcs_process_create(const struct handle *system, const WCHAR *parameters, struct hns_call *call,
                           struct handle **process, struct process_information *info);

/* Opens a process by its id. */
HRESULT hcs_process_open(const struct handle *system, DWORD pid, struct hns_call *call, struct handle **process);

#endif
