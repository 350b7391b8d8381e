/* What common/hns_client.c needs of Windows beyond windows.h, for a test on Linux: sockets are Linux' own. */
#ifndef MULLION_TEST_WINSOCK2_H
#define MULLION_TEST_WINSOCK2_H

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <windows.h>

typedef UINT_PTR SOCKET;
typedef struct
{
    BYTE unused;
} WSADATA;

#define INVALID_SOCKET ((SOCKET)~0)
#define WSAECONNRESET ECONNRESET
#define WSAGetLastError() errno
#define WSAStartup(version, data) ((void)(data), 0)
#define MAKEWORD(low, high) ((low) | (high) << 8)
#define closesocket(s) close((int)(s))
#define select(count, read, write, except, time) ((void)(time), socket_is_readable(read))
int socket_is_readable(const fd_set *set);

typedef struct
{
    BYTE bytes[16];
} GUID;

#define S_OK 0
#define E_OUTOFMEMORY ((HRESULT)0x8007000e)
#define E_ACCESSDENIED ((HRESULT)0x80070005)
#define RPC_S_SERVER_UNAVAILABLE 1722
#define HRESULT_FROM_WIN32(code) ((HRESULT)(0x80070000u | (code)))
#define FAILED(result) ((result) < 0)

#define FILE_SHARE_READ 1
#define FILE_SHARE_WRITE 2
#define FILE_SHARE_DELETE 4
#define OPEN_EXISTING 3
HANDLE CreateFileW(const WCHAR *name, DWORD access, DWORD share, void *security, DWORD how, DWORD flags, HANDLE like);
BOOL ReadFile(HANDLE file, void *to, DWORD room, DWORD *size, void *overlapped);
BOOL CloseHandle(HANDLE handle);

#define CoTaskMemAlloc malloc
#define CoTaskMemFree free
#define InterlockedExchangePointer(at, value) __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST)
#define InterlockedIncrement64(at) __atomic_add_fetch(at, 1, __ATOMIC_SEQ_CST)
#define InterlockedCompareExchange64(at, value, old) __sync_val_compare_and_swap(at, old, value)
HRESULT CoCreateGuid(GUID *id);
DWORD GetTickCount(void);
void Sleep(DWORD ms);

#endif
