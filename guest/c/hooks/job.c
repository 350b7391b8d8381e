/*
 * The job objects of containers: those of a host's containers by their name, \Container_<id>, and a container's own, by
 * no handle.
 *
 * Facts: Windows has a job object for each container, in the root of the host's names, from which hcsshim and
 * Kubernetes' node tests read limits and figures
 * (https://github.com/kubernetes/kubernetes/blob/v1.37.1/test/e2e_node_windows/util_jobobject_windows.go); a program in
 * the container asks for its own without a handle, .NET for its memory and processors. Wine (8.0 to 10.0) has jobs that
 * a program makes, and of the classes a few, mostly with zeros.
 *
 * A host's job object is a job of Wine's of that name, made when it is first opened, in which no process is, so that a
 * handle can be duplicated and inherited; it grants queries only. vmcompute.dll asks the Linux side for the answers. A
 * container's own come from a file that the runtime writes: for each class its number, the size of its structure, and
 * that.
 */
#include "job.h"

#include "hooks.h"
#include "linux.h"

#include <string.h>

#define NAME_INFORMATION 1 /* ObjectNameInformation */
#define ID_LENGTH 128      /* at most */
#define OWN_JOB "/run/mullion/job"
#define OWN_JOB_SIZE 4096

static NTSTATUS(WINAPI *original_open)(HANDLE *, ACCESS_MASK, const OBJECT_ATTRIBUTES *);
static NTSTATUS(WINAPI *original_query)(HANDLE, ULONG, void *, ULONG, ULONG *);
static NTSTATUS(WINAPI *original_member)(HANDLE, HANDLE);
static NTSTATUS(WINAPI *create_job)(HANDLE *, ACCESS_MASK, const OBJECT_ATTRIBUTES *);

typedef NTSTATUS(WINAPI *job_information)(const WCHAR *id, ULONG class, void *information, ULONG size, ULONG *returned);

/* The id in a name of a container's job object; FALSE for all other names. */
static BOOL id_of(const UNICODE_STRING *name, WCHAR id[ID_LENGTH])
{
    static const WCHAR head[] = L"\\container_";
    const ULONG length = sizeof(head) / sizeof(WCHAR) - 1, chars = name->Length / sizeof(WCHAR);
    ULONG i;

    if (chars <= length || chars - length >= ID_LENGTH)
        return FALSE;
    for (i = 0; i < length; i++)
    {
        if ((name->Buffer[i] | (head[i] >= 'a' ? 0x20 : 0)) != head[i])
            return FALSE;
    }
    for (; i < chars; i++)
        id[i - length] = name->Buffer[i];
    id[chars - length] = 0;
    return TRUE;
}

/* vmcompute.dll's function, NULL without that library. */
static job_information linux_side(void)
{
    DWORD error = GetLastError();
    HMODULE library = LoadLibraryW(L"vmcompute.dll");
    job_information function = library ? (job_information)(void *)GetProcAddress(library, "MullionJobInformation")
                                       : NULL;

    SetLastError(error);
    return function;
}

static NTSTATUS WINAPI hook_NtOpenJobObject(HANDLE *handle, ACCESS_MASK access, const OBJECT_ATTRIBUTES *attributes)
{
    job_information ask;
    OBJECT_ATTRIBUTES named;
    WCHAR id[ID_LENGTH];
    NTSTATUS status;

    if (!attributes || !attributes->ObjectName || attributes->RootDirectory || !id_of(attributes->ObjectName, id) ||
        !(ask = linux_side()))
        return original_open(handle, access, attributes);
    if ((status = ask(id, 0, NULL, 0, NULL)))
        return status;
    named = *attributes;
    named.Attributes |= OBJ_OPENIF;
    access = (access & (READ_CONTROL | SYNCHRONIZE)) | JOB_OBJECT_QUERY;
    status = create_job(handle, access, &named);
    return status == STATUS_OBJECT_NAME_EXISTS ? STATUS_SUCCESS : status;
}

static NTSTATUS hand_out(const void *structure, ULONG length, void *information, ULONG size, ULONG *returned)
{
    if (size < length)
        return STATUS_INFO_LENGTH_MISMATCH;
    memcpy(information, structure, length);
    if (returned)
        *returned = length;
    return STATUS_SUCCESS;
}

/* What the container's own job object answers; FALSE: the file has nothing of this class, or this is no container. */
static BOOL own_job(ULONG class, void *information, ULONG size, ULONG *returned, NTSTATUS *status)
{
    BYTE data[OWN_JOB_SIZE];
    const BYTE *at = data;
    ULONG head[2];
    INT64 left;
    int fd;

    if ((fd = lx_openat(LX_AT_FDCWD, OWN_JOB, LX_O_RDONLY | LX_O_NOFOLLOW | LX_O_NONBLOCK | LX_O_CLOEXEC)) < 0)
        return FALSE;
    left = lx_read(fd, data, sizeof(data));
    lx_close(fd);
    for (; left >= (INT64)sizeof(head); at += sizeof(head) + head[1], left -= (INT64)sizeof(head) + head[1])
    {
        memcpy(head, at, sizeof(head));
        if (head[1] > left - (INT64)sizeof(head))
            return FALSE;
        if (head[0] != class)
            continue;
        *status = hand_out(at + sizeof(head), head[1], information, size, returned);
        return TRUE;
    }
    return FALSE;
}

ULONGLONG job_memory_limit(void)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits;
    NTSTATUS status;

    if (!own_job(JobObjectExtendedLimitInformation, &limits, sizeof(limits), NULL, &status) || status ||
        !(limits.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_JOB_MEMORY))
        return 0;
    return limits.JobMemoryLimit;
}

/* The id of the container whose job object a handle is; FALSE for all other handles. */
static BOOL id_of_handle(HANDLE handle, WCHAR id[ID_LENGTH])
{
    struct
    {
        UNICODE_STRING name;
        WCHAR text[ID_LENGTH + 32];
    } object;

    return !originals.NtQueryObject(handle, NAME_INFORMATION, &object, sizeof(object), NULL) && object.name.Buffer &&
           id_of(&object.name, id);
}

static NTSTATUS WINAPI hook_NtQueryInformationJobObject(HANDLE handle, ULONG class, void *information, ULONG size,
                                                        ULONG *returned)
{
    job_information ask;
    WCHAR id[ID_LENGTH];
    NTSTATUS status;

    if (!handle && own_job(class, information, size, returned, &status))
        return status;
    if (!handle || !class || !id_of_handle(handle, id) || !(ask = linux_side()))
        return original_query(handle, class, information, size, returned);
    return ask(id, class, information, size, returned);
}

/* Every process of a container is in its job. */
static NTSTATUS WINAPI hook_NtIsProcessInJob(HANDLE process, HANDLE job)
{
    NTSTATUS status = original_member(process, job);
    int fd;

    if (job || status != STATUS_PROCESS_NOT_IN_JOB ||
        (fd = lx_openat(LX_AT_FDCWD, OWN_JOB, LX_O_PATH | LX_O_CLOEXEC)) < 0)
        return status;
    lx_close(fd);
    return STATUS_PROCESS_IN_JOB;
}

void job_start(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");

    if (!(create_job = (void *)GetProcAddress(ntdll, "NtCreateJobObject")))
        return;
    patch_function(ntdll, "NtOpenJobObject", hook_NtOpenJobObject, (void **)&original_open);
    patch_function(ntdll, "NtQueryInformationJobObject", hook_NtQueryInformationJobObject, (void **)&original_query);
    patch_function(ntdll, "NtIsProcessInJob", hook_NtIsProcessInJob, (void **)&original_member);
}
