/* The originals behind the hooks: the functions of ntdll.dll that they call when they are done. */
#ifndef MULLION_ORIGINALS_H
#define MULLION_ORIGINALS_H

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

/* A patch replaces its original before its hook can run (patch.c). */
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
} originals;

/* To be called once, before the first patch: until a function is patched, its original is itself. */
void originals_find(void);

#define PATCH(module, function) patch_function(module, #function, hook_##function, (void **)&originals.function)

#endif
