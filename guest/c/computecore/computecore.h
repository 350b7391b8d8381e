/* computecore.dll: version 2 of the Host Compute Service, as calls of Mullion's server. Nothing is decided here. */
#ifndef MULLION_COMPUTECORE_H
#define MULLION_COMPUTECORE_H

#include "hcs_handle.h"

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

#endif
