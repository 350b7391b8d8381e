/*
 * Tests of how calls reach the server (common/hns_client.c) while servers die and others begin. The servers are those
 * of a script, on a port of the loopback.
 */
#include "hns_client.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

static unsigned short port;

HANDLE CreateFileW(const WCHAR *name, DWORD access, DWORD share, void *security, DWORD how, DWORD flags, HANDLE like)
{
    (void)name, (void)access, (void)share, (void)security, (void)how, (void)flags, (void)like;
    return &port;
}

/* The file with the token: the port is in its second line. */
BOOL ReadFile(HANDLE file, void *to, DWORD room, DWORD *size, void *overlapped)
{
    (void)overlapped;
    *size = (DWORD)snprintf(to, room, "token\n%d\n", *(unsigned short *)file);
    return TRUE;
}

BOOL CloseHandle(HANDLE handle)
{
    (void)handle;
    return TRUE;
}

DWORD GetFileAttributesW(const WCHAR *path)
{
    (void)path;
    return 0;
}

int socket_is_readable(const fd_set *set)
{
    for (int fd = 0; fd < FD_SETSIZE; fd++)
    {
        struct pollfd one = {.fd = fd, .events = POLLIN};

        if (FD_ISSET(fd, set))
            return poll(&one, 1, 0);
    }
    return 0;
}

DWORD GetTickCount(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (DWORD)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

void Sleep(DWORD ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&time, NULL);
}

/* As on Windows, no two are the same. */
HRESULT CoCreateGuid(GUID *id)
{
    static BYTE number;

    memset(id, 0, sizeof(*id));
    id->bytes[0] = ++number;
    return S_OK;
}

BOOL copies_kept(void)
{
    return FALSE;
}

BOOL copies_take(enum copies_kind kind, unsigned char *block, const unsigned char *at, size_t left)
{
    (void)kind, (void)block, (void)at, (void)left;
    return FALSE;
}

/* How a server ends a connection. */
enum act
{
    ENDS,     /* of the script */
    DIES,     /* killed before it accepts: its listener goes with who waits there */
    READS_NO, /* killed before it reads the request */
    READS,    /* killed when it has read the request */
    HALF,     /* killed when it has sent a part of the answer */
    ANSWERS
};

struct script
{
    enum act acts[8];
    int requests; /* that were read */
};

static BYTE names[8][16]; /* of the requests that a script has read */

static int listening(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int s = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(s, (struct sockaddr *)&at, size) || listen(s, 16) || getsockname(s, (struct sockaddr *)&at, &size))
    {
        perror("listen");
        exit(1);
    }
    port = ntohs(at.sin_port);
    return s;
}

/* Reads a frame, whose first field is kept if name is not NULL; the tests' are small. */
static void read_frame(int s, BYTE *name)
{
    unsigned char frame[4096];
    DWORD length;

    if (recv(s, &length, sizeof(length), MSG_WAITALL) == sizeof(length) && length <= sizeof(frame) &&
        recv(s, frame, length, MSG_WAITALL) == (ssize_t)length && name && length >= 20)
        memcpy(name, frame + 4, 16);
}

/* S_OK, no GUID, no text and no record. */
static void answer(int s, size_t most)
{
    DWORD frame[] = {36, 4, S_OK, 16, 0, 0, 0, 0, 0, 0};

    send(s, frame, sizeof(frame) < most ? sizeof(frame) : most, 0);
}

#define WHILE 30      /* ms, in which what was sent arrives */
#define PATIENCE 2000 /* ms, in which a client comes, and asks */

static void *serve(void *argument)
{
    struct timeval patience = {.tv_sec = PATIENCE / 1000};
    struct script *script = argument;
    int s = listening();

    for (const enum act *act = script->acts; *act != ENDS; act++)
    {
        struct pollfd one = {.fd = s, .events = POLLIN};
        int c;

        if (poll(&one, 1, PATIENCE) <= 0) /* nobody comes: the client has failed */
            break;
        if (*act == DIES)
        {
            Sleep(WHILE);
            close(s);
            Sleep(WHILE);
            s = listening();
            continue;
        }
        c = accept(s, NULL, NULL);
        setsockopt(c, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        read_frame(c, NULL);
        if (*act == READS_NO)
            Sleep(WHILE);
        else
            read_frame(c, names[script->requests++]);
        if (*act == HALF || *act == ANSWERS)
            answer(c, *act == HALF ? 10 : SIZE_MAX);
        close(c);
    }
    close(s);
    return NULL;
}

static HRESULT call_once(struct hns_call *call)
{
    SOCKET s = INVALID_SOCKET;
    HRESULT result;

    call->function = "HcsOpenComputeSystem";
    call->watches = TRUE;
    result = hns_call_on(&s, call);
    if (s != INVALID_SOCKET)
        closesocket(s);
    free(call->answer);
    free(call->record);
    return result;
}

static void test_script(const char *item, struct script script, HRESULT want, int requests)
{
    static BYTE former[16];
    struct hns_call call = {0};
    pthread_t server;
    int s = listening(); /* the port is known before the first call */

    close(s);
    pthread_create(&server, NULL, serve, &script);
    check_status(item, "the result", call_once(&call), want);
    pthread_join(server, NULL);
    check_number(item, "requests that were read", script.requests, requests);
    for (int i = 0; i < script.requests; i++)
    {
        check_number(item, "a request without a name", memcmp(names[i], (BYTE[16]){0}, 16) == 0, 0);
        check_number(item, "a request that has another name when it is sent again", memcmp(names[i], names[0], 16), 0);
    }
    check_number(item, "two requests with one name", memcmp(names[0], former, sizeof(former)) == 0, 0);
    memcpy(former, names[0], sizeof(former));
}

struct later
{
    DWORD ms;
    volatile LONG ending;
    struct script script;
};

static void *begin_later(void *argument)
{
    struct later *later = argument;

    Sleep(later->ms);
    if (later->script.acts[0] != ENDS)
        serve(&later->script);
    later->ending = 1;
    return NULL;
}

/* Who waits without a limit waits until the server is there, or until there is nothing left to wait for. */
static void test_waits(const char *item, struct later later, HRESULT want)
{
    struct hns_call call = {.ending = &later.ending};
    pthread_t server;

    pthread_create(&server, NULL, begin_later, &later);
    check_status(item, "the result", call_once(&call), want);
    pthread_join(server, NULL);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    test_script("a server", (struct script){{ANSWERS}, 0}, S_OK, 1);
    test_script("one that dies before it accepts", (struct script){{DIES, DIES, ANSWERS}, 0}, S_OK, 1);
    test_script("one that dies before it reads", (struct script){{READS_NO, READS_NO, READS_NO, READS_NO, ANSWERS}, 0},
                S_OK, 1);
    test_script("one that stops", (struct script){{READS, READS, ANSWERS}, 0}, S_OK, 3);
    test_script("one that dies in the middle of its answer", (struct script){{HALF, HALF, ANSWERS}, 0}, S_OK, 3);
    test_script("one that dies of the request", (struct script){{READS, READS, READS}, 0}, E_SERVER_UNAVAILABLE, 3);
    test_waits("a server that comes", (struct later){400, 0, {{DIES, ANSWERS}, 0}}, S_OK);
    test_waits("a server that does not come", (struct later){400, 0, {{ENDS}, 0}}, E_SERVER_UNAVAILABLE);
    return checks_end();
}
