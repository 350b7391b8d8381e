/* The threads that wait for the ends of what Windows does for us, and for time to pass. */
#include "core.h"

enum
{
    THREADS = 2,
    TICK_MS = 1000,
};

static HANDLE port;
static void (*on_tick)(void);

static DWORD WINAPI work(void *unused)
{
    (void)unused;
    for (;;)
    {
        DWORD bytes = 0;
        ULONG_PTR key;
        OVERLAPPED *overlapped = NULL;
        BOOL ok = GetQueuedCompletionStatus(port, &bytes, &key, &overlapped, INFINITE);

        if (overlapped)
        {
            struct io *io = CONTAINING_RECORD(overlapped, struct io, overlapped);

            io->done(io, bytes, !ok);
        }
        else if (!ok)
            Sleep(TICK_MS);
    }
    return 0;
}

static DWORD WINAPI tick(void *unused)
{
    (void)unused;
    for (;;)
    {
        Sleep(TICK_MS);
        on_tick();
    }
    return 0;
}

int http_net_start(void (*every_tick)(void))
{
    WSADATA data;

    if (WSAStartup(MAKEWORD(2, 2), &data))
        return NOT_SUPPORTED;
    on_tick = every_tick;
    port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 0);
    if (!port)
        return NO_MEMORY;
    for (int i = 0; i <= THREADS; i++)
    {
        HANDLE thread = CreateThread(NULL, 0, i < THREADS ? work : tick, NULL, 0, NULL);

        if (!thread)
            return NO_MEMORY;
        CloseHandle(thread);
    }
    return DONE;
}

int http_net_add(SOCKET socket)
{
    return CreateIoCompletionPort((HANDLE)socket, port, 0, 0) != NULL;
}
