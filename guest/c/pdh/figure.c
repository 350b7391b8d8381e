/* Figures from raw values: https://learn.microsoft.com/windows/win32/perfctrs/calculating-counter-values */
#include "counters.h"

#include <winperf.h>

struct raw pdh_raw_of(const struct counter_def *def, const struct table *table, const struct row *row)
{
    struct raw raw = {FALSE, 0, 0};

    if (def->field == FIELD_ZERO)
        raw.valid = TRUE;
    if (def->field >= 0 && row->have >> def->field & 1)
    {
        raw.valid = TRUE;
        raw.first = row->value[def->field];
    }
    if (def->base == BASE_TIME)
    {
        raw.second = def->type == PERF_COUNTER_COUNTER || def->type == PERF_COUNTER_BULK_COUNT ? table->clock
                                                                                               : table->date;
    }
    else if (def->base >= 0)
    {
        raw.valid = raw.valid && row->have >> def->base & 1;
        raw.second = row->value[def->base];
    }
    return raw;
}

static double percent(double share, BOOL cap)
{
    return share <= 0 ? 0 : cap && share > 1 ? 100 : 100 * share;
}

/* figure computes a counter's value for one instance. FALSE if it needs an earlier value that is not there. */
BOOL pdh_figure(DWORD type, const struct raw *now, const struct raw *before, BOOL cap, double *value)
{
    double first, second;

    *value = 0;
    if (!now->valid)
        return FALSE;
    switch (type)
    {
    case PERF_COUNTER_RAWCOUNT:
    case PERF_COUNTER_LARGE_RAWCOUNT: *value = (double)now->first; return TRUE;
    case PERF_RAW_FRACTION:
        *value = now->second > 0 ? percent((double)now->first / (double)now->second, cap) : 0;
        return TRUE;
    case PERF_ELAPSED_TIME: *value = (double)(now->second - now->first) / TIME_BASE; return TRUE;
    default: break;
    }
    if (!before || !before->valid)
        return FALSE;
    first = (double)(now->first - before->first);
    second = (double)(now->second - before->second);
    if (second <= 0)
        return TRUE; /* nothing has happened in no time */
    switch (type)
    {
    case PERF_COUNTER_COUNTER:
    case PERF_COUNTER_BULK_COUNT: *value = first * TIME_BASE / second; break;
    case PERF_100NSEC_TIMER:
    case PERF_PRECISION_100NS_TIMER: *value = percent(first / second, cap); break;
    case PERF_100NSEC_TIMER_INV: *value = percent(1 - first / second, cap); break;
    case PERF_AVERAGE_TIMER: *value = first / TIME_BASE / second; break;
    case PERF_COUNTER_100NS_QUEUELEN_TYPE:
    case PERF_AVERAGE_BULK: *value = first / second; break;
    default: return FALSE;
    }
    if (*value < 0)
        *value = 0; /* a counter of the kernel began anew */
    return TRUE;
}
