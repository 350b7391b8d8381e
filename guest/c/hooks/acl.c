/*
 * Access control lists: Windows' defaults, inheritance, and the form in which a descriptor is stored. Layouts are
 * those of [MS-DTYP] 2.4.
 */
#include "acl.h"

#include <string.h>

#include "heap.h"

/* clang-format off */
#define AUTHORITY_NT {{0, 0, 0, 0, 0, 5}}
#define AUTHORITY_WORLD {{0, 0, 0, 0, 0, 1}}
#define AUTHORITY_CREATOR {{0, 0, 0, 0, 0, 3}}
/* clang-format on */
#define GENERIC_RIGHTS (GENERIC_READ | GENERIC_WRITE | GENERIC_EXECUTE | GENERIC_ALL)
#define ALL_LISTS (CONTAINER_INHERIT_ACE | OBJECT_INHERIT_ACE)

const struct short_sid acl_administrators = {1, 2, AUTHORITY_NT, {32, 544}};
const struct short_sid acl_users = {1, 2, AUTHORITY_NT, {32, 545}};
const struct short_sid acl_system = {1, 1, AUTHORITY_NT, {18}};
const struct short_sid acl_authenticated = {1, 1, AUTHORITY_NT, {11}};
const struct short_sid acl_everyone = {1, 1, AUTHORITY_WORLD, {0}};
static const struct short_sid creator_owner = {1, 1, AUTHORITY_CREATOR, {0}};
static const struct short_sid creator_group = {1, 1, AUTHORITY_CREATOR, {1}};

/* An entry that allows or denies rights. */
struct entry_of_list
{
    ACE_HEADER header;
    ACCESS_MASK mask;
    SID sid;
};

static ULONG sid_length(const SID *sid)
{
    return 8 + 4 * (ULONG)sid->SubAuthorityCount;
}

static BOOL same_sid(const void *a, const void *b)
{
    return sid_length(a) == sid_length(b) && !memcmp(a, b, sid_length(a));
}

/*
 * Whether an entry has the form of entry_of_list. Others (with conditions, or of objects in directories) are kept as
 * they are.
 */
static BOOL is_plain(const ACE_HEADER *entry)
{
    return entry->AceType == ACCESS_ALLOWED_ACE_TYPE || entry->AceType == ACCESS_DENIED_ACE_TYPE;
}

static const ACE_HEADER *first(const ACL *list)
{
    return (const ACE_HEADER *)(list + 1);
}

static const ACE_HEADER *next(const ACE_HEADER *entry)
{
    return (const ACE_HEADER *)((const BYTE *)entry + entry->AceSize);
}

static ACL *acl_new(ULONG room)
{
    ACL *list = heap_alloc(room);

    if (list)
    {
        list->AclRevision = ACL_REVISION;
        list->AclSize = sizeof(*list);
    }
    return list;
}

/* Adds a copy of an entry with other flags; sid, if any, takes the place of its own. */
static void append(ACL *list, const ACE_HEADER *from, BYTE flags, const SID *sid)
{
    struct entry_of_list *entry = (struct entry_of_list *)((BYTE *)list + list->AclSize);
    ULONG size = sid ? FIELD_OFFSET(struct entry_of_list, sid) + sid_length(sid) : from->AceSize;

    if (list->AclSize + size > 0xfffc)
        return; /* longer than a list can be */
    memcpy(entry, from, sid ? FIELD_OFFSET(struct entry_of_list, sid) : size);
    if (sid)
        memcpy(&entry->sid, sid, sid_length(sid));
    entry->header.AceFlags = flags;
    entry->header.AceSize = (WORD)size;
    if (!(flags & INHERIT_ONLY_ACE) && is_plain(from))
    {
        if (entry->mask & GENERIC_READ)
            entry->mask |= FILE_GENERIC_READ;
        if (entry->mask & GENERIC_WRITE)
            entry->mask |= FILE_GENERIC_WRITE;
        if (entry->mask & GENERIC_EXECUTE)
            entry->mask |= FILE_GENERIC_EXECUTE;
        if (entry->mask & GENERIC_ALL)
            entry->mask |= FILE_ALL_ACCESS;
        entry->mask &= ~GENERIC_RIGHTS;
    }
    list->AclSize += (WORD)size;
    list->AceCount++;
}

static void allow(ACL *list, const void *sid, BYTE flags, ACCESS_MASK mask)
{
    struct entry_of_list entry = {{ACCESS_ALLOWED_ACE_TYPE, 0, 0}, mask, {0}};

    append(list, &entry.header, flags, sid);
}

/*
 * https://github.com/moby/buildkit/issues/4731 and https://github.com/kubernetes/kubernetes/issues/131341: icacls in
 * containers of Server 2019 to 2025
 */
ACL *acl_of_drive(void)
{
    ACL *list = acl_new(512);

    if (!list)
        return NULL;
    allow(list, &acl_administrators, ALL_LISTS, FILE_ALL_ACCESS);
    allow(list, &acl_system, ALL_LISTS, FILE_ALL_ACCESS);
    allow(list, &creator_owner, ALL_LISTS | INHERIT_ONLY_ACE, GENERIC_ALL);
    allow(list, &acl_users, ALL_LISTS, FILE_GENERIC_READ | FILE_GENERIC_EXECUTE);
    allow(list, &acl_users, CONTAINER_INHERIT_ACE, FILE_APPEND_DATA);
    allow(list, &acl_users, CONTAINER_INHERIT_ACE | INHERIT_ONLY_ACE, FILE_WRITE_DATA);
    allow(list, &acl_everyone, 0, FILE_GENERIC_READ | FILE_GENERIC_EXECUTE);
    return list;
}

ACL *acl_of_token(const SID *owner)
{
    ACL *list = acl_new(256);

    if (list)
    {
        allow(list, owner, 0, FILE_ALL_ACCESS);
        allow(list, &acl_system, 0, FILE_ALL_ACCESS);
    }
    return list;
}

ACL *acl_copy(const ACL *list)
{
    ACL *copy = heap_alloc(list->AclSize);

    if (copy)
        memcpy(copy, list, list->AclSize);
    return copy;
}

/* Whether an entry means other rights to a folder than to what inherits them: generic ones are each object's own. */
static BOOL is_double(const ACE_HEADER *entry)
{
    BYTE flags = entry->AceFlags;

    return is_plain(entry) && (flags & ALL_LISTS) && !(flags & INHERIT_ONLY_ACE) &&
           (((const struct entry_of_list *)entry)->mask & GENERIC_RIGHTS);
}

ACL *acl_set(const ACL *list, BOOL inherits, BOOL folder)
{
    ACL *copy = acl_new(2 * list->AclSize);
    const ACE_HEADER *entry = first(list);

    for (unsigned i = 0; copy && i < list->AceCount; i++, entry = next(entry))
    {
        BYTE flags = entry->AceFlags;

        if (inherits && ((flags & INHERITED_ACE) || (is_plain(entry) && !((const struct entry_of_list *)entry)->mask)))
            continue;
        if (!folder || !is_double(entry))
        {
            append(copy, entry, flags, NULL);
            continue;
        }
        append(copy, entry, flags & ~(ALL_LISTS | NO_PROPAGATE_INHERIT_ACE), NULL);
        append(copy, entry, flags | INHERIT_ONLY_ACE, NULL);
    }
    return copy;
}

/*
 * Takes a list's last entry away if the list has it already: the owner is often named beside CREATOR OWNER, and Windows
 * lists it once.
 */
static void drop_repeated(ACL *list)
{
    const ACE_HEADER *last = first(list), *entry = last;

    for (unsigned i = 1; i < list->AceCount; i++)
        last = next(last);
    for (; entry != last; entry = next(entry))
        if (entry->AceSize == last->AceSize && !memcmp(entry, last, last->AceSize))
        {
            list->AclSize -= last->AceSize;
            list->AceCount--;
            return;
        }
}

/* Adds what an object inherits of one entry of its folder. */
static void inherit(ACL *list, const ACE_HEADER *entry, BOOL folder, const SID *owner, const SID *group)
{
    const struct entry_of_list *plain = is_plain(entry) ? (const struct entry_of_list *)entry : NULL;
    BYTE flags = entry->AceFlags, passed = folder && !(flags & NO_PROPAGATE_INHERIT_ACE) ? flags & ALL_LISTS : 0;
    const SID *sid = NULL;

    if (!(flags & (folder ? CONTAINER_INHERIT_ACE : OBJECT_INHERIT_ACE)))
    {
        if (passed) /* a folder passes on entries for files */
            append(list, entry, passed | INHERIT_ONLY_ACE | INHERITED_ACE, NULL);
        return;
    }
    if (plain && same_sid(&plain->sid, &creator_owner))
        sid = owner;
    if (plain && same_sid(&plain->sid, &creator_group))
        sid = group;
    if (passed && plain && (sid || (plain->mask & GENERIC_RIGHTS)))
    {
        append(list, entry, INHERITED_ACE, sid);
        if (sid)
            drop_repeated(list);
        append(list, entry, passed | INHERIT_ONLY_ACE | INHERITED_ACE, NULL);
        return;
    }
    append(list, entry, passed | INHERITED_ACE, sid);
    if (sid)
        drop_repeated(list);
}

ACL *acl_inherit(const ACL *own, const ACL *from, BOOL folder, const SID *owner, const SID *group)
{
    /* an inherited entry becomes two at most, one of them with another SID */
    ACL *list = acl_new((own ? own->AclSize : sizeof(ACL)) + 2 * from->AclSize +
                        from->AceCount * SECURITY_MAX_SID_SIZE);
    const ACE_HEADER *entry = own ? first(own) : NULL;

    for (unsigned i = 0; list && own && i < own->AceCount; i++, entry = next(entry))
        append(list, entry, entry->AceFlags, NULL);
    entry = first(from);
    for (unsigned i = 0; list && i < from->AceCount; i++, entry = next(entry))
        inherit(list, entry, folder, owner, group);
    return list;
}

ACCESS_MASK acl_rights(const ACL *list, const SID *const *identities, unsigned count)
{
    ACCESS_MASK allowed = 0, denied = 0;
    const ACE_HEADER *entry = first(list);

    for (unsigned i = 0; i < list->AceCount; i++, entry = next(entry))
    {
        const struct entry_of_list *plain = (const struct entry_of_list *)entry;
        BOOL meant = FALSE;

        if ((entry->AceFlags & INHERIT_ONLY_ACE) || !is_plain(entry))
            continue;
        for (unsigned j = 0; j < count; j++)
            meant |= same_sid(&plain->sid, identities[j]);
        if (meant && entry->AceType == ACCESS_DENIED_ACE_TYPE)
            denied |= plain->mask & ~allowed;
        else if (meant)
            allowed |= plain->mask & ~denied;
    }
    return allowed;
}

static BOOL is_sid(const SID *sid)
{
    return sid->Revision == SID_REVISION && sid->SubAuthorityCount <= SID_MAX_SUB_AUTHORITIES;
}

/* The SID at an offset, if it lies completely within the bytes. */
static const SID *sid_at(const BYTE *bytes, ULONG length, ULONG offset)
{
    const SID *sid = (const SID *)(bytes + offset);

    if (offset < sizeof(SECURITY_DESCRIPTOR_RELATIVE) || offset > length || length - offset < 8 || !is_sid(sid) ||
        length - offset < sid_length(sid))
        return NULL;
    return sid;
}

/* Whether a list is long enough for its entries, and each entry for the fields that are read. */
static BOOL is_whole(const ACL *list)
{
    ULONG at = sizeof(ACL);

    if (list->AclSize < sizeof(ACL))
        return FALSE;
    for (unsigned i = 0; i < list->AceCount; i++)
    {
        const struct entry_of_list *entry = (const struct entry_of_list *)((const BYTE *)list + at);

        if (list->AclSize < at + sizeof(ACE_HEADER) || entry->header.AceSize < sizeof(ACE_HEADER) ||
            list->AclSize - at < entry->header.AceSize)
            return FALSE;
        if (is_plain(&entry->header) &&
            (entry->header.AceSize < FIELD_OFFSET(struct entry_of_list, sid) + 8u ||
             entry->sid.SubAuthorityCount > SID_MAX_SUB_AUTHORITIES ||
             entry->header.AceSize < FIELD_OFFSET(struct entry_of_list, sid) + sid_length(&entry->sid)))
            return FALSE;
        at += entry->header.AceSize;
    }
    return TRUE;
}

/* The list at an offset, if it and its entries lie completely within the bytes. */
static const ACL *list_at(const BYTE *bytes, ULONG length, ULONG offset)
{
    const ACL *list = (const ACL *)(bytes + offset);

    if (offset < sizeof(SECURITY_DESCRIPTOR_RELATIVE) || offset > length || length - offset < sizeof(ACL) ||
        list->AclSize > length - offset)
        return NULL;
    return is_whole(list) ? list : NULL;
}

BOOL acl_descriptor_parse(const BYTE *bytes, ULONG length, struct descriptor *descriptor)
{
    const SECURITY_DESCRIPTOR_RELATIVE *from = (const SECURITY_DESCRIPTOR_RELATIVE *)bytes;

    memset(descriptor, 0, sizeof(*descriptor));
    if (length < sizeof(*from) || from->Revision != SECURITY_DESCRIPTOR_REVISION || !(from->Control & SE_SELF_RELATIVE))
        return FALSE;
    if ((from->Owner && !(descriptor->owner = sid_at(bytes, length, from->Owner))) ||
        (from->Group && !(descriptor->group = sid_at(bytes, length, from->Group))))
        return FALSE;
    descriptor->control = from->Control & (SE_DACL_PROTECTED | SE_DACL_AUTO_INHERITED);
    descriptor->has_list = (from->Control & SE_DACL_PRESENT) != 0;
    return !descriptor->has_list || !from->Dacl || (descriptor->list = list_at(bytes, length, from->Dacl));
}

NTSTATUS acl_descriptor_take(SECURITY_DESCRIPTOR *from, struct descriptor *descriptor)
{
    BOOLEAN present = FALSE, defaulted;
    NTSTATUS status;
    ULONG revision;

    memset(descriptor, 0, sizeof(*descriptor));
    if ((status = RtlGetControlSecurityDescriptor(from, &descriptor->control, &revision)) ||
        (status = RtlGetOwnerSecurityDescriptor(from, (SID **)&descriptor->owner, &defaulted)) ||
        (status = RtlGetGroupSecurityDescriptor(from, (SID **)&descriptor->group, &defaulted)) ||
        (status = RtlGetDaclSecurityDescriptor(from, &present, (ACL **)&descriptor->list, &defaulted)))
        return status;
    descriptor->has_list = present;
    if (!present)
        descriptor->list = NULL;
    if ((descriptor->owner && !is_sid(descriptor->owner)) || (descriptor->group && !is_sid(descriptor->group)))
        return STATUS_INVALID_SID;
    /* Wine 8.0's RtlValidAcl checks the revision and where entries begin, but not their content. */
    return descriptor->list && (!RtlValidAcl((ACL *)descriptor->list) || !is_whole(descriptor->list))
               ? STATUS_INVALID_ACL
               : STATUS_SUCCESS;
}

static DWORD put(BYTE *bytes, ULONG *at, const void *part, ULONG length)
{
    ULONG offset = *at;

    if (!part)
        return 0;
    if (bytes)
        memcpy(bytes + offset, part, length);
    *at += (length + 3) & ~3u;
    return offset;
}

ULONG acl_descriptor_write(const struct descriptor *descriptor, BYTE *bytes)
{
    SECURITY_DESCRIPTOR_RELATIVE head = {
        SECURITY_DESCRIPTOR_REVISION, 0, SE_SELF_RELATIVE | descriptor->control, 0, 0, 0, 0};
    ULONG at = sizeof(head);

    if (descriptor->has_list)
        head.Control |= SE_DACL_PRESENT;
    head.Owner = put(bytes, &at, descriptor->owner, descriptor->owner ? sid_length(descriptor->owner) : 0);
    head.Group = put(bytes, &at, descriptor->group, descriptor->group ? sid_length(descriptor->group) : 0);
    head.Dacl = put(bytes, &at, descriptor->list, descriptor->list ? descriptor->list->AclSize : 0);
    if (bytes)
        memcpy(bytes, &head, sizeof(head));
    return at;
}
