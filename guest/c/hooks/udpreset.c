/*
 * SIO_UDP_NETRESET: whether a UDP socket reports that a network was unreachable.
 *
 * Fact: Wine 8.0 and 10.0 refuse it with WSAEOPNOTSUPP (10045), and Go sets it on every UDP socket (net/fd_windows.go,
 * go.dev/issue/68614), so no Go program can listen on UDP. Linux never reports it on an unconnected socket, which is
 * what switching the option off asks for, as Go does.
 */
#include "winsock.h"

#define CODE_UDP_NETRESET 0x9800000Fu /* mswsock.h: _WSAIOW(IOC_VENDOR, 15) */

BOOL udp_reset(DWORD code, const void *in, DWORD in_size, DWORD *returned)
{
    if (code != CODE_UDP_NETRESET || !in || in_size < sizeof(BOOL))
        return FALSE;
    if (returned)
        *returned = 0;
    winsock.WSASetLastError(0);
    return TRUE;
}
