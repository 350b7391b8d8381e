/*
 * What the parts of the hooks share: the originals of patched functions, PATCH, and the start function of each part,
 * which DllMain calls once. Other functions that a part offers to others are in a header of its own (open.h,
 * security.h, services.h, children.h); the network's parts are in winsock.h.
 */
#ifndef MULLION_HOOKS_H
#define MULLION_HOOKS_H

#include "nt.h"
#include "patch.h"

typedef NTSTATUS(WINAPI *nt_create_file)(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, IO_STATUS_BLOCK *, LARGE_INTEGER *,
                                         ULONG, ULONG, ULONG, ULONG, void *, ULONG);
typedef NTSTATUS(WINAPI *nt_open_file)(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, IO_STATUS_BLOCK *, ULONG, ULONG);
typedef NTSTATUS(WINAPI *nt_delete_file)(OBJECT_ATTRIBUTES *);
typedef NTSTATUS(WINAPI *nt_query_attributes)(const OBJECT_ATTRIBUTES *, struct nt_basic_info *);
typedef NTSTATUS(WINAPI *nt_query_full_attributes)(const OBJECT_ATTRIBUTES *, struct nt_network_open_info *);
typedef NTSTATUS(WINAPI *nt_query_information)(HANDLE, IO_STATUS_BLOCK *, void *, ULONG, ULONG);
typedef NTSTATUS(WINAPI *nt_set_information)(HANDLE, IO_STATUS_BLOCK *, void *, ULONG, ULONG);
typedef NTSTATUS(WINAPI *nt_fs_control)(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, ULONG, void *, ULONG, void *,
                                        ULONG);
typedef NTSTATUS(WINAPI *nt_query_directory)(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, void *, ULONG, ULONG,
                                             BOOLEAN, UNICODE_STRING *, BOOLEAN);
typedef NTSTATUS(WINAPI *nt_query_object)(HANDLE, ULONG, void *, ULONG, ULONG *);
typedef NTSTATUS(WINAPI *nt_duplicate_object)(HANDLE, HANDLE, HANDLE, HANDLE *, ACCESS_MASK, ULONG, ULONG);
typedef NTSTATUS(WINAPI *nt_close)(HANDLE);
typedef NTSTATUS(WINAPI *nt_query_security)(HANDLE, SECURITY_INFORMATION, void *, ULONG, ULONG *);
typedef NTSTATUS(WINAPI *nt_set_security)(HANDLE, SECURITY_INFORMATION, void *);

/* The originals behind the hooks; main.c finds them, a patch replaces them before its hook can run (patch.c). */
extern struct originals
{
    nt_create_file NtCreateFile;
    nt_open_file NtOpenFile;
    nt_delete_file NtDeleteFile;
    nt_query_attributes NtQueryAttributesFile;
    nt_query_full_attributes NtQueryFullAttributesFile;
    nt_query_information NtQueryInformationFile;
    nt_set_information NtSetInformationFile;
    nt_fs_control NtFsControlFile;
    nt_query_directory NtQueryDirectoryFile;
    nt_query_object NtQueryObject;
    nt_duplicate_object NtDuplicateObject;
    nt_close NtClose;
    nt_query_security NtQuerySecurityObject;
    nt_set_security NtSetSecurityObject;
} original;

#define PATCH(module, function) patch_function(module, #function, hook_##function, (void **)&original.function)

void open_start(void); /* open.c: NtCreateFile, NtOpenFile, attributes by name, CreateFileW */
/* info.c: what a link's handle answers, NtClose, NtDuplicateObject; FALSE: closing goes unseen */
BOOL info_start(void);
void setinfo_start(void);    /* setinfo.c: delete and rename, of links and of all files */
void reparse_start(void);    /* reparse.c: FSCTL_…_REPARSE_POINT, CreateSymbolicLinkW */
void readdir_start(void);    /* readdir.c: NtQueryDirectoryFile */
void security_start(void);   /* security.c: NtQuerySecurityObject, NtSetSecurityObject */
void services_start(void);   /* services.c: NtCreateFile and NtOpenFile, where open_start has not been called */
void volume_start(void);     /* volume.c: NtQueryVolumeInformationFile, GetLogicalDrives, GetDriveTypeW */
void message_start(void);    /* message.c: FormatMessageW, FormatMessageA */
void pipe_start(void);       /* pipe.c: NtCreateNamedPipeFile */
void stdhandle_start(void);  /* stdhandle.c: NtReadFile, NtCancelSynchronousIoFile, NtFlushBuffersFile; after
                                setinfo_start and reparse_start */
void barrier_start(void);    /* barrier.c: NtFlushProcessWriteBuffers */
void numa_start(void);       /* numa.c: GetNumaAvailableMemoryNodeEx */
void topology_start(void);   /* topology.c: NtQuerySystemInformationEx, GetNumaHighestNodeNumber */
void session_start(void);    /* session.c: NtQuerySystemInformation, ProcessIdToSessionId, on hosts; memory_start */
void machinekey_start(void); /* machinekey.c: NtOpenKey, NtOpenKeyEx, NtCreateKey, for ContainerUser; after
                                session_start, whose timezone.c opens a key */
void job_start(void);        /* job.c: NtOpenJobObject, NtQueryInformationJobObject, NtIsProcessInJob */
void token_start(void); /* token.c: NtOpenProcessToken, NtOpenProcessTokenEx, NtDuplicateToken, NtQueryInformationToken;
                           after info_start */
void priority_start(void);    /* priority.c: NtSetInformationProcess */
void backup_start(void);      /* backup.c: BackupWrite, on hosts */
void placeholder_start(void); /* placeholder.c: LdrGetProcedureAddress */
void etw_start(void);         /* etw.c: EtwEventRegister and its like */
void children_start(void);    /* children.c: CreateProcessInternalW */

#endif
