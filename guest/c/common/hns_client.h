/*
 * How the HNS libraries call Mullion's HNS server: each call is one request and one answer. Nothing is decided here.
 * The protocol is described in internal/network/hns/server/frame.go.
 */
#ifndef MULLION_HNS_CLIENT_H
#define MULLION_HNS_CLIENT_H

#include <winsock2.h>
#include <windows.h>

#include "copies.h"

#define E_SERVER_UNAVAILABLE HRESULT_FROM_WIN32(RPC_S_SERVER_UNAVAILABLE)

struct hns_call
{
    const char *function; /* the export's name */
    const GUID *object;   /* the object of the call, or NULL */
    const GUID *wanted;   /* the GUID for a new object, or NULL */
    unsigned int texts;   /* the number of strings in text */
    const WCHAR *text[3];
    enum copies_kind names; /* the kind of the answer's objects, if copies are wanted */
    BOOL watches;           /* events follow the answer */

    /* A server that is not there is waited for until this is not 0; NULL: for half a minute. */
    const volatile LONG *ending;

    GUID id;       /* out: the object made or opened */
    WCHAR *answer; /* out: CoTaskMem, or NULL if empty; for some functions a structure */
    DWORD size;    /* out: the answer's bytes */
    WCHAR *record; /* out: the error record, CoTaskMem, or NULL */
    BOOL copied;   /* out: the answer's objects are kept */
};

/* Carries out the call. If the server cannot be reached, the result is an error and the out fields are empty. */
HRESULT hns_call(struct hns_call *call);

/* Whether this is a host, on which whoever may read a file may call. */
BOOL hns_token_there(void);

/*
 * Carries out the call on the connection *s, which is made if it is INVALID_SOCKET. If the connection fails, it is
 * closed and *s is INVALID_SOCKET again.
 */
HRESULT hns_call_on(SOCKET *s, struct hns_call *call);

/*
 * Waits for the next event of a connection on which a callback was registered: number is set to the event's number,
 * the out fields of event to what it is about. FALSE: the connection has ended.
 */
BOOL hns_next_event(SOCKET s, struct hns_call *event, DWORD *number);

#endif
