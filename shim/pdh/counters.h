/*
 * pdh.dll: performance counters with the machine's real numbers, from the Linux kernel's /proc.
 *
 * A Windows host of Mullion stands for the machine it runs on, so its counters are the machine's. What each means is written in sources.c.
 */
#ifndef MULLION_PDH_COUNTERS_H
#define MULLION_PDH_COUNTERS_H

#include <windows.h>

enum
{
    NAME_MAX_CHARS = 64
};

/* How a counter's figure is computed from samples. d is the difference to the sample before. */
enum kind
{
    KIND_RAW,     /* value */
    KIND_RATE,    /* d value / d seconds */
    KIND_PERCENT, /* 100 * d value / d base */
    KIND_SHARE,   /* 100 * value / base */
};

/* What one instance of a counter measured at one time. */
struct sample
{
    WCHAR name[NAME_MAX_CHARS]; /* the instance; empty if the object has none */
    double value, base;
};

/* All instances of a counter at one time. */
struct samples
{
    int count;
    struct sample *items;
    double seconds; /* when, on a clock that only goes forward */
};

struct counter_def;

/* A text file of /proc, read whole; NULL if it could not be read. The caller frees it. */
char *read_proc(const WCHAR *path);

/* find_def looks a counter up; NULL and a PDH status if Windows would not know it either. */
const struct counter_def *find_def(const WCHAR *object, const WCHAR *counter, LONG *status);
enum kind def_kind(const struct counter_def *def);
BOOL def_has_instances(const struct counter_def *def);

/* take_samples measures every instance of a counter that the pattern names ("*" names all). FALSE if the source cannot be read. */
BOOL take_samples(const struct counter_def *def, const WCHAR *pattern, struct samples *out);

#endif
