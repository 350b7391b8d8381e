/*
 * The end of a process: NtTerminateProcess.
 *
 * Facts (Wine 8.0 to 10.0): RtlExitUserProcess has the server end all other threads, and then closes the process's
 * socket to the server (dlls/ntdll/unix/server.c, process_exit_wrapper). The server ends threads by a signal. One that
 * has just been made is not known to it as a thread of Linux, gets none, and sends its pipes by that socket as it
 * begins: "wine client error: sendmsg: Bad file descriptor" is on the program's standard error then. With the socket
 * open, the server refuses the thread, which ends without a word. Go makes threads until its very end.
 *
 * So the process waits until those threads are gone, which they are at once, but on a busy machine. A thread that a
 * library of Linux has made stays, and is not waited for longer than it takes a person to see it.
 */
#include "hooks.h"
#include "lastthread.h"
#include "reading.h"

typedef NTSTATUS(WINAPI *terminate_process)(HANDLE, LONG);

static terminate_process original_terminate;
static BOOL others_end; /* they have been told to */

static NTSTATUS WINAPI hook_NtTerminateProcess(HANDLE process, LONG code)
{
    if (!process)
    {
        reading_leaves();
        others_end = TRUE;
    }
    else if (others_end && process == GetCurrentProcess())
        last_thread_wait();
    return original_terminate(process, code);
}

void ending_start(void)
{
    patch_function(GetModuleHandleW(L"ntdll.dll"), "NtTerminateProcess", hook_NtTerminateProcess,
                   (void **)&original_terminate);
}
