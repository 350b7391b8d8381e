/*
 * The native API as the hooks need it: structures, classes and status values that mingw-w64's winternl.h lacks or
 * hides. Layouts are those of Microsoft's [MS-FSCC] 2.4 and of ntifs.h.
 */
#ifndef MULLION_NT_H
#define MULLION_NT_H

#ifndef WIN32_NO_STATUS
#define WIN32_NO_STATUS
#endif
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>

#ifndef STATUS_NOT_A_REPARSE_POINT
#define STATUS_NOT_A_REPARSE_POINT ((NTSTATUS)0xC0000275)
#endif
#ifndef STATUS_IO_REPARSE_TAG_NOT_HANDLED
#define STATUS_IO_REPARSE_TAG_NOT_HANDLED ((NTSTATUS)0xC0000279)
#endif
#ifndef STATUS_REPARSE_POINT_ENCOUNTERED
#define STATUS_REPARSE_POINT_ENCOUNTERED ((NTSTATUS)0xC000050B)
#endif
#ifndef STATUS_REPARSE_POINT_NOT_RESOLVED
#define STATUS_REPARSE_POINT_NOT_RESOLVED ((NTSTATUS)0xC0000280)
#endif

#define OBJ_DONT_REPARSE_FLAG 0x1000 /* OBJ_DONT_REPARSE of ntdef.h */
#define TAG_SYMLINK 0xA000000Cu      /* winnt.h IO_REPARSE_TAG_… */
#define TAG_MOUNT_POINT 0xA0000003u
#define TAG_AF_UNIX 0x80000023u
#define CODE_SET_REPARSE_POINT 0x900A4u /* winioctl.h FSCTL_… */
#define CODE_GET_REPARSE_POINT 0x900A8u
#define CODE_DELETE_REPARSE_POINT 0x900ACu

/* clang-format off */
enum /* FILE_INFORMATION_CLASS */
{
    CLASS_DIRECTORY = 1, CLASS_FULL_DIRECTORY = 2, CLASS_BOTH_DIRECTORY = 3, CLASS_BASIC = 4, CLASS_STANDARD = 5,
    CLASS_INTERNAL = 6, CLASS_EA = 7, CLASS_ACCESS = 8, CLASS_NAME = 9, CLASS_RENAME = 10, CLASS_LINK = 11,
    CLASS_NAMES = 12, CLASS_DISPOSITION = 13, CLASS_POSITION = 14, CLASS_MODE = 16, CLASS_ALIGNMENT = 17,
    CLASS_ALL = 18, CLASS_COMPRESSION = 28, CLASS_NETWORK_OPEN = 34, CLASS_ATTRIBUTE_TAG = 35,
    CLASS_ID_BOTH_DIRECTORY = 37, CLASS_ID_FULL_DIRECTORY = 38, CLASS_ID_GLOBAL_TX = 50, CLASS_ID = 59,
    CLASS_DISPOSITION_EX = 64, CLASS_RENAME_EX = 65, CLASS_STAT = 68
};

enum /* flags of CLASS_DISPOSITION_EX and CLASS_RENAME_EX */
{
    DISPOSE_DELETE = 1, DISPOSE_POSIX = 2, DISPOSE_IGNORE_READONLY = 0x10,
    RENAME_REPLACE = 1, RENAME_POSIX = 2
};
/* clang-format on */

struct nt_basic_info
{
    LARGE_INTEGER creation, access, write, change;
    ULONG attributes;
};

struct nt_standard_info
{
    LARGE_INTEGER allocation, size;
    ULONG links;
    BOOLEAN delete_pending, directory;
};

struct nt_network_open_info
{
    LARGE_INTEGER creation, access, write, change, allocation, size;
    ULONG attributes;
};

/* FILE_COMPRESSION_INFORMATION, [MS-FSCC] 2.4.9 */
struct nt_compression_info
{
    LARGE_INTEGER size;
    USHORT format;
    BYTE unit_shift, chunk_shift, cluster_shift, reserved[3];
};

/* https://learn.microsoft.com/en-us/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_file_stat_information */
struct nt_stat_info
{
    UINT64 id;
    LARGE_INTEGER creation, access, write, change, allocation, size;
    ULONG attributes, tag, links, rights; /* 56 */
};

struct nt_all_info
{
    struct nt_basic_info basic;       /* 0 */
    struct nt_standard_info standard; /* 40 */
    UINT64 index;                     /* 64 */
    ULONG ea, access_flags;           /* 72 */
    UINT64 position;                  /* 80 */
    ULONG mode, alignment;            /* 88 */
    ULONG name_length;                /* 96 */
    WCHAR name[1];                    /* 100 */
};

struct nt_rename_info
{
    union
    {
        BOOLEAN replace; /* CLASS_RENAME */
        ULONG flags;     /* CLASS_RENAME_EX */
    };
    HANDLE root;
    ULONG name_length;
    WCHAR name[1];
};

/* Every directory class but CLASS_NAMES starts like this. */
struct nt_directory_info
{
    ULONG next, index;
    LARGE_INTEGER creation, access, write, change, size, allocation;
    ULONG attributes, name_length; /* 56, 60 */
};

struct nt_reparse_data
{
    ULONG tag;
    USHORT length, reserved;
    USHORT target_offset, target_length, print_offset, print_length;
    union
    {
        struct
        {
            ULONG flags; /* 1: relative */
            WCHAR names[1];
        } symlink;
        struct
        {
            WCHAR names[1];
        } mount;
    };
};

NTSTATUS WINAPI RtlUnicodeToUTF8N(char *, ULONG, ULONG *, const WCHAR *, ULONG);
NTSTATUS WINAPI RtlUTF8ToUnicodeN(WCHAR *, ULONG, ULONG *, const char *, ULONG);
WCHAR WINAPI RtlUpcaseUnicodeChar(WCHAR);
WCHAR WINAPI RtlDowncaseUnicodeChar(WCHAR);
PEB *WINAPI RtlGetCurrentPeb(void);
NTSTATUS WINAPI RtlGetControlSecurityDescriptor(SECURITY_DESCRIPTOR *, WORD *, ULONG *);
NTSTATUS WINAPI RtlGetOwnerSecurityDescriptor(SECURITY_DESCRIPTOR *, SID **, BOOLEAN *);
NTSTATUS WINAPI RtlGetGroupSecurityDescriptor(SECURITY_DESCRIPTOR *, SID **, BOOLEAN *);
NTSTATUS WINAPI RtlGetDaclSecurityDescriptor(SECURITY_DESCRIPTOR *, BOOLEAN *, ACL **, BOOLEAN *);
BOOLEAN WINAPI RtlValidAcl(ACL *);
NTSTATUS WINAPI NtQueryInformationToken(HANDLE, TOKEN_INFORMATION_CLASS, void *, ULONG, ULONG *);
NTSTATUS WINAPI NtDelayExecution(BOOLEAN, const LARGE_INTEGER *);

static inline void set_attributes(OBJECT_ATTRIBUTES *attributes, HANDLE root, UNICODE_STRING *name, ULONG flags)
{
    attributes->Length = sizeof(*attributes);
    attributes->RootDirectory = root;
    attributes->ObjectName = name;
    attributes->Attributes = flags;
    attributes->SecurityDescriptor = NULL;
    attributes->SecurityQualityOfService = NULL;
}

#endif
