/*
 * Callbacks of version 1, which are told of the events of version 2: those of a system's and of a process' end have the
 * same numbers.
 */
#include "vmcompute.h"

#include <stdlib.h>

#define NOTIFICATION_DISCONNECT 0x01000000 /* HcsNotificationServiceDisconnect */

static void CALLBACK tell(struct event *event, void *context)
{
    const struct registration *r = context;

    r->callback(event->type == SERVICE_DISCONNECT ? NOTIFICATION_DISCONNECT : event->type, r->context, S_OK,
                event->data);
}

HRESULT hcs_registration_make(struct handle *object, notification callback, void *context, struct registration **out)
{
    struct registration *r;
    HRESULT result;

    if (!out)
        return E_POINTER;
    *out = NULL;
    if (!(r = calloc(1, sizeof(*r))))
        return E_OUTOFMEMORY;
    r->object = object;
    r->callback = callback;
    r->context = context;
    hcs_handle_hold(object);
    if (callback && FAILED(result = hcs_handle_listen(object, tell, r)))
    {
        hcs_handle_release(object);
        free(r);
        return result;
    }
    *out = r;
    return S_OK;
}

HRESULT hcs_registration_end(struct registration *r)
{
    if (!r)
        return E_HANDLE;
    hcs_handle_hush(r->object);
    hcs_handle_release(r->object);
    free(r);
    return S_OK;
}
