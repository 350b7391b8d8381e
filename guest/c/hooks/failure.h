/* What is done when a service fails: the value FailureActions of its key, and which action comes next. */
#ifndef MULLION_FAILURE_H
#define MULLION_FAILURE_H

#include <windows.h>

enum /* SC_ACTION_TYPE of winsvc.h */
{
    FAILURE_NONE,
    FAILURE_RESTART,
    FAILURE_REBOOT,
    FAILURE_RUN
};

enum
{
    FAILURE_ACTIONS_MAX = 64, /* more are not kept */
    FAILURE_HEADER_BYTES = 20,
    FAILURE_VALUE_MAX = FAILURE_HEADER_BYTES + FAILURE_ACTIONS_MAX * 8
};

#define FAILURE_NEVER 0xffffffffu /* a period that does not end */

struct failure_action
{
    DWORD type, delay; /* delay in ms */
};

struct failure_plan
{
    DWORD period; /* seconds without a failure after which failures are counted from the beginning */
    DWORD count;
    struct failure_action actions[FAILURE_ACTIONS_MAX];
};

/* How often a service has failed, and when it last did, in ms of any clock. */
struct failure_record
{
    DWORD count;
    ULONGLONG last;
};

/* Reads a registry value; FALSE: it has not the form. */
BOOL failure_read(const BYTE *value, DWORD size, struct failure_plan *plan);

/* Writes a registry value of up to FAILURE_VALUE_MAX bytes and returns its size. */
DWORD failure_write(const struct failure_plan *plan, BYTE *value);

/* Counts a failure and returns what is to be done: the plan's last action again when it has no further one. */
struct failure_action failure_next(struct failure_record *record, const struct failure_plan *plan, ULONGLONG now);

#endif
