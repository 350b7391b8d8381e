/* The parts of the hooks, each started once from DllMain. */
#ifndef MULLION_OPEN_H
#define MULLION_OPEN_H

#include "nt.h"
#include "patch.h"

#define PATCH(module, function) patch_function(module, #function, hook_##function, (void **)&original.function)

void open_start(void);    /* open.c: NtCreateFile, NtOpenFile, attributes by name, CreateFileW */
BOOL info_start(void);    /* info.c: what a link's handle answers, NtClose, NtDuplicateObject; FALSE: closing goes unseen */
void setinfo_start(void); /* setinfo.c: delete and rename, of links and of all files */
void reparse_start(void); /* reparse.c: FSCTL_…_REPARSE_POINT, CreateSymbolicLinkW */
void readdir_start(void); /* readdir.c: NtQueryDirectoryFile */
/* Whether code of kernelbase.dll lies at an address; open.c, from open_start on. */
BOOL in_kernelbase(const void *address);

void security_start(void); /* security.c: NtQuerySecurityObject, NtSetSecurityObject */
/* Gives a file that has just been made the descriptor that its maker asked for; security.c. */
void security_of_new(HANDLE handle, SECURITY_DESCRIPTOR *descriptor);

void services_start(void); /* services.c: NtCreateFile and NtOpenFile, where open_start has not been called */
void volume_start(void);   /* volume.c: NtQueryVolumeInformationFile, GetLogicalDrives, GetDriveTypeW */
void message_start(void);  /* message.c: FormatMessageW, FormatMessageA */
void pipe_start(void);     /* pipe.c: NtCreateNamedPipeFile */
void cmd_start(void);      /* cmd.c: NtReadFile, in cmd.exe */
void children_start(void); /* children.c: CreateProcessInternalW */

#endif
