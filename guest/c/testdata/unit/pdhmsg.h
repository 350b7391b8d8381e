/* The statuses of pdh.dll that the parts under test need; values of pdhmsg.h. */
#ifndef MULLION_TEST_PDHMSG_H
#define MULLION_TEST_PDHMSG_H

#define PDH_CSTATUS_NO_OBJECT 0xC0000BB8u
#define PDH_CSTATUS_NO_COUNTER 0xC0000BB9u
#define PDH_CSTATUS_BAD_COUNTERNAME 0xC0000BC0u

#endif
