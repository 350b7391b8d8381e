/* Wine's services on demand. */
#ifndef MULLION_SERVICES_H
#define MULLION_SERVICES_H

#include "nt.h"

/*
 * Whether an open that ended with status is to be repeated, because it names an object of Wine's services and they have
 * been started. attempt counts from 0; after some attempts the answer is FALSE. May take as long as the services take
 * to start.
 */
BOOL services_try_again(NTSTATUS status, const OBJECT_ATTRIBUTES *attributes, unsigned attempt);

#endif
