/* Access control lists: Windows' defaults, inheritance, and the form in which a descriptor is stored. */
#ifndef MULLION_ACL_H
#define MULLION_ACL_H

#include "nt.h"

/* A security identifier of up to three parts, laid out as a SID. */
struct short_sid
{
    BYTE revision, count;
    SID_IDENTIFIER_AUTHORITY authority;
    DWORD part[3];
};

extern const struct short_sid acl_administrators, acl_users, acl_system, acl_everyone, acl_authenticated;

/* The parts of a security descriptor that files have here; each may be missing. They point into the parsed bytes. */
struct descriptor
{
    const SID *owner, *group;
    BOOL has_list;   /* FALSE: no list was set, all of it is inherited */
    const ACL *list; /* NULL with has_list: everyone may do everything */
    WORD control;    /* SE_DACL_PROTECTED, SE_DACL_AUTO_INHERITED */
};

/* Reads a self-relative descriptor from any bytes; FALSE if they are no descriptor. */
BOOL acl_descriptor_parse(const BYTE *bytes, ULONG length, struct descriptor *descriptor);

/* Takes the parts of a program's descriptor, absolute or self-relative. */
NTSTATUS acl_descriptor_take(SECURITY_DESCRIPTOR *from, struct descriptor *descriptor);

/* Writes the descriptor in self-relative form to bytes, unless that is NULL; returns its length. */
ULONG acl_descriptor_write(const struct descriptor *descriptor, BYTE *bytes);

/* The functions below return lists from heap_alloc, or NULL without memory. */

/* The list of C:\ in containers and on new volumes of Windows Server. */
ACL *acl_of_drive(void);

/* The list of a file or folder made in a folder without inheritable entries. */
ACL *acl_of_token(const SID *owner);

ACL *acl_copy(const ACL *list);

/*
 * The part of a list to store when it is set. With inherits, that excludes inherited entries, which are computed,
 * and entries that neither grant nor deny anything. An entry of generic rights that a folder hands on becomes two, as
 * on Windows: one that holds for the folder, with the rights that these are there, and one that is inherited only
 * ([MS-DTYP] 2.5.3.4.7, PostProcessACL).
 */
ACL *acl_set(const ACL *list, BOOL inherits, BOOL folder);

/*
 * The list of an object: its own entries (or NULL), then what it inherits from its folder's list, as [MS-DTYP] 2.5.3.4
 * computes it. owner and group take the place of CREATOR OWNER and CREATOR GROUP.
 */
ACL *acl_inherit(const ACL *own, const ACL *from, BOOL folder, const SID *owner, const SID *group);

/* The rights (FILE_…) that a list gives to a user with these identities. */
ACCESS_MASK acl_rights(const ACL *list, const SID *const *identities, unsigned count);

#endif
