/* vmcompute.dll: version 1 of the Host Compute Service. */
#ifndef MULLION_VMCOMPUTE_H
#define MULLION_VMCOMPUTE_H

#include "hcs_handle.h"

/* Gives the record of an error to the program that wants it. */
HRESULT hcs_give_record(HRESULT error, struct hns_call *call, WCHAR **record);

/* A call about a compute system that answers with nothing. */
HRESULT hcs_ask_of_system(const char *function, const struct handle *system, const WCHAR *text, WCHAR **record);

/* HCS_NOTIFICATION_CALLBACK: status is the result of what the notification is about. */
typedef void(CALLBACK *notification)(DWORD type, void *context, HRESULT status, const WCHAR *data);

/* What HcsRegister… returns. */
struct registration
{
    struct handle *object;
    notification callback;
    void *context;
};

HRESULT hcs_registration_make(struct handle *object, notification callback, void *context, struct registration **out);
HRESULT hcs_registration_end(struct registration *r);

#endif
