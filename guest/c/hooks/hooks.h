/*
 * What the parts of the hooks share: the originals of patched functions (originals.h), and the start function of each
 * part, which DllMain calls once, in the order of a table (main.c). Other functions that a part offers to others are in
 * a header of its own (open.h, security.h, services.h, children.h); the network's parts are in winsock.h.
 */
#ifndef MULLION_HOOKS_H
#define MULLION_HOOKS_H

#include "nt.h"
#include "originals.h"

void open_start(void); /* open.c: NtCreateFile, NtOpenFile, attributes by name, CreateFileW */
/* info.c: what a link's handle answers, NtClose, NtDuplicateObject; FALSE: closing goes unseen */
BOOL info_start(void);
void setinfo_start(void);     /* setinfo.c: delete and rename, of links and of all files */
void reparse_start(void);     /* reparse.c: FSCTL_…_REPARSE_POINT, CreateSymbolicLinkW */
void readdir_start(void);     /* readdir.c: NtQueryDirectoryFile */
void security_start(void);    /* security.c: NtQuerySecurityObject, NtSetSecurityObject */
void services_start(void);    /* services.c: NtCreateFile and NtOpenFile, where open_start has not been called */
void volume_start(void);      /* volume.c: NtQueryVolumeInformationFile, GetLogicalDrives, GetDriveTypeW */
void message_start(void);     /* message.c: FormatMessageW, FormatMessageA */
void pipe_start(void);        /* pipe.c: NtCreateNamedPipeFile */
void stdhandle_start(void);   /* stdhandle.c: NtReadFile, NtCancelSynchronousIoFile, NtFlushBuffersFile */
void barrier_start(void);     /* barrier.c: NtFlushProcessWriteBuffers */
void numa_start(void);        /* numa.c: GetNumaAvailableMemoryNodeEx */
void topology_start(void);    /* topology.c: NtQuerySystemInformationEx, GetNumaHighestNodeNumber */
void session_start(void);     /* session.c: NtQuerySystemInformation, ProcessIdToSessionId, on hosts; memory_start */
void machinekey_start(void);  /* machinekey.c: NtOpenKey, NtOpenKeyEx, NtCreateKey, for ContainerUser */
void job_start(void);         /* job.c: NtOpenJobObject, NtQueryInformationJobObject, NtIsProcessInJob */
void token_start(void);       /* token.c: NtOpenProcessToken, NtOpenProcessTokenEx, NtDuplicateToken, what they say */
void priority_start(void);    /* priority.c: NtSetInformationProcess */
void backup_start(void);      /* backup.c: BackupWrite, on hosts */
void placeholder_start(void); /* placeholder.c: LdrGetProcedureAddress */
void etw_start(void);         /* etw.c: EtwEventRegister and its like */
void conhost_start(void);     /* conhost.c: no hook; the console host lets go of the standard handles */
void children_start(void);    /* children.c: CreateProcessInternalW */
void ending_start(void);      /* ending.c: NtTerminateProcess */
void gosuspend_start(void);   /* gosuspend.c: LoadLibraryExW, in programs of Go */

#endif
