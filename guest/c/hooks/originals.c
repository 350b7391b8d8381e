/* The originals behind the hooks. */
#include "originals.h"

struct originals originals;

void originals_find(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");

#define FIND(name) originals.name = (void *)GetProcAddress(ntdll, #name)
    FIND(NtCreateFile);
    FIND(NtOpenFile);
    FIND(NtDeleteFile);
    FIND(NtQueryAttributesFile);
    FIND(NtQueryFullAttributesFile);
    FIND(NtQueryInformationFile);
    FIND(NtSetInformationFile);
    FIND(NtFsControlFile);
    FIND(NtQueryDirectoryFile);
    FIND(NtQueryObject);
    FIND(NtDuplicateObject);
    FIND(NtClose);
    FIND(NtQuerySecurityObject);
    FIND(NtSetSecurityObject);
#undef FIND
}
