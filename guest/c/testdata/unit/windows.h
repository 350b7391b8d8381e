/*
 * What the parts under test need of Windows, for a test on Linux: types, constants and calls, only those that they use.
 * Names, layouts and values are those of winnt.h, winbase.h and winternl.h. Compiled with -fshort-wchar, so that a
 * character of a wide string has 16 bits; the C library's functions for wide strings expect 32, so those that are used
 * are written anew (windows.c).
 */
#ifndef MULLION_TEST_WINDOWS_H
#define MULLION_TEST_WINDOWS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WINAPI
#define CDECL
#define TRUE 1
#define FALSE 0
#define min(a, b) ((a) < (b) ? (a) : (b))
#define FIELD_OFFSET(type, field) offsetof(type, field)

typedef uint8_t BYTE, BOOLEAN;
typedef uint16_t WORD, USHORT;
typedef int16_t SHORT;
typedef uint32_t DWORD, ULONG, UINT, UINT32, ACCESS_MASK, SECURITY_INFORMATION;
typedef int32_t BOOL, LONG, INT32, NTSTATUS, HRESULT;
typedef long long INT64, LONGLONG, LONG64;
typedef unsigned long long UINT64, ULONGLONG;
typedef uint16_t UINT16;
typedef size_t SIZE_T;
typedef uintptr_t UINT_PTR, ULONG_PTR;
typedef intptr_t LONG_PTR;
typedef wchar_t WCHAR;
typedef void *HANDLE, *HMODULE;
typedef int TOKEN_INFORMATION_CLASS;

typedef struct
{
    SHORT X, Y;
} COORD;

typedef union
{
    LONGLONG QuadPart;
} LARGE_INTEGER;

#define wcslen wide_length
#define wcsncmp wide_compare
SIZE_T wide_length(const WCHAR *text);
int wide_compare(const WCHAR *a, const WCHAR *b, SIZE_T most);

/* Memory; heap_left returns the number of blocks that were not freed. */
#define HEAP_ZERO_MEMORY 8
HANDLE GetProcessHeap(void);
void *HeapAlloc(HANDLE heap, DWORD flags, SIZE_T size);
BOOL HeapFree(HANDLE heap, DWORD flags, void *p);
HANDLE HeapCreate(DWORD flags, SIZE_T size, SIZE_T most);
BOOL HeapDestroy(HANDLE heap);
int heap_left(void);

/* The tests have one thread. */
typedef int SRWLOCK;
#define SRWLOCK_INIT 0
#define AcquireSRWLockExclusive(lock) ((void)(lock))
#define ReleaseSRWLockExclusive(lock) ((void)(lock))
#define AcquireSRWLockShared(lock) ((void)(lock))
#define ReleaseSRWLockShared(lock) ((void)(lock))
#define InterlockedIncrement(number) (++*(number))
#define InterlockedDecrement(number) (--*(number))
#define InterlockedExchange64(number, value) (*(number) = (value))
#define InterlockedExchangeAdd64(number, value) ((*(number) += (value)) - (value))

/* winerror.h */
#define ERROR_SUCCESS 0
#define ERROR_NOT_SUPPORTED 50
#define ERROR_EVT_INVALID_QUERY 15001
#define ERROR_EVT_FILTER_TOO_COMPLEX 15026

/* Security */
#define SID_REVISION 1
#define SID_MAX_SUB_AUTHORITIES 15
#define SECURITY_MAX_SID_SIZE 68
#define SECURITY_DESCRIPTOR_REVISION 1
#define ACL_REVISION 2
#define ACCESS_ALLOWED_ACE_TYPE 0
#define ACCESS_DENIED_ACE_TYPE 1
#define OBJECT_INHERIT_ACE 0x01
#define CONTAINER_INHERIT_ACE 0x02
#define NO_PROPAGATE_INHERIT_ACE 0x04
#define INHERIT_ONLY_ACE 0x08
#define INHERITED_ACE 0x10
#define SE_DACL_PRESENT 0x0004
#define SE_DACL_AUTO_INHERITED 0x0400
#define SE_DACL_PROTECTED 0x1000
#define SE_SELF_RELATIVE 0x8000
#define GENERIC_READ 0x80000000u
#define GENERIC_WRITE 0x40000000u
#define GENERIC_EXECUTE 0x20000000u
#define GENERIC_ALL 0x10000000u
#define FILE_READ_DATA 0x0001u
#define FILE_WRITE_DATA 0x0002u
#define FILE_APPEND_DATA 0x0004u
#define FILE_EXECUTE 0x0020u
#define FILE_GENERIC_READ 0x120089u
#define FILE_GENERIC_WRITE 0x120116u
#define FILE_GENERIC_EXECUTE 0x1200a0u
#define FILE_ALL_ACCESS 0x1f01ffu

typedef struct
{
    BYTE Value[6];
} SID_IDENTIFIER_AUTHORITY;

typedef struct
{
    BYTE Revision, SubAuthorityCount;
    SID_IDENTIFIER_AUTHORITY IdentifierAuthority;
    DWORD SubAuthority[1];
} SID;

typedef struct
{
    BYTE AclRevision, Sbz1;
    WORD AclSize, AceCount, Sbz2;
} ACL;

typedef struct
{
    BYTE AceType, AceFlags;
    WORD AceSize;
} ACE_HEADER;

typedef struct
{
    BYTE Revision, Sbz1;
    WORD Control;
    SID *Owner, *Group;
    ACL *Sacl, *Dacl;
} SECURITY_DESCRIPTOR;

typedef struct
{
    BYTE Revision, Sbz1;
    WORD Control;
    DWORD Owner, Group, Sacl, Dacl;
} SECURITY_DESCRIPTOR_RELATIVE;

/* Names, and files by name */
#define OBJ_CASE_INSENSITIVE 0x40
#define OBJ_INHERIT 0x02
#define FILE_OPEN_IF 3
#define FILE_ATTRIBUTE_DIRECTORY 0x10
#define INVALID_FILE_ATTRIBUTES 0xffffffffu

typedef struct
{
    USHORT Length, MaximumLength;
    WCHAR *Buffer;
} UNICODE_STRING;

typedef struct
{
    ULONG Length;
    HANDLE RootDirectory;
    UNICODE_STRING *ObjectName;
    ULONG Attributes;
    void *SecurityDescriptor, *SecurityQualityOfService;
} OBJECT_ATTRIBUTES;

typedef struct
{
    BYTE unused;
} PEB;

HMODULE GetModuleHandleW(const WCHAR *name);
void *GetProcAddress(HMODULE module, const char *name);
BOOLEAN RtlDosPathNameToNtPathName_U(const WCHAR *name, UNICODE_STRING *nt, WCHAR **file, void *unused);
void RtlFreeUnicodeString(UNICODE_STRING *string);
DWORD GetEnvironmentVariableW(const WCHAR *name, WCHAR *value, DWORD room);
DWORD GetFileAttributesW(const WCHAR *path);

typedef struct
{
    WCHAR cFileName[260];
} WIN32_FIND_DATAW;

#define INVALID_HANDLE_VALUE ((HANDLE)UINTPTR_MAX)
HANDLE FindFirstFileW(const WCHAR *pattern, WIN32_FIND_DATAW *data);
BOOL FindClose(HANDLE find);
DWORD GetFullPathNameW(const WCHAR *name, DWORD room, WCHAR *path, WCHAR **file);

/* Errors, and other declarations for the strings of mullion-run.exe */
#define ERROR_FILE_NOT_FOUND 2
#define ERROR_PATH_NOT_FOUND 3
#define ERROR_ACCESS_DENIED 5
#define ERROR_NOT_ENOUGH_MEMORY 8
#define ERROR_BAD_FORMAT 11
#define ERROR_INVALID_PARAMETER 87
#define ERROR_INVALID_NAME 123
#define ERROR_BAD_EXE_FORMAT 193
#define ERROR_MOD_NOT_FOUND 126
#define ERROR_FILENAME_EXCED_RANGE 206
#define ERROR_EXE_MACHINE_TYPE_MISMATCH 216
#define ERROR_DIRECTORY 267
#define ERROR_COMMITMENT_LIMIT 1455
#define CSTR_EQUAL 2
#define FORMAT_MESSAGE_ALLOCATE_BUFFER 0x100
#define FORMAT_MESSAGE_IGNORE_INSERTS 0x200
#define FORMAT_MESSAGE_FROM_SYSTEM 0x1000
#define FORMAT_MESSAGE_MAX_WIDTH_MASK 0xff
void ExitProcess(UINT code);
int CompareStringOrdinal(const WCHAR *a, int a_length, const WCHAR *b, int b_length, BOOL ignore_case);
DWORD FormatMessageW(DWORD flags, const void *source, DWORD code, DWORD language, WCHAR *text, DWORD room,
                     void *arguments);

#endif
