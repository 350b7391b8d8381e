/* The calls of ntdll.dll that hooks/acl.c makes; descriptors are absolute. */
#include "acl.h"

NTSTATUS RtlGetControlSecurityDescriptor(SECURITY_DESCRIPTOR *from, WORD *control, ULONG *revision)
{
    *control = from->Control;
    *revision = from->Revision;
    return from->Revision == SECURITY_DESCRIPTOR_REVISION ? STATUS_SUCCESS : STATUS_UNKNOWN_REVISION;
}

NTSTATUS RtlGetOwnerSecurityDescriptor(SECURITY_DESCRIPTOR *from, SID **owner, BOOLEAN *defaulted)
{
    *owner = from->Owner;
    *defaulted = FALSE;
    return STATUS_SUCCESS;
}

NTSTATUS RtlGetGroupSecurityDescriptor(SECURITY_DESCRIPTOR *from, SID **group, BOOLEAN *defaulted)
{
    *group = from->Group;
    *defaulted = FALSE;
    return STATUS_SUCCESS;
}

NTSTATUS RtlGetDaclSecurityDescriptor(SECURITY_DESCRIPTOR *from, BOOLEAN *present, ACL **list, BOOLEAN *defaulted)
{
    *present = (from->Control & SE_DACL_PRESENT) != 0;
    *list = from->Dacl;
    *defaulted = FALSE;
    return STATUS_SUCCESS;
}

/* Like Wine's, it checks the revision and that the entries end within the list. */
BOOLEAN RtlValidAcl(ACL *list)
{
    const BYTE *at = (const BYTE *)(list + 1), *end = (const BYTE *)list + list->AclSize;

    for (unsigned i = 0; i < list->AceCount; i++)
    {
        if (at + sizeof(ACE_HEADER) > end)
            return FALSE;
        at += ((const ACE_HEADER *)at)->AceSize;
    }
    return list->AclRevision >= 2 && list->AclRevision <= 4 && at <= end;
}
