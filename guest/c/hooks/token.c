/*
 * The token of the service control manager: its user is SYSTEM, as on Windows.
 *
 * Facts (Wine 8.0 to 10.0): all tokens have the same user. A program that is to act as SYSTEM looks for a process with
 * SYSTEM's token, services.exe first
 * (https://github.com/kubernetes/kubernetes/blob/v1.37.1/test/e2e_node_windows/util_system_windows.go), and gives a
 * copy of it to its thread. Here the copy changes nothing of what the thread may do. A program's own token names Wine's
 * user also in services: Wine finds HKEY_CURRENT_USER by it.
 */
#include <string.h>

#include "acl.h"
#include "hooks.h"
#include "path.h"
#include "heap.h"
#include "table.h"

#define IMAGE_FILE_NAME 27 /* ProcessImageFileName */

static NTSTATUS(WINAPI *original_open)(HANDLE, ACCESS_MASK, HANDLE *);
static NTSTATUS(WINAPI *original_open_ex)(HANDLE, ACCESS_MASK, ULONG, HANDLE *);
static NTSTATUS(WINAPI *original_duplicate)(HANDLE, ACCESS_MASK, OBJECT_ATTRIBUTES *, BOOLEAN, TOKEN_TYPE, HANDLE *);
static NTSTATUS(WINAPI *original_query)(HANDLE, TOKEN_INFORMATION_CLASS, void *, ULONG, ULONG *);

static void destroy(struct object *object)
{
    heap_free(object);
}

/* Remembers a handle as one of SYSTEM's token. Without memory it is one of Wine's. */
static void is_systems(HANDLE handle)
{
    struct object *token = heap_alloc(sizeof(*token));

    if (!token)
        return;
    token->type = OBJECT_TOKEN;
    token->references = 1;
    token->destroy = destroy;
    table_put(handle, token);
}

static BOOL of_system(HANDLE handle)
{
    struct object *token = table_get(handle, OBJECT_TOKEN);

    if (token)
        table_object_release(token);
    return token != NULL;
}

static BOOL is_manager(HANDLE process)
{
    static const WCHAR tail[] = L"\\windows\\system32\\services.exe";
    const USHORT length = sizeof(tail) / sizeof(WCHAR) - 1;
    struct
    {
        UNICODE_STRING name;
        WCHAR text[MAX_PATH];
    } image;
    ULONG chars;

    if (process == GetCurrentProcess() ||
        NtQueryInformationProcess(process, IMAGE_FILE_NAME, &image, sizeof(image), NULL))
        return FALSE;
    chars = image.name.Length / sizeof(WCHAR);
    return chars >= length && path_same_name(image.name.Buffer + chars - length, tail, length);
}

static NTSTATUS WINAPI hook_NtOpenProcessToken(HANDLE process, ACCESS_MASK access, HANDLE *token)
{
    NTSTATUS status = original_open(process, access, token);

    if (!status && is_manager(process))
        is_systems(*token);
    return status;
}

static NTSTATUS WINAPI hook_NtOpenProcessTokenEx(HANDLE process, ACCESS_MASK access, ULONG attributes, HANDLE *token)
{
    NTSTATUS status = original_open_ex(process, access, attributes, token);

    if (!status && is_manager(process))
        is_systems(*token);
    return status;
}

static NTSTATUS WINAPI hook_NtDuplicateToken(HANDLE from, ACCESS_MASK access, OBJECT_ATTRIBUTES *attributes,
                                             BOOLEAN effective, TOKEN_TYPE type, HANDLE *to)
{
    NTSTATUS status = original_duplicate(from, access, attributes, effective, type, to);

    if (!status && of_system(from))
        is_systems(*to);
    return status;
}

static NTSTATUS WINAPI hook_NtQueryInformationToken(HANDLE token, TOKEN_INFORMATION_CLASS class, void *information,
                                                    ULONG size, ULONG *returned)
{
    struct
    {
        TOKEN_USER user;
        BYTE sid[SECURITY_MAX_SID_SIZE];
    } wines;
    const ULONG sid = FIELD_OFFSET(SID, SubAuthority) + sizeof(DWORD), needed = sizeof(TOKEN_USER) + sid;
    TOKEN_USER *user = information;
    NTSTATUS status;
    ULONG length;

    if (class != TokenUser || !of_system(token))
        return original_query(token, class, information, size, returned);
    /* Wine's own checks the handle's rights. */
    if ((status = original_query(token, class, &wines, sizeof(wines), &length)))
        return status;
    if (returned)
        *returned = needed;
    if (size < needed)
        return STATUS_BUFFER_TOO_SMALL;
    user->User.Sid = user + 1;
    user->User.Attributes = 0;
    memcpy(user->User.Sid, &acl_system, sid);
    return STATUS_SUCCESS;
}

void token_start(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");

    patch_function(ntdll, "NtQueryInformationToken", hook_NtQueryInformationToken, (void **)&original_query);
    patch_function(ntdll, "NtOpenProcessToken", hook_NtOpenProcessToken, (void **)&original_open);
    patch_function(ntdll, "NtOpenProcessTokenEx", hook_NtOpenProcessTokenEx, (void **)&original_open_ex);
    patch_function(ntdll, "NtDuplicateToken", hook_NtDuplicateToken, (void **)&original_duplicate);
}
