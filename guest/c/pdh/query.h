/* Queries and their counters, as the functions of pdh.dll share them. */
#ifndef MULLION_PDH_QUERY_H
#define MULLION_PDH_QUERY_H

#include "counters.h"

#include <pdh.h>
#include <pdhmsg.h>
#include <winperf.h>

struct counter
{
    DWORD magic;
    struct counter *next;
    struct query *query;
    const struct counter_def *def;
    WCHAR *pattern; /* the instance, or what stands for some or all */
    WCHAR *path;
    DWORD_PTR user;
    LONG scale; /* the power of ten by which figures are multiplied */
};

struct query
{
    DWORD magic;
    CRITICAL_SECTION lock;
    struct counter *counters;
    DWORD_PTR user;
    struct table before[SOURCES], now[SOURCES];
};

struct query *pdh_query_of(PDH_HQUERY handle);
struct counter *pdh_counter_of(PDH_HCOUNTER handle);

/* What a path stands for: a counter and the pattern of its instances, which has room for PATH_PART_CHARS. */
PDH_STATUS pdh_lookup_path(const WCHAR *path, WCHAR *pattern, const struct counter_def **def);

/* The rows of a table that are the counter's, one after the other: begins at 0; NULL after the last one. */
const struct row *pdh_next_row(const struct counter *counter, const struct table *table, int *at);

#endif
