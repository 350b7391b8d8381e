/* Logs and their sources, as the registry has them: HKLM\SYSTEM\CurrentControlSet\Services\EventLog\<log>\<source>. */
#ifndef MULLION_EVENT_CHANNELS_H
#define MULLION_EVENT_CHANNELS_H

#include <windows.h>

/* A list of names; free it with evt_names_free. */
struct names
{
    WCHAR **name;
    unsigned count;
};

void evt_names_free(struct names *names);

/* The four logs of Windows and those that the registry has beside them. */
void evt_log_names(struct names *names);

/* The sources of all logs. */
void evt_source_names(struct names *names);

/* Finds a log, and writes the name as it is spelt. FALSE: there is none. */
BOOL evt_log_find(const WCHAR *name, WCHAR *log);

/* The log of a source: Application for one that is not registered, for which the answer is FALSE. */
BOOL evt_source_log(const WCHAR *source, WCHAR *log);

/* A number among a log's values. */
DWORD evt_log_number(const WCHAR *log, const WCHAR *value, DWORD otherwise);

/* A text among a source's values, with variables replaced; the caller frees it. NULL: there is none. */
WCHAR *evt_source_text(const WCHAR *log, const WCHAR *source, const WCHAR *value);

/* Whether a computer's name means this one. */
BOOL evt_this_computer(const WCHAR *name);

#endif
