/* The part of the hooks in services.exe, Wine's service control manager. */
#ifndef MULLION_SCM_H
#define MULLION_SCM_H

#include <windows.h>

/* A service whose process is about to start. */
struct scm_service;

/* Whether this process is services.exe with hooks. */
BOOL scm_here(void);

/* Whether a command line of services.exe starts one of Wine's own programs, which have no hooks. */
BOOL scm_own(const WCHAR *command);

/* The service that is being started; NULL: it is none. */
struct scm_service *scm_starting(void);

/* The environment with the variables of the service's own, from the heap; NULL: it has none. */
WCHAR *scm_environment(const struct scm_service *service, const WCHAR *environment);

/*
 * Where the service's process is to write, a file that is opened for appending and inherited; NULL: nowhere. The value
 * MullionOutput of the service's key names the file.
 */
HANDLE scm_output(const struct scm_service *service);

/* Watches over the service's process until its end; takes service over. NULL: it was not started. */
void scm_watch(struct scm_service *service, const PROCESS_INFORMATION *process);

/* Sets up what is above. */
void scm_start(void);

#endif
