/*
 * What is done when a service fails.
 *
 * Facts: the value FailureActions is a SERVICE_FAILURE_ACTIONSW of a 32-bit process, whose pointers are without
 * meaning, followed by the actions ([MS-SCMR] 2.2.39, SERVICE_FAILURE_ACTIONSW). "If the service fails N times, the
 * manager performs the action of index N-1; if N is greater than cActions, it repeats the last action of the array",
 * learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_failure_actionsw.
 */
#include "failure.h"

#include <string.h>

enum
{
    COUNT_AT = 12,
    POINTER_AT = 16
};

static DWORD number_at(const BYTE *value, DWORD at)
{
    DWORD number;

    memcpy(&number, value + at, sizeof(number));
    return number;
}

BOOL failure_read(const BYTE *value, DWORD size, struct failure_plan *plan)
{
    memset(plan, 0, sizeof(*plan));
    if (size < FAILURE_HEADER_BYTES)
        return FALSE;
    plan->period = number_at(value, 0);
    plan->count = number_at(value, COUNT_AT);
    if (plan->count > (size - FAILURE_HEADER_BYTES) / sizeof(plan->actions[0]))
        return FALSE;
    if (plan->count > FAILURE_ACTIONS_MAX)
        plan->count = FAILURE_ACTIONS_MAX;
    memcpy(plan->actions, value + FAILURE_HEADER_BYTES, plan->count * sizeof(plan->actions[0]));
    return TRUE;
}

DWORD failure_write(const struct failure_plan *plan, BYTE *value)
{
    DWORD count = plan->count < FAILURE_ACTIONS_MAX ? plan->count : FAILURE_ACTIONS_MAX, pointer = FAILURE_HEADER_BYTES;

    memset(value, 0, FAILURE_HEADER_BYTES);
    memcpy(value, &plan->period, sizeof(plan->period));
    memcpy(value + COUNT_AT, &count, sizeof(count));
    memcpy(value + POINTER_AT, &pointer, sizeof(pointer));
    memcpy(value + FAILURE_HEADER_BYTES, plan->actions, count * sizeof(plan->actions[0]));
    return FAILURE_HEADER_BYTES + count * (DWORD)sizeof(plan->actions[0]);
}

struct failure_action failure_next(struct failure_record *record, const struct failure_plan *plan, ULONGLONG now)
{
    struct failure_action none = {FAILURE_NONE, 0};

    if (record->count && plan->period != FAILURE_NEVER && now - record->last > plan->period * 1000ull)
        record->count = 0;
    record->count++;
    record->last = now;
    if (!plan->count)
        return none;
    return plan->actions[record->count < plan->count ? record->count - 1 : plan->count - 1];
}
