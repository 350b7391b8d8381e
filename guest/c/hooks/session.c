/*
 * Session 0 of a host: NtQuerySystemInformation, ProcessIdToSessionId. The first also says what memory a node has
 * (memory.c), which processors (topology.c), and the time zone (timezone.c).
 *
 * Windows runs services.exe and what it starts in session 0, and people's programs in others; in containers all are in
 * another (https://github.com/golang/go/issues/56335). Libraries go by that: Go's svc.IsWindowsService asks whether the
 * parent is a services.exe of session 0. Facts (Wine 8.0 to 10.0): all processes are in session 1. The file TOKEN lies
 * on hosts alone. A process keeps the number of its parent after the parent's end, so what a service leaves behind is
 * in session 0 for as long as the listing has its parent.
 */
#include <string.h>

#include "hooks.h"
#include "linux.h"
#include "memory.h"
#include "path.h"
#include "heap.h"
#include "timezone.h"
#include "topology.h"

#define TOKEN "/c:/ProgramData/Mullion/hns.token"
#define PROCESSES 5 /* SystemProcessInformation */
#define DEPTH 16    /* of processes that start each other */
#define LISTING (64 << 10)
#define LISTING_MAX (4 << 20)

typedef NTSTATUS(WINAPI *query_system)(ULONG, void *, ULONG, ULONG *);

static query_system original_query;
static BOOL(WINAPI *original_session)(DWORD, DWORD *);
static BOOL host, own_memory;

static SYSTEM_PROCESS_INFORMATION *next(SYSTEM_PROCESS_INFORMATION *p)
{
    return p->NextEntryOffset ? (SYSTEM_PROCESS_INFORMATION *)(void *)((BYTE *)p + p->NextEntryOffset) : NULL;
}

static SYSTEM_PROCESS_INFORMATION *find(SYSTEM_PROCESS_INFORMATION *list, HANDLE id)
{
    for (; list; list = next(list))
        if (list->UniqueProcessId == id)
            return list;
    return NULL;
}

static BOOL is_manager(const SYSTEM_PROCESS_INFORMATION *p)
{
    static const WCHAR name[] = L"services.exe";
    const USHORT length = sizeof(name) / sizeof(WCHAR) - 1;

    return p->ImageName.Buffer && p->ImageName.Length == length * sizeof(WCHAR) &&
           path_same_name(p->ImageName.Buffer, name, length);
}

static BOOL is_service(SYSTEM_PROCESS_INFORMATION *list, SYSTEM_PROCESS_INFORMATION *p)
{
    for (unsigned depth = 0; p && depth < DEPTH; depth++)
    {
        if (is_manager(p))
            return TRUE;
        p = p->InheritedFromUniqueProcessId ? find(list, p->InheritedFromUniqueProcessId) : NULL;
    }
    return FALSE;
}

static NTSTATUS WINAPI hook_NtQuerySystemInformation(ULONG class, void *information, ULONG size, ULONG *returned)
{
    NTSTATUS status;

    if (timezone_answer(class, information, size, returned))
        return 0; /* STATUS_SUCCESS */
    status = original_query(class, information, size, returned);
    if (topology_list(class, status, information, size, returned, &status) || status || !information)
        return status;
    if (own_memory)
        memory_correct(class, information, size);
    timezone_correct(class, information, size);
    if (class != PROCESSES || !host || size < sizeof(SYSTEM_PROCESS_INFORMATION))
        return status;
    for (SYSTEM_PROCESS_INFORMATION *p = information; p; p = next(p))
        if (is_service(information, p))
            p->SessionId = 0;
    return status;
}

static BOOL WINAPI hook_ProcessIdToSessionId(DWORD id, DWORD *session)
{
    DWORD error = GetLastError();
    NTSTATUS status = STATUS_INFO_LENGTH_MISMATCH;
    SYSTEM_PROCESS_INFORMATION *p;
    BOOL found = FALSE;
    ULONG needed;
    void *list;

    for (ULONG size = LISTING; status == STATUS_INFO_LENGTH_MISMATCH && size <= LISTING_MAX && session; size *= 2)
    {
        if (!(list = heap_alloc(size)))
            break;
        if (!(status = hook_NtQuerySystemInformation(PROCESSES, list, size, &needed)) &&
            (p = find(list, (HANDLE)(ULONG_PTR)id)) && !p->SessionId)
            found = TRUE;
        heap_free(list);
    }
    SetLastError(error);
    if (!found)
        return original_session(id, session);
    *session = 0;
    return TRUE;
}

/* Whether this is a host and no container. */
static BOOL is_host(void)
{
    char path[LINUX_PATH_MAX + sizeof(TOKEN)];
    const char *devices = path_of_devices();
    SIZE_T length = strlen(devices);
    int fd;

    if (!length)
        return FALSE;
    memcpy(path, devices, length);
    memcpy(path + length, TOKEN, sizeof(TOKEN));
    if ((fd = lx_openat(LX_AT_FDCWD, path, LX_O_PATH | LX_O_CLOEXEC)) < 0)
        return FALSE;
    lx_close(fd);
    return TRUE;
}

void session_start(void)
{
    host = is_host();
    own_memory = memory_start();
    timezone_start();
    if (patch_function(GetModuleHandleW(L"ntdll.dll"), "NtQuerySystemInformation", hook_NtQuerySystemInformation,
                       (void **)&original_query) &&
        host)
        patch_function(GetModuleHandleW(L"kernelbase.dll"), "ProcessIdToSessionId", hook_ProcessIdToSessionId,
                       (void **)&original_session);
}
