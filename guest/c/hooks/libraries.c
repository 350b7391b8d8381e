/*
 * The hooks of ws2_32.dll, dnsapi.dll, iphlpapi.dll, crypt32.dll, bcrypt.dll, advapi32.dll and sechost.dll: when they
 * are set, and WSAIoctl, which udpreset.c and afunix.c share.
 */
#include "libraries.h"

#include <winternl.h>

#include "patch.h"
#include "path.h"
#include "svcconfig.h"
#include "svcstop.h"
#include "winsock.h"

PEB *NTAPI RtlGetCurrentPeb(void);

static BOOL unix_too;

/* ntdll!LdrRegisterDllNotification, learn.microsoft.com/windows/win32/devnotes/ldrregisterdllnotification */
struct dll_notification
{
    ULONG flags;
    const UNICODE_STRING *full_name, *base_name;
    void *base;
    ULONG size;
};
typedef NTSTATUS(NTAPI *register_notification)(ULONG, void(CALLBACK *)(ULONG, const struct dll_notification *, void *),
                                               void *, void **);

static int WINAPI hook_WSAIoctl(SOCKET s, DWORD code, void *in, DWORD in_size, void *out, DWORD out_size,
                                DWORD *returned, WSAOVERLAPPED *overlapped,
                                LPWSAOVERLAPPED_COMPLETION_ROUTINE completion)
{
    int result = winsock.WSAIoctl(s, code, in, in_size, out, out_size, returned, overlapped, completion);

    if (result && winsock.WSAGetLastError() == WSAEOPNOTSUPP && udp_reset(code, in, in_size, returned))
        return 0;
    if (!result && code == SIO_GET_EXTENSION_FUNCTION_POINTER && out_size >= sizeof(void *))
        afunix_extension(in, in_size, out);
    return result;
}

/*
 * Keeps a library that is patched until the process ends. Wine's secur32.dll loads dnsapi.dll and iphlpapi.dll, and
 * lets go of them when it finds no NTLM: whoever loads them next would get them unpatched.
 */
static void keep(HMODULE module)
{
    HMODULE kept;

    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, (const WCHAR *)module,
                       &kept);
}

static void patch_winsock(HMODULE module)
{
    if (winsock.WSAIoctl)
        return;
    keep(module);
    winsock.WSAGetLastError = (void *)GetProcAddress(module, "WSAGetLastError");
    winsock.WSASetLastError = (void *)GetProcAddress(module, "WSASetLastError");
    winsock.closesocket = (void *)GetProcAddress(module, "closesocket");
    patch_function(module, "WSAIoctl", hook_WSAIoctl, (void **)&winsock.WSAIoctl);
    resolve_start(module);
    if (unix_too)
        afunix_start(module);
    keepalive_start(module);
}

static BOOL is_dll(const UNICODE_STRING *base_name, const WCHAR *name)
{
    unsigned length = lstrlenW(name);

    return base_name->Length == length * sizeof(WCHAR) && path_same_name(base_name->Buffer, name, length);
}

static void patch_dnsapi(HMODULE module)
{
    keep(module);
    resolve_queries_start(module);
}

static void patch_iphlpapi(HMODULE module)
{
    keep(module);
    icmp6_start(module);
    adapters_start(module);
    routes_start(module);
}

static void patch_crypt32(HMODULE module)
{
    keep(module);
    chainengine_start(module);
    sslpolicy_start(module);
    eccsignature_start(module);
    certkey_start(module);
    machinestore_start(module);
}

static void patch_bcrypt(HMODULE module)
{
    keep(module);
    bcrypt_start(module);
}

static void patch_advapi32(HMODULE module)
{
    keep(module);
    eventlog_start(module);
    etw_older_start(module);
    account_start(module);
}

static void patch_secur32(HMODULE module)
{
    keep(module);
    account_user_start(module);
}

static void patch_sechost(HMODULE module)
{
    keep(module);
    svcconfig_start(module);
    svcstop_start(module);
    etw_sessions_start(module);
}

static void patch_netapi32(HMODULE module)
{
    keep(module);
    domain_start(module);
}

/* The libraries, and what is patched in them. */
static const struct
{
    const WCHAR *name;
    void (*patch)(HMODULE module);
} libraries[] = {
    {L"ws2_32.dll", patch_winsock},  {L"dnsapi.dll", patch_dnsapi},     {L"iphlpapi.dll", patch_iphlpapi},
    {L"crypt32.dll", patch_crypt32}, {L"bcrypt.dll", patch_bcrypt},     {L"advapi32.dll", patch_advapi32},
    {L"sechost.dll", patch_sechost}, {L"netapi32.dll", patch_netapi32}, {L"secur32.dll", patch_secur32},
};

static void patch_library(const UNICODE_STRING *base_name, HMODULE module)
{
    for (unsigned i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
        if (is_dll(base_name, libraries[i].name))
            libraries[i].patch(module);
}

static void CALLBACK dll_loaded(ULONG reason, const struct dll_notification *data, void *context)
{
    (void)context;
    if (reason == 1)
        patch_library(data->base_name, data->base);
}

/*
 * Patches the libraries that are there. The list of modules says so; GetModuleHandle opens the file of each that is
 * not. The loader's lock is this thread's, which is in DllMain.
 */
static void patch_loaded(void)
{
    LIST_ENTRY *all = &RtlGetCurrentPeb()->Ldr->InMemoryOrderModuleList;

    for (LIST_ENTRY *at = all->Flink; at != all; at = at->Flink)
    {
        LDR_DATA_TABLE_ENTRY *module = CONTAINING_RECORD(at, LDR_DATA_TABLE_ENTRY, InMemoryOrderLinks);

        patch_library(&module->FullDllName + 1 /* its BaseDllName */, module->DllBase);
    }
}

void libraries_start(BOOL with_unix)
{
    register_notification notify = (register_notification)(void *)GetProcAddress(GetModuleHandleW(L"ntdll.dll"),
                                                                                 "LdrRegisterDllNotification");
    void *cookie;

    unix_too = with_unix;
    patch_loaded();
    if (notify)
        notify(0, dll_loaded, NULL, &cookie);
}
