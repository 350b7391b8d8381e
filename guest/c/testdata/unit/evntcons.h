/* What tdh/event.c needs of evntcons.h. */
#ifndef MULLION_TEST_EVNTCONS_H
#define MULLION_TEST_EVNTCONS_H

#include <windows.h>

typedef struct
{
    BYTE bytes[80];
} EVENT_HEADER;

typedef struct
{
    USHORT Reserved1, ExtType;
    USHORT Linkage : 1, Reserved2 : 15;
    USHORT DataSize;
    ULONGLONG DataPtr;
} EVENT_HEADER_EXTENDED_DATA_ITEM;

typedef struct
{
    EVENT_HEADER EventHeader;
    DWORD BufferContext;
    USHORT ExtendedDataCount, UserDataLength;
    EVENT_HEADER_EXTENDED_DATA_ITEM *ExtendedData;
    void *UserData, *UserContext;
} EVENT_RECORD;

#endif
