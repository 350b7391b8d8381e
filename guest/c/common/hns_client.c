#include "hns_client.h"

#include <objbase.h>
#include <stdlib.h>
#include <string.h>
#include <ws2tcpip.h>

#define TOKEN_FILE L"C:\\ProgramData\\Mullion\\hns.token"
#define DEFAULT_PORT 10290
#define MAX_TOKEN 256
#define MAX_ANSWER (256u << 20)
#define WAIT_FOR_SERVER 30000 /* ms: one that dies again and again is started again after 15 s at most */
#define SHORTEST_PAUSE 50     /* ms, between two looks for the server */
#define LONGEST_PAUSE 1000

/* What has come of a request whose answer has not come. */
enum fate
{
    UNKNOWN, /* nobody can say, and what follows on the connection is no answer */
    LEFT,    /* the server has closed its side: it stops, or was killed, which may have been after it carried it out */
    UNREAD   /* the server has not read it, or not to its end */
};

/* One idle connection is kept for the next call; a call that finds none makes its own. */
static void *volatile spare = (void *)INVALID_SOCKET;

struct buffer
{
    unsigned char *data;
    size_t size;
};

static int put(struct buffer *b, const void *data, size_t size)
{
    unsigned char *grown = realloc(b->data, b->size + 4 + size);
    DWORD length = (DWORD)size;

    if (!grown)
        return 0;
    b->data = grown;
    memcpy(grown + b->size, &length, 4);
    if (size)
        memcpy(grown + b->size + 4, data, size);
    b->size += 4 + size;
    return 1;
}

/*
 * Names a request. It keeps its name when it is sent again: so the server knows that it has carried it out already
 * (internal/network/hns/server/remembered.go). The first half is this program's, the second counts.
 */
static int name_request(unsigned char name[16])
{
    static volatile LONG64 program, count;
    LONG64 drawn, number = InterlockedIncrement64(&count);
    GUID id;

    if (!program)
    {
        if (FAILED(CoCreateGuid(&id)))
            return 0;
        memcpy(&drawn, &id, sizeof(drawn));
        InterlockedCompareExchange64(&program, drawn, 0); /* of two threads one's stays */
    }
    drawn = program;
    memcpy(name, &drawn, sizeof(drawn));
    memcpy(name + sizeof(drawn), &number, sizeof(number));
    return 1;
}

/* The token file: the token, and in a second line, if there is one, the port. */
static int read_token(char *token, unsigned short *port)
{
    char text[MAX_TOKEN + 32], *end;
    DWORD size = 0;
    HANDLE file = CreateFileW(TOKEN_FILE, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              OPEN_EXISTING, 0, NULL);

    *port = DEFAULT_PORT;
    if (file == INVALID_HANDLE_VALUE)
        return 0;
    if (!ReadFile(file, text, sizeof(text) - 1, &size, NULL))
        size = 0;
    CloseHandle(file);
    text[size] = 0;
    end = text + strcspn(text, "\r\n");
    if (*end)
    {
        int given = atoi(end + strspn(end, "\r\n"));

        if (given > 0 && given < 65536)
            *port = (unsigned short)given;
        *end = 0;
    }
    if (!*text || strlen(text) >= MAX_TOKEN)
        return 0;
    strcpy(token, text);
    return 1;
}

BOOL hns_token_there(void)
{
    return GetFileAttributesW(TOKEN_FILE) != INVALID_FILE_ATTRIBUTES;
}

static int send_all(SOCKET s, const unsigned char *data, size_t size)
{
    while (size)
    {
        int n = send(s, (const char *)data, size > 1 << 20 ? 1 << 20 : (int)size, 0);

        if (n <= 0)
            return 0;
        data += n;
        size -= (size_t)n;
    }
    return 1;
}

static int send_frame(SOCKET s, const struct buffer *b)
{
    DWORD length = (DWORD)b->size;
    unsigned char *frame = malloc(4 + b->size);
    int ok;

    if (!frame)
        return 0;
    memcpy(frame, &length, 4);
    memcpy(frame + 4, b->data, b->size);
    ok = send_all(s, frame, 4 + b->size);
    free(frame);
    return ok;
}

/* A connection that the server has closed is readable; an idle one is not. */
static int alive(SOCKET s)
{
    struct timeval now = {0, 0};
    fd_set set;

    FD_ZERO(&set);
    FD_SET(s, &set);
    return select(0, &set, NULL, NULL, &now) == 0;
}

static int greet(SOCKET s, unsigned short port, const char *token)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    struct buffer hello = {NULL, 0};
    BOOL on = TRUE;
    int ok;

    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ok = !connect(s, (struct sockaddr *)&to, sizeof(to)) &&
         !setsockopt(s, IPPROTO_TCP, TCP_NODELAY, (const char *)&on, sizeof(on)) && put(&hello, "MHN2", 4) &&
         put(&hello, token, strlen(token)) && (!copies_kept() || put(&hello, "copies", 6)) && send_frame(s, &hello);
    free(hello.data);
    return ok;
}

/* Waits a little before a call, which began at since, looks for the server again. FALSE: it has waited long enough. */
static BOOL wait_for_server(const struct hns_call *call, DWORD since)
{
    DWORD waited = GetTickCount() - since, pause = waited / 8;

    if (call->ending ? *call->ending : waited >= WAIT_FOR_SERVER)
        return FALSE;
    Sleep(pause < SHORTEST_PAUSE ? SHORTEST_PAUSE : pause > LONGEST_PAUSE ? LONGEST_PAUSE : pause);
    return TRUE;
}

/*
 * The connection of the previous call, or a new one. While the server is being restarted, calls wait for it, as for
 * a service that Windows starts on demand.
 */
static HRESULT connect_server(SOCKET *out, const struct hns_call *call, DWORD since)
{
    char token[MAX_TOKEN];
    unsigned short port;
    WSADATA data;
    SOCKET s;

    s = (SOCKET)InterlockedExchangePointer(&spare, (void *)INVALID_SOCKET);
    if (s != INVALID_SOCKET && alive(s))
    {
        *out = s;
        return S_OK;
    }
    if (s != INVALID_SOCKET)
        closesocket(s);
    if (WSAStartup(MAKEWORD(2, 2), &data))
        return E_SERVER_UNAVAILABLE;
    for (;;)
    {
        if (!read_token(token, &port))
            return E_ACCESSDENIED;
        s = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
        if (s == INVALID_SOCKET)
            return E_SERVER_UNAVAILABLE;
        if (greet(s, port, token))
        {
            *out = s;
            return S_OK;
        }
        closesocket(s);
        if (!wait_for_server(call, since))
            return E_SERVER_UNAVAILABLE;
    }
}

static void keep(SOCKET s)
{
    SOCKET former = (SOCKET)InterlockedExchangePointer(&spare, (void *)s);

    if (former != INVALID_SOCKET)
        closesocket(former);
}

/* The next field of an answer. */
static const unsigned char *field(const unsigned char **at, size_t *left, size_t *size)
{
    const unsigned char *data;
    DWORD length;

    if (*left < 4)
        return NULL;
    memcpy(&length, *at, 4);
    if (length > *left - 4)
        return NULL;
    data = *at + 4;
    *at += 4 + (size_t)length;
    *left -= 4 + (size_t)length;
    *size = length;
    return data;
}

static HRESULT text_of(const unsigned char *data, size_t size, WCHAR **out)
{
    *out = NULL;
    if (!size)
        return S_OK;
    *out = CoTaskMemAlloc(size + sizeof(WCHAR));
    if (!*out)
        return E_OUTOFMEMORY;
    memcpy(*out, data, size);
    (*out)[size / sizeof(WCHAR)] = 0;
    return S_OK;
}

/* Takes apart an answer: a block from malloc with the frame's length before data. */
static HRESULT unpack(struct hns_call *call, unsigned char *block, size_t left)
{
    size_t size;
    const unsigned char *data = block + 4, *f = field(&data, &left, &size);
    HRESULT result, memory;

    if (!f || size != 4)
        return E_SERVER_UNAVAILABLE;
    memcpy(&result, f, 4);
    if (!(f = field(&data, &left, &size)) || size != sizeof(GUID))
        return E_SERVER_UNAVAILABLE;
    memcpy(&call->id, f, sizeof(GUID));
    if (!(f = field(&data, &left, &size)))
        return E_SERVER_UNAVAILABLE;
    if (FAILED(memory = text_of(f, size, &call->answer)))
        return memory;
    call->size = (DWORD)size;
    if (!(f = field(&data, &left, &size)))
        return E_SERVER_UNAVAILABLE;
    if (FAILED(memory = text_of(f, size, &call->record)))
        return memory;
    call->copied = left && copies_take(call->names, block, data, left);
    return result;
}

/*
 * What it means that instead of an answer n came. A server that stops closes its side of the connection, and has not
 * carried the request out. So does Linux for a server that is killed, which may have. Linux resets the connection of a
 * server that is killed, if the server has not read all that was sent to it: so it does to who connects while the
 * listener of one that was killed is still there (tcp_close, inet_csk_listen_stop).
 */
static enum fate fate_of(int n)
{
    return n == 0 ? LEFT : WSAGetLastError() == WSAECONNRESET ? UNREAD : UNKNOWN;
}

/*
 * Reads a frame. The first call reads up to room bytes: 4096 where nothing can follow the frame, which is enough for
 * most answers; 4, which are the length, where an event may follow, so that the event stays unread. If there is no
 * frame, fate says what has come of the request.
 */
static unsigned char *receive_frame(SOCKET s, size_t room, DWORD *length, enum fate *fate)
{
    size_t have = 0, want = 4;
    unsigned char *frame = malloc(room), *grown;

    *fate = UNKNOWN;
    while (frame && have < want)
    {
        int n = recv(s, (char *)frame + have, room - have > 1 << 20 ? 1 << 20 : (int)(room - have), 0);

        if (n <= 0)
        {
            *fate = have ? LEFT : fate_of(n);
            break;
        }
        have += (size_t)n;
        if (want > 4 || have < 4)
            continue;
        memcpy(length, frame, 4);
        if (*length > MAX_ANSWER)
            break;
        want = 4 + (size_t)*length;
        if (want > room)
        {
            if (!(grown = realloc(frame, want)))
                break;
            frame = grown;
            room = want;
        }
    }
    if (frame && have >= 4 && have == want)
        return frame;
    free(frame);
    return NULL;
}

static HRESULT exchange(SOCKET s, const struct buffer *request, struct hns_call *call, enum fate *fate)
{
    unsigned char *answer;
    DWORD length = 0;
    HRESULT result;

    *fate = UNREAD;
    if (!send_frame(s, request))
        return E_SERVER_UNAVAILABLE;
    if (!(answer = receive_frame(s, call->watches ? 4 : 4096, &length, fate)))
        return E_SERVER_UNAVAILABLE;
    call->copied = FALSE;
    result = unpack(call, answer, length);
    if (!call->copied)
        free(answer);
    return result;
}

static void clear(struct hns_call *call)
{
    call->answer = call->record = NULL;
    call->size = 0;
    memset(&call->id, 0, sizeof(call->id));
}

static int pack(struct buffer *request, struct hns_call *call)
{
    unsigned char name[16];
    unsigned int i;
    int ok;

    clear(call);
    ok = name_request(name) && put(request, name, sizeof(name)) &&
         put(request, call->function, strlen(call->function)) &&
         put(request, call->object, call->object ? sizeof(GUID) : 0) &&
         put(request, call->wanted, call->wanted ? sizeof(GUID) : 0);
    for (i = 0; ok && i < call->texts; i++)
        ok = put(request, call->text[i], call->text[i] ? wcslen(call->text[i]) * sizeof(WCHAR) : 0);
    return ok;
}

HRESULT hns_call_on(SOCKET *s, struct hns_call *call)
{
    struct buffer request = {NULL, 0};
    int ok = pack(&request, call), tries = 3;
    DWORD since = GetTickCount();
    enum fate fate;
    HRESULT result;

    if (*s != INVALID_SOCKET && !alive(*s))
    {
        closesocket(*s);
        *s = INVALID_SOCKET;
    }
    do
    {
        result = !ok ? E_OUTOFMEMORY : *s == INVALID_SOCKET ? connect_server(s, call, since) : S_OK;
        if (FAILED(result))
            break;
        result = exchange(*s, &request, call, &fate);
        if (result == E_SERVER_UNAVAILABLE)
        {
            closesocket(*s);
            *s = INVALID_SOCKET;
        }
    } while ((fate == LEFT && --tries) || (fate == UNREAD && wait_for_server(call, since)));
    free(request.data);
    return result;
}

HRESULT hns_call(struct hns_call *call)
{
    SOCKET s = INVALID_SOCKET;
    HRESULT result = hns_call_on(&s, call);

    if (s != INVALID_SOCKET)
        keep(s);
    return result;
}

BOOL hns_next_event(SOCKET s, struct hns_call *event, DWORD *number)
{
    DWORD length = 0;
    enum fate ended;
    unsigned char *frame;

    clear(event);
    if (!(frame = receive_frame(s, 4, &length, &ended)))
        return FALSE;
    *number = (DWORD)unpack(event, frame, length);
    free(frame);
    return TRUE;
}
