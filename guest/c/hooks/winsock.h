/* The hooks of ws2_32.dll and of other libraries, which libraries.c sets when a program loads them. */
#ifndef MULLION_WINSOCK_H
#define MULLION_WINSOCK_H

#include <winsock2.h>

#include <windows.h>

/* The originals behind the hooks. */
extern struct socket_originals
{
    SOCKET(WINAPI *WSASocketW)(int, int, int, WSAPROTOCOL_INFOW *, GROUP, DWORD);
    SOCKET(WINAPI *WSASocketA)(int, int, int, WSAPROTOCOL_INFOA *, GROUP, DWORD);
    SOCKET(WINAPI *socket)(int, int, int);
    int(WINAPI *bind)(SOCKET, const struct sockaddr *, int);
    int(WINAPI *listen)(SOCKET, int);
    int(WINAPI *connect)(SOCKET, const struct sockaddr *, int);
    SOCKET(WINAPI *accept)(SOCKET, struct sockaddr *, int *);
    int(WINAPI *getsockname)(SOCKET, struct sockaddr *, int *);
    int(WINAPI *getpeername)(SOCKET, struct sockaddr *, int *);
    int(WINAPI *setsockopt)(SOCKET, int, int, const char *, int);
    int(WINAPI *WSAIoctl)(SOCKET, DWORD, void *, DWORD, void *, DWORD, DWORD *, WSAOVERLAPPED *,
                          LPWSAOVERLAPPED_COMPLETION_ROUTINE);
    int(WINAPI *WSAGetLastError)(void);
    void(WINAPI *WSASetLastError)(int);
    int(WINAPI *closesocket)(SOCKET);
} winsock;

/* udpreset.c: answers SIO_UDP_NETRESET; FALSE for another code. */
BOOL udp_reset(DWORD code, const void *in, DWORD in_size, DWORD *returned);

/* afunix.c: patches the functions for AF_UNIX sockets. */
void afunix_start(HMODULE ws2_32);

/* afunix.c: replaces an extension function that a program has asked for by ours. */
void afunix_extension(const void *guid, DWORD size, void **function);

/*
 * keepalive.c: options that Wine refuses; after afunix_start. keepalive_set answers for setsockopt after Wine has
 * failed.
 */
void keepalive_start(HMODULE ws2_32);
int keepalive_set(SOCKET s, int level, int option, const char *value, int length);

/* resolve.c: completes host names as Windows does. */
void resolve_start(HMODULE ws2_32);
void resolve_queries_start(HMODULE dnsapi);

/* icmp6.c: echo requests over IPv6. */
void icmp6_start(HMODULE iphlpapi);

/* adapters.c: lists the network's adapters if Wine fails to. */
void adapters_start(HMODULE iphlpapi);

/* routes.c: makes and removes routes. */
void routes_start(HMODULE iphlpapi);

/* bcrypt.c: algorithms of bcrypt.dll that Wine lacks. */
void bcrypt_start(HMODULE bcrypt);

/* bcrypt.c: what GetProcAddress finds in bcrypt.dll where Wine has nothing of this name; NULL: nothing. */
void *bcrypt_derivation_address(HMODULE module, const char *name, unsigned length);

/* certkey.c: private keys of certificates, as keys of CNG. */
void certkey_start(HMODULE crypt32);

/* chainengine.c: engines for chains of certificates, of the newer form. */
void chainengine_start(HMODULE crypt32);

/* sslpolicy.c: whether a server's certificate is for its name or address. */
void sslpolicy_start(HMODULE crypt32);

/* eccsignature.c: certificates that are signed by elliptic curves. */
void eccsignature_start(HMODULE crypt32);

/* machinestore.c: keeps the machine's stores from ContainerUser. */
void machinestore_start(HMODULE crypt32);

/* domain.c: the domain that a container is in. */
void domain_start(HMODULE netapi32);

/* account.c: the domain of a container's accounts. */
void account_start(HMODULE advapi32);
void account_user_start(HMODULE secur32);

/* eventlog.c: writing and reading the event log. */
void eventlog_start(HMODULE advapi32);

/* etw.c: sessions of Event Tracing for Windows and their consumers; what only advapi32.dll has of them. */
void etw_sessions_start(HMODULE sechost);
void etw_older_start(HMODULE advapi32);

#endif
