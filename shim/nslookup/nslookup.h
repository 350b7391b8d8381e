/* nslookup.exe: asks DNS servers and prints their answers as Windows' program does. Wine has none. */
#ifndef MULLION_NSLOOKUP_H
#define MULLION_NSLOOKUP_H

#include <winsock2.h>

#include <windows.h>

enum
{
    NAME_SIZE = 1025, /* a name of 255 bytes, each of which may be printed as \ddd */
    MESSAGE_SIZE = 65535,
    MOST_ADDRESSES = 64
};

/* clang-format off */
enum { TYPE_A = 1, TYPE_NS = 2, TYPE_CNAME = 5, TYPE_SOA = 6, TYPE_PTR = 12, TYPE_MX = 15, TYPE_TXT = 16, TYPE_AAAA = 28, TYPE_SRV = 33, TYPE_ANY = 255 };
enum { RCODE_OK = 0, RCODE_SERVFAIL = 2, RCODE_NXDOMAIN = 3, RCODE_REFUSED = 5, TIMED_OUT = 100, NO_ANSWER = 101 };
/* clang-format on */

/* A server, and the text of its address. */
struct server
{
    SOCKADDR_STORAGE address;
    int length;
    char text[64];
};

/* A reply, checked to be one to our question; the counts and where the records begin. */
struct reply
{
    unsigned char data[MESSAGE_SIZE];
    int length, records, rcode;
    unsigned answers, authorities;
    BOOL authoritative;
};

/* One record of a reply; data points into it. */
struct record
{
    char name[NAME_SIZE];
    unsigned type, ttl, length;
    int data;
};

/* query.c */

/* Sends one question for a fully qualified name, over UDP and, if the answer is cut, TCP; returns the reply's code, TIMED_OUT or NO_ANSWER. */
int ask(const struct server *server, const char *name, unsigned type, struct reply *reply);

/* Reads the record at *at and moves *at past it; FALSE if the reply is malformed. */
BOOL next_record(const struct reply *reply, int *at, struct record *record);

/* Writes the name at offset at of the reply; returns the offset after it, or -1. */
int read_name(const struct reply *reply, int at, char name[NAME_SIZE]);

/* print.c */

/* Prints a reply to a question for a host's addresses; FALSE if there are none in it. */
BOOL print_host(const struct reply *v4, const struct reply *v6, const char *name);

/* Prints the records of the answer section; FALSE if there are none. */
BOOL print_records(const struct reply *reply);

/* The text for a code that ask returned. */
const char *describe(int code);

#endif
