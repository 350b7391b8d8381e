/* What the files of computenetwork.dll share: handles, which are small blocks with an object's GUID. */
#ifndef MULLION_COMPUTENETWORK_H
#define MULLION_COMPUTENETWORK_H

#include "hns_client.h"

/* The GUID of a handle, or NULL if it is none. */
const GUID *hcn_id_of(const void *handle);

HRESULT hcn_handle_new(const GUID *id, void **out);

HRESULT hcn_handle_close(void *handle);

#endif
