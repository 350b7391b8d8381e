/* DNS messages: making a question, sending it, reading what comes back. RFC 1035. Replies are hostile input. */
#include "nslookup.h"

#include <string.h>

enum
{
    HEADER = 12,
    TRIES = 2, /* Windows: timeout=2, retry=1, doubled */
    FIRST_TIMEOUT_MS = 2000
};

static unsigned word(const unsigned char *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

/* Writes name as labels; returns the offset after it, or -1 if it is no valid name. */
static int put_name(unsigned char *message, int at, const char *name)
{
    while (*name)
    {
        size_t n = strcspn(name, ".");

        if (n == 0 || n > 63 || at + (int)n + 2 > HEADER + 255)
            return -1;
        message[at++] = (unsigned char)n;
        memcpy(message + at, name, n);
        at += (int)n;
        name += n;
        if (*name == '.')
            name++;
    }
    message[at++] = 0;
    return at;
}

static int put_question(unsigned char *message, unsigned id, const char *name, unsigned type)
{
    static const unsigned char head[HEADER] = {0, 0, 0x01 /* recursion desired */, 0, 0, 1};
    int at;

    memcpy(message, head, HEADER);
    message[0] = (unsigned char)(id >> 8);
    message[1] = (unsigned char)id;
    if ((at = put_name(message, HEADER, strcmp(name, ".") ? name : "")) < 0)
        return -1;
    message[at++] = (unsigned char)(type >> 8);
    message[at++] = (unsigned char)type;
    message[at++] = 0;
    message[at++] = 1; /* IN */
    return at;
}

/* Whether the reply answers the question; fills in the other fields of struct reply. */
static BOOL accept_reply(struct reply *r, const unsigned char *question, int question_length)
{
    if (r->length < question_length || memcmp(r->data, question, 2) || !(r->data[2] & 0x80))
        return FALSE;
    r->rcode = r->data[3] & 15;
    r->authoritative = (r->data[2] & 0x04) != 0;
    r->answers = word(r->data + 6);
    r->authorities = word(r->data + 8);
    r->records = question_length;
    if (word(r->data + 4) != 1)
        return FALSE;
    /* the question comes back unchanged, except for the case of letters */
    return !_memicmp(r->data + HEADER, question + HEADER, (size_t)(question_length - HEADER));
}

static BOOL wait_readable(SOCKET s, int ms)
{
    WSAPOLLFD fd = {s, POLLRDNORM, 0};

    return WSAPoll(&fd, 1, ms) == 1;
}

static int ask_udp(const struct server *server, const unsigned char *question, int length, struct reply *reply)
{
    SOCKET s = socket(server->address.ss_family, SOCK_DGRAM, IPPROTO_UDP);
    int result = TIMED_OUT, timeout = FIRST_TIMEOUT_MS;

    if (s == INVALID_SOCKET || connect(s, (const struct sockaddr *)&server->address, server->length))
    {
        if (s != INVALID_SOCKET)
            closesocket(s);
        return NO_ANSWER;
    }
    for (int i = 0; i < TRIES && result == TIMED_OUT; i++, timeout *= 2)
    {
        ULONGLONG end = GetTickCount64() + (ULONGLONG)timeout;

        if (send(s, (const char *)question, length, 0) != length)
            result = NO_ANSWER;
        while (result == TIMED_OUT)
        {
            ULONGLONG now = GetTickCount64();

            if (now >= end || !wait_readable(s, (int)(end - now)))
                break;
            if ((reply->length = recv(s, (char *)reply->data, MESSAGE_SIZE, 0)) < 0)
                result = NO_ANSWER;
            else if (accept_reply(reply, question, length))
                result = reply->rcode;
        }
    }
    closesocket(s);
    return result;
}

static BOOL receive_whole(SOCKET s, unsigned char *to, int length)
{
    while (length > 0)
    {
        int n = wait_readable(s, FIRST_TIMEOUT_MS * 2) ? recv(s, (char *)to, length, 0) : 0;

        if (n <= 0)
            return FALSE;
        to += n;
        length -= n;
    }
    return TRUE;
}

static int ask_tcp(const struct server *server, const unsigned char *question, int length, struct reply *reply)
{
    SOCKET s = socket(server->address.ss_family, SOCK_STREAM, IPPROTO_TCP);
    unsigned char size[2] = {(unsigned char)(length >> 8), (unsigned char)length};
    int result = NO_ANSWER;

    if (s == INVALID_SOCKET)
        return NO_ANSWER;
    if (!connect(s, (const struct sockaddr *)&server->address, server->length) && send(s, (const char *)size, 2, 0) == 2 &&
        send(s, (const char *)question, length, 0) == length && receive_whole(s, size, 2))
    {
        reply->length = (int)word(size);
        if (receive_whole(s, reply->data, reply->length) && accept_reply(reply, question, length))
            result = reply->rcode;
    }
    closesocket(s);
    return result;
}

int ask(const struct server *server, const char *name, unsigned type, struct reply *reply)
{
    static unsigned id;
    unsigned char question[HEADER + 255 + 4];
    int length, result;

    if (!id)
        id = GetCurrentProcessId() * 2654435761u >> 8 ^ GetTickCount();
    if ((length = put_question(question, ++id & 0xffff, name, type)) < 0)
        return RCODE_NXDOMAIN;
    result = ask_udp(server, question, length, reply);
    if (result < TIMED_OUT && reply->data[2] & 0x02)
        return ask_tcp(server, question, length, reply);
    return result;
}

int read_name(const struct reply *r, int at, char name[NAME_SIZE])
{
    int behind = -1, out = 0;

    for (int jumps = 0; jumps < 128;)
    {
        unsigned n;

        if (at >= r->length)
            return -1;
        n = r->data[at++];
        if ((n & 0xc0) == 0xc0)
        {
            if (at >= r->length)
                return -1;
            if (behind < 0)
                behind = at + 1;
            at = (int)((n & 0x3f) << 8 | r->data[at]);
            jumps++;
            continue;
        }
        if (n & 0xc0 || at + (int)n > r->length)
            return -1;
        if (n == 0)
        {
            name[out] = 0;
            return behind < 0 ? at : behind;
        }
        if (out && out < NAME_SIZE - 1)
            name[out++] = '.';
        for (; n > 0; n--, at++)
        {
            unsigned char c = r->data[at];

            if (out + 5 >= NAME_SIZE)
                return -1;
            if (c > ' ' && c < 0x7f && c != '.' && c != '\\')
            {
                name[out++] = (char)c;
            }
            else
            { /* \ddd, so that a terminal never sees what a server has made up */
                name[out++] = '\\';
                name[out++] = (char)('0' + c / 100);
                name[out++] = (char)('0' + c / 10 % 10);
                name[out++] = (char)('0' + c % 10);
            }
        }
    }
    return -1;
}

BOOL next_record(const struct reply *r, int *at, struct record *record)
{
    int p = read_name(r, *at, record->name);

    if (p < 0 || p + 10 > r->length)
        return FALSE;
    record->type = word(r->data + p);
    record->ttl = word(r->data + p + 4) << 16 | word(r->data + p + 6);
    record->length = word(r->data + p + 8);
    record->data = p + 10;
    if (record->data + (int)record->length > r->length)
        return FALSE;
    *at = record->data + (int)record->length;
    return TRUE;
}
