/*
 * Tests of lists and descriptors (hooks/acl.c): inheritance by [MS-DTYP] 2.5.3.4, and bytes that are not a
 * descriptor.
 */
#include "acl.h"

#include <stdlib.h>

#include "check.h"
#include "heap.h"

#define ADMINISTRATORS ((const SID *)&acl_administrators)
#define USERS ((const SID *)&acl_users)
#define SYSTEM ((const SID *)&acl_system)
#define EVERYONE ((const SID *)&acl_everyone)

enum
{
    OI = OBJECT_INHERIT_ACE,
    CI = CONTAINER_INHERIT_ACE,
    NP = NO_PROPAGATE_INHERIT_ACE,
    IO = INHERIT_ONLY_ACE,
    ID = INHERITED_ACE,
    ALLOW = ACCESS_ALLOWED_ACE_TYPE,
    DENY = ACCESS_DENIED_ACE_TYPE,
    READ = FILE_READ_DATA,
    OBJECT = 5 /* ACCESS_ALLOWED_OBJECT_ACE_TYPE */
};

static const struct short_sid creator_owner = {1, 1, {{0, 0, 0, 0, 0, 3}}, {0}};
static const struct short_sid creator_group = {1, 1, {{0, 0, 0, 0, 0, 3}}, {1}};

/* An entry as the tests write it; one with sid NULL is the end. */
struct ace
{
    BYTE type, flags;
    ACCESS_MASK mask;
    const void *sid;
};

static ULONG length_of(const SID *sid)
{
    return 8 + 4 * (ULONG)sid->SubAuthorityCount;
}

/* A list of the entries, in a block of exactly its size; the caller frees it. */
static ACL *list_with(const struct ace *aces)
{
    ACL *list = calloc(1, 4096);

    list->AclRevision = ACL_REVISION;
    list->AclSize = sizeof(*list);
    for (; aces->sid; aces++)
    {
        ULONG length = length_of(aces->sid);
        ACE_HEADER head = {aces->type, aces->flags, (WORD)(sizeof(head) + sizeof(ACCESS_MASK) + length)};
        BYTE *at = (BYTE *)list + list->AclSize;

        memcpy(at, &head, sizeof(head));
        memcpy(at + sizeof(head), &aces->mask, sizeof(aces->mask));
        memcpy(at + sizeof(head) + sizeof(aces->mask), aces->sid, length);
        list->AclSize = (WORD)(list->AclSize + head.AceSize);
        list->AceCount++;
    }
    return realloc(list, list->AclSize);
}

static void check_list(const char *item, const char *what, const ACL *got, const struct ace *want)
{
    ACL *list = list_with(want);
    const BYTE *entry = (const BYTE *)(got + 1);

    check_number(item, what, got->AceCount, list->AceCount);
    check_number(item, "its length", got->AclSize, list->AclSize);
    for (unsigned i = 0; i < got->AceCount && i < list->AceCount; i++, entry += ((const ACE_HEADER *)entry)->AceSize)
    {
        const ACE_HEADER *head = (const ACE_HEADER *)entry;
        ACCESS_MASK mask;

        memcpy(&mask, entry + sizeof(*head), sizeof(mask));
        check_number(item, "type", head->AceType, want[i].type);
        check_number(item, "flags", head->AceFlags, want[i].flags);
        check_number(item, "mask", mask, want[i].mask);
        check_number(item, "sid", memcmp(entry + sizeof(*head) + sizeof(mask), want[i].sid, length_of(want[i].sid)), 0);
    }
    free(list);
}

/* Which entries a file and a folder inherit from one entry. */
static void test_inherit(void)
{
    static const struct ace twice[] = {
        {ALLOW, OI | CI, FILE_ALL_ACCESS, SYSTEM}, {ALLOW, OI | CI | IO, GENERIC_ALL, &creator_owner}, {0}};
    static const struct ace once[] = {{ALLOW, ID, FILE_ALL_ACCESS, &acl_system}, {0}};
    static const struct
    {
        const char *item;
        struct ace entry, file[3], folder[3];
    } cases[] = {
        {"not inherited", {ALLOW, 0, FILE_ALL_ACCESS, &acl_users}, {{0}}, {{0}}},
        {"by both",
         {ALLOW, OI | CI, FILE_GENERIC_READ, &acl_users},
         {{ALLOW, ID, FILE_GENERIC_READ, &acl_users}},
         {{ALLOW, OI | CI | ID, FILE_GENERIC_READ, &acl_users}}},
        /* clang-format off */
        {"by folders", {ALLOW, CI, READ, USERS}, {{0}}, {{ALLOW, CI | ID, READ, USERS}}},
        {"by files", {DENY, OI, READ, USERS}, {{DENY, ID, READ, USERS}}, {{DENY, OI | IO | ID, READ, USERS}}},
        {"once", {ALLOW, OI | CI | NP, READ, USERS}, {{ALLOW, ID, READ, USERS}}, {{ALLOW, ID, READ, USERS}}},
        {"once, by files", {ALLOW, OI | NP, READ, USERS}, {{ALLOW, ID, READ, USERS}}, {{0}}},
        {"below", {ALLOW, OI | CI | IO, READ, USERS}, {{ALLOW, ID, READ, USERS}}, {{ALLOW, OI | CI | ID, READ, USERS}}},
        /* clang-format on */
        {"creator",
         {ALLOW, OI | CI | IO, GENERIC_ALL, &creator_owner},
         {{ALLOW, ID, FILE_ALL_ACCESS, &acl_system}},
         {{ALLOW, ID, FILE_ALL_ACCESS, &acl_system}, {ALLOW, OI | CI | IO | ID, GENERIC_ALL, &creator_owner}}},
        {"creator's group, once",
         {ALLOW, OI | CI | NP, GENERIC_READ, &creator_group},
         {{ALLOW, ID, FILE_GENERIC_READ, &acl_administrators}},
         {{ALLOW, ID, FILE_GENERIC_READ, &acl_administrators}}},
        {"generic rights",
         {ALLOW, OI | CI, GENERIC_READ | GENERIC_EXECUTE, &acl_users},
         {{ALLOW, ID, FILE_GENERIC_READ | FILE_GENERIC_EXECUTE, &acl_users}},
         {{ALLOW, ID, FILE_GENERIC_READ | FILE_GENERIC_EXECUTE, &acl_users},
          {ALLOW, OI | CI | IO | ID, GENERIC_READ | GENERIC_EXECUTE, &acl_users}}},
        {"another type, kept as it is",
         {OBJECT, OI | CI, GENERIC_WRITE, &creator_owner},
         {{OBJECT, ID, GENERIC_WRITE, &creator_owner}},
         {{OBJECT, OI | CI | ID, GENERIC_WRITE, &creator_owner}}},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
    {
        const struct ace one[] = {cases[i].entry, {0}};
        ACL *from = list_with(one), *file = acl_inherit(NULL, from, FALSE, SYSTEM, ADMINISTRATORS),
            *folder = acl_inherit(NULL, from, TRUE, SYSTEM, ADMINISTRATORS);

        check_list(cases[i].item, "entries of a file", file, cases[i].file);
        check_list(cases[i].item, "entries of a folder", folder, cases[i].folder);
        heap_free(file);
        heap_free(folder);
        free(from);
    }
    /* the owner is named, and inherits the same as the creator */
    ACL *named = list_with(twice), *got = acl_inherit(NULL, named, FALSE, SYSTEM, ADMINISTRATORS);

    check_list("the owner is named", "entries of a file", got, once);
    heap_free(got);
    free(named);
}

/*
 * Long lists with the longest identifiers. One entry becomes two, of which one has 76 bytes; entries for which the
 * list has no room are left out.
 */
static void test_inherit_much(void)
{
    const unsigned count = (0xffff - sizeof(ACL)) / 20;
    struct ace *aces = calloc(count + 1, sizeof(*aces));
    BYTE owner[SECURITY_MAX_SID_SIZE] = {SID_REVISION, SID_MAX_SUB_AUTHORITIES};
    ACL *from, *got;

    for (unsigned i = 0; i < 150; i++)
        aces[i] = (struct ace){ALLOW, OI | CI, i + 1, &creator_owner}; /* of the same rights one would be left */
    from = list_with(aces);
    got = acl_inherit(NULL, from, TRUE, (const SID *)owner, USERS);
    check_number("150 creators", "entries", got->AceCount, 300);
    check_number("150 creators", "length", got->AclSize, 8 + 150 * (76 + 20));
    heap_free(got);
    free(from);
    from = calloc(1, 0xffff);
    from->AclRevision = ACL_REVISION;
    from->AclSize = (WORD)(sizeof(ACL) + count * 20);
    from->AceCount = (WORD)count;
    for (unsigned i = 0; i < count; i++)
    {
        struct
        {
            ACE_HEADER head;
            ACCESS_MASK mask;
            BYTE sid[12];
        } entry = {{ALLOW, OI | CI, 20}, GENERIC_ALL, {0}};

        memcpy(entry.sid, &creator_owner, sizeof(entry.sid));
        memcpy((BYTE *)(from + 1) + i * sizeof(entry), &entry, sizeof(entry));
    }
    got = acl_inherit(from, from, TRUE, (const SID *)owner, USERS);
    check_number("the longest list", "fits", got && got->AclSize <= 0xfffc && got->AceCount >= count - 1, TRUE);
    heap_free(got);
    free(from);
    free(aces);
}

static void test_set(void)
{
    static const struct ace given[] = {{ALLOW, 0, GENERIC_READ, &acl_users},
                                       {ALLOW, ID, READ, &acl_users},
                                       {DENY, 0, 0, &acl_everyone},
                                       {ALLOW, IO | OI, GENERIC_READ, &acl_users},
                                       {0}};
    static const struct ace all[] = {{ALLOW, 0, FILE_GENERIC_READ, &acl_users},
                                     {ALLOW, ID, READ, &acl_users},
                                     {DENY, 0, 0, &acl_everyone},
                                     {ALLOW, IO | OI, GENERIC_READ, &acl_users},
                                     {0}};
    static const struct ace own[] = {{ALLOW, 0, FILE_GENERIC_READ, USERS}, {ALLOW, IO | OI, GENERIC_READ, USERS}, {0}};
    static const struct ace none[] = {{0}};
    ACL *list = list_with(given), *empty = list_with(none), *got = acl_set(list, FALSE, FALSE);

    check_list("set", "entries", got, all);
    heap_free(got);
    got = acl_set(list, TRUE, TRUE);
    check_list("set, with what is inherited", "entries", got, own);
    heap_free(got);
    got = acl_set(empty, TRUE, TRUE);
    check_list("set, empty", "entries", got, none);
    heap_free(got);
    free(list);
    free(empty);
}

/* The first entry that names a right decides about it ([MS-DTYP] 2.5.3.2). */
static void test_rights(void)
{
    static const struct
    {
        const char *item;
        struct ace aces[4];
        ACCESS_MASK want;
    } cases[] = {
        {"nothing", {{0}}, 0},
        {"allowed", {{ALLOW, 0, 3, &acl_users}, {ALLOW, 0, 4, &acl_everyone}}, 7},
        {"others", {{ALLOW, 0, 3, &acl_system}}, 0},
        {"denied first", {{DENY, 0, 2, &acl_users}, {ALLOW, 0, 3, &acl_everyone}}, 1},
        {"allowed first", {{ALLOW, 0, 3, &acl_users}, {DENY, 0, 2, &acl_everyone}}, 3},
        {"below", {{ALLOW, IO | OI, 3, &acl_users}, {DENY, IO, 1, &acl_users}, {ALLOW, 0, 1, &acl_users}}, 1},
        {"another type", {{OBJECT, 0, 3, &acl_users}}, 0},
    };
    const SID *const who[] = {USERS, EVERYONE};

    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
    {
        ACL *list = list_with(cases[i].aces);

        check_number(cases[i].item, "rights", acl_rights(list, who, 2), cases[i].want);
        free(list);
    }
}

/* The bytes of a descriptor: head, owner at 20, list at 36 with one entry (16 bytes of SID). */
struct bytes
{
    SECURITY_DESCRIPTOR_RELATIVE head;
    struct
    {
        BYTE revision, count;
        SID_IDENTIFIER_AUTHORITY authority;
        DWORD part[2];
    } owner;
    ACL list;
    ACE_HEADER entry;
    ACCESS_MASK mask;
    struct
    {
        BYTE revision, count;
        SID_IDENTIFIER_AUTHORITY authority;
        DWORD part[2];
    } sid;
};

static const struct bytes good = {{1, 0, SE_SELF_RELATIVE | SE_DACL_PRESENT | SE_DACL_PROTECTED, 20, 20, 0, 36},
                                  {1, 2, {{0, 0, 0, 0, 0, 5}}, {32, 544}},
                                  {2, 0, 32, 1, 0},
                                  {ALLOW, 0, 24},
                                  READ,
                                  {1, 2, {{0, 0, 0, 0, 0, 5}}, {32, 545}}};

#define AT(field) (int)offsetof(struct bytes, field)

/*
 * One change to the good bytes: the 16-bit number at an offset is replaced; length is how many of the bytes are
 * given, 0: all.
 */
static const struct
{
    const char *item;
    int at;
    unsigned number;
    ULONG length;
    BOOL want;
} damages[] = {
    {"none", AT(head.Control), SE_SELF_RELATIVE | SE_DACL_PRESENT, 0, TRUE},
    {"no bytes", AT(head.Control), SE_SELF_RELATIVE, 1, FALSE},
    {"a head that ends early", AT(head.Control), SE_SELF_RELATIVE, 19, FALSE},
    {"another revision", AT(head.Revision), 2, 0, FALSE},
    {"pointers, not offsets", AT(head.Control), SE_DACL_PRESENT, 0, FALSE},
    {"no list", AT(head.Control), SE_SELF_RELATIVE, 36, TRUE},
    {"a null list", AT(head.Dacl), 0, 36, TRUE},
    {"an owner in the head", AT(head.Owner), 4, 0, FALSE},
    {"an owner at the end", AT(head.Owner), sizeof(struct bytes), 0, FALSE},
    {"an owner behind the end", AT(head.Owner), 0x7000, 0, FALSE},
    {"an owner whose last byte is missing", AT(head.Owner), 20, 35, FALSE},
    {"an owner of another revision", AT(owner.revision), 0x0200, 0, FALSE},
    {"an owner of 16 parts", AT(owner.revision), 0x1001, 0, FALSE},
    {"a group at the end", AT(head.Group), sizeof(struct bytes) - 7, 0, FALSE},
    {"a list in the head", AT(head.Dacl), 8, 0, FALSE},
    {"a list at the end", AT(head.Dacl), sizeof(struct bytes) - 4, 0, FALSE},
    {"a list behind the end", AT(head.Dacl), 0x7000, 0, FALSE},
    {"a list longer than the bytes", AT(list.AclSize), 36, 0, FALSE},
    {"a list without its last byte", AT(list.AclSize), 32, sizeof(struct bytes) - 1, FALSE},
    {"a list shorter than its entry", AT(list.AclSize), 31, 0, FALSE},
    {"a list with more entries than it has room for", AT(list.AceCount), 2, 0, FALSE},
    {"a list with 65535 entries", AT(list.AceCount), 0xffff, 0, FALSE},
    {"an entry of no bytes", AT(entry.AceSize), 0, 0, FALSE},
    {"an entry of its head alone", AT(entry.AceSize), 4, 0, FALSE},
    {"an entry too short for its SID", AT(entry.AceSize), 20, 0, FALSE},
    {"an entry longer than the list", AT(entry.AceSize), 28, 0, FALSE},
    {"an entry whose SID is longer", AT(sid.revision), 0x0301, 0, FALSE},
    {"an entry whose SID has 255 parts", AT(sid.revision), 0xff01, 0, FALSE},
};

/* Uses a parsed descriptor: each of these functions reads the whole of it. */
static void use(const struct descriptor *parsed)
{
    const SID *const who[] = {USERS};
    ACL *copies[3] = {acl_copy(parsed->list), acl_set(parsed->list, TRUE, TRUE),
                      acl_inherit(parsed->list, parsed->list, TRUE, USERS, USERS)};
    ULONG length = acl_descriptor_write(parsed, NULL);
    BYTE *bytes = malloc(length);

    acl_rights(parsed->list, who, 1);
    check_number("a descriptor that parses", "bytes written", acl_descriptor_write(parsed, bytes), length);
    for (unsigned i = 0; i < 3; i++)
    {
        acl_rights(copies[i], who, 1);
        heap_free(copies[i]);
    }
    free(bytes);
}

static void test_parse(void)
{
    for (unsigned i = 0; i < sizeof(damages) / sizeof(*damages); i++)
    {
        ULONG length = damages[i].length ? damages[i].length : sizeof(good);
        BYTE all[sizeof(good)], *bytes = malloc(length); /* exactly this size: a read beyond it is found */
        struct descriptor parsed;
        BOOL got;

        memcpy(all, &good, sizeof(good));
        all[damages[i].at] = (BYTE)damages[i].number;
        all[damages[i].at + 1] = (BYTE)(damages[i].number >> 8);
        memcpy(bytes, all, length);
        got = acl_descriptor_parse(bytes, length, &parsed);
        check_number(damages[i].item, "parses", got, damages[i].want);
        if (got && parsed.list)
            use(&parsed);
        free(bytes);
    }
}

/* A list without entries, whose size field is smaller than its head: the missing bytes must not be read. */
static void test_parse_short_list(void)
{
    for (WORD size = 0; size <= sizeof(ACL); size++)
    {
        ULONG length = AT(list) + sizeof(ACL);
        BYTE *bytes = malloc(length);
        ACL head = {2, 0, size, 0, 0};
        struct descriptor parsed;
        BOOL got;

        memcpy(bytes, &good, length);
        memcpy(bytes + AT(list), &head, sizeof(head));
        got = acl_descriptor_parse(bytes, length, &parsed);
        check_number("a list shorter than its head", "parses", got, size == sizeof(ACL));
        if (got)
            use(&parsed);
        free(bytes);
    }
}

/*
 * Each byte is replaced by several values: nothing beyond the bytes is read, and a descriptor that parses can be
 * used.
 */
static void test_parse_any(void)
{
    static const BYTE values[] = {0, 1, 3, 4, 7, 8, 15, 16, 0x7f, 0x80, 0xfe, 0xff};

    for (ULONG at = 0; at < sizeof(good); at++)
        for (unsigned i = 0; i < sizeof(values); i++)
            for (ULONG length = 0; length <= sizeof(good); length += length < 64 ? 16 : 1)
            {
                BYTE all[sizeof(good)], *bytes = malloc(length ? length : 1);
                struct descriptor parsed;

                memcpy(all, &good, sizeof(good));
                all[at] = values[i];
                memcpy(bytes, all, length);
                if (acl_descriptor_parse(bytes, length, &parsed) && parsed.list)
                    use(&parsed);
                free(bytes);
            }
}

/* A written descriptor reads back the same. */
static void test_write(void)
{
    ACL *list = acl_of_drive();
    struct descriptor given = {ADMINISTRATORS, SYSTEM, TRUE, list, SE_DACL_PROTECTED}, read;
    ULONG length = acl_descriptor_write(&given, NULL);
    BYTE *bytes = malloc(length);

    acl_descriptor_write(&given, bytes);
    check_number("written", "reads", acl_descriptor_parse(bytes, length, &read), TRUE);
    check_number("written", "owner", memcmp(read.owner, ADMINISTRATORS, 16), 0);
    check_number("written", "group", memcmp(read.group, SYSTEM, 12), 0);
    check_number("written", "control", read.control, SE_DACL_PROTECTED);
    check_number("written", "list", memcmp(read.list, list, list->AclSize), 0);
    free(bytes);
    heap_free(list);
}

/*
 * A program's descriptor: descriptors that Windows refuses are refused here, with the same status ([MS-ERREF]
 * 2.3.1).
 */
static void test_take(void)
{
    BYTE long_sid[8 + 4 * 16] = {SID_REVISION, 16};
    ACL *list = acl_of_drive(), lying = {2, 0, 8, 1, 0}, *broken = calloc(1, 12);
    WORD control = SE_DACL_PRESENT | SE_DACL_PROTECTED;
    SECURITY_DESCRIPTOR descriptor = {1, 0, control, (SID *)ADMINISTRATORS, NULL, NULL, list};
    struct descriptor taken;

    check_status("a descriptor", "status", acl_descriptor_take(&descriptor, &taken), STATUS_SUCCESS);
    check_number("a descriptor", "its list",
                 taken.has_list && taken.list == list && taken.owner == ADMINISTRATORS && !taken.group, TRUE);
    descriptor.Dacl = NULL;
    check_status("a null list", "status", acl_descriptor_take(&descriptor, &taken), STATUS_SUCCESS);
    check_number("a null list", "its list", taken.has_list && !taken.list, TRUE);
    descriptor.Dacl = &lying;
    check_status("a list that lacks its entry", "status", acl_descriptor_take(&descriptor, &taken), STATUS_INVALID_ACL);
    broken->AclRevision = 2;
    broken->AclSize = 12;
    broken->AceCount = 1;
    ((ACE_HEADER *)(broken + 1))->AceSize = 4;
    descriptor.Dacl = broken;
    check_status("an entry without its mask", "status", acl_descriptor_take(&descriptor, &taken), STATUS_INVALID_ACL);
    descriptor.Dacl = list;
    descriptor.Owner = (SID *)long_sid;
    check_status("an owner of 16 parts", "status", acl_descriptor_take(&descriptor, &taken), STATUS_INVALID_SID);
    descriptor.Owner = NULL;
    descriptor.Group = (SID *)long_sid;
    check_status("a group of 16 parts", "status", acl_descriptor_take(&descriptor, &taken), STATUS_INVALID_SID);
    descriptor.Revision = 3;
    check_status("another revision", "status", acl_descriptor_take(&descriptor, &taken), STATUS_UNKNOWN_REVISION);
    free(broken);
    heap_free(list);
}

int main(void)
{
    test_inherit();
    test_inherit_much();
    test_set();
    test_rights();
    test_write();
    test_parse();
    test_parse_short_list();
    test_parse_any();
    test_take();
    check_number("the end", "blocks of memory left", heap_left(), 0);
    return checks_end();
}
