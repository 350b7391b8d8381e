/*
 * How the HNS libraries reach Mullion's HNS server: one call across, one answer back. Nothing is decided here.
 * The protocol is described in internal/hns/server/frame.go.
 */
#ifndef MULLION_HNS_CLIENT_H
#define MULLION_HNS_CLIENT_H

#include <winsock2.h>
#include <windows.h>

#include "copies.h"

struct hns_call
{
    const char *function;    /* the export's name */
    const GUID *object;      /* the object meant, or NULL */
    const GUID *wanted;      /* the GUID for a new object, or NULL */
    unsigned int texts;      /* how many of text there are */
    const WCHAR *text[3];
    enum copies_kind names;  /* what the answer names, if copies of it are wanted */

    GUID id;                 /* out: the object made or opened */
    WCHAR *answer;           /* out: CoTaskMem, or NULL when empty */
    WCHAR *record;           /* out: the error record, CoTaskMem, or NULL */
    BOOL copied;             /* out: the answer's objects are kept */
};

/* Carries out the call. On failure of the way across the result is an error and the out fields are empty. */
HRESULT hns_call(struct hns_call *call);

#endif
