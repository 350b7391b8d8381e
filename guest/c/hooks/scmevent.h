/* The events by which the service control manager tells of services. */
#ifndef MULLION_SCMEVENT_H
#define MULLION_SCMEVENT_H

#include <windows.h>

#include "failure.h"

/* Writes a number as text, of 12 characters at most. */
void scm_write_number(WCHAR *text, DWORD number);

/*
 * The event of a service that has stopped with an exit code: its name, and %% with the code, which stands for the
 * error's text.
 */
void scm_report_error(const WCHAR *name, HKEY key, const SERVICE_STATUS_PROCESS *is);

/* The event of a failed service; count is how many failures there were. */
void scm_report_failure(const WCHAR *name, HKEY key, struct failure_action action, DWORD count);

/* Sets up what is above. */
void scm_event_start(HMODULE advapi32);

#endif
