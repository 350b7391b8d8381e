/* Prints replies in the form of Windows' nslookup. */
#include "nslookup.h"

#include <stdio.h>
#include <string.h>
#include <ws2tcpip.h>

const char *describe(int code)
{
    switch (code)
    {
    case RCODE_SERVFAIL: return "Server failed";
    case RCODE_NXDOMAIN: return "Non-existent domain";
    case RCODE_REFUSED: return "Query refused";
    case TIMED_OUT: return "No response from server";
    case NO_ANSWER: return "No response from server";
    default: return "Unspecified error";
    }
}

static unsigned word_at(const struct reply *r, int at)
{
    return (unsigned)r->data[at] << 8 | r->data[at + 1];
}
static unsigned long long_at(const struct reply *r, int at)
{
    return (unsigned long)word_at(r, at) << 16 | word_at(r, at + 2);
}

/* An address record's address; FALSE if the record is no such one. */
static BOOL address_of(const struct reply *r, const struct record *record, char text[64])
{
    BOOL v4 = record->type == TYPE_A && record->length == 4, v6 = record->type == TYPE_AAAA && record->length == 16;

    return (v4 || v6) && inet_ntop(v4 ? AF_INET : AF_INET6, (void *)(r->data + record->data), text, 64);
}

/* The addresses and aliases that replies hold, in order. */
struct host
{
    char name[NAME_SIZE], addresses[MOST_ADDRESSES][64], aliases[8][NAME_SIZE];
    int address_count, alias_count;
};

static void collect(const struct reply *r, struct host *h)
{
    int at = r->records;
    struct record record;

    for (unsigned i = 0; i < r->answers && next_record(r, &at, &record); i++)
    {
        if (record.type == TYPE_CNAME)
        {
            int known = 0;

            while (known < h->alias_count && strcmp(h->aliases[known], record.name))
                known++;
            if (known == h->alias_count && known < 8)
                strcpy(h->aliases[h->alias_count++], record.name);
        }
        else if (h->address_count < MOST_ADDRESSES && address_of(r, &record, h->addresses[h->address_count]))
        {
            h->address_count++;
            strcpy(h->name, record.name);
        }
    }
}

BOOL print_host(const struct reply *v4, const struct reply *v6, const char *name)
{
    static struct host h;

    memset(&h, 0, sizeof(h));
    strncpy(h.name, name, NAME_SIZE - 1);
    if (v6)
        collect(v6, &h); /* Windows has the IPv6 addresses first */
    if (v4)
        collect(v4, &h);
    if (!h.address_count)
        return FALSE;
    if (!(v4 ? v4 : v6)->authoritative)
        printf("Non-authoritative answer:\n");
    printf("Name:    %s\n", h.name);
    printf("Address%s  ", h.address_count > 1 ? "es:" : ":");
    for (int i = 0; i < h.address_count; i++)
        printf("%s%s\n", i ? "\t  " : "", h.addresses[i]);
    for (int i = 0; i < h.alias_count; i++)
        printf("%s%s\n", i ? "\t  " : "Aliases:  ", h.aliases[i]);
    printf("\n");
    return TRUE;
}

/* Prints the strings of a TXT record, each in quotes. */
static void print_strings(const struct reply *r, const struct record *record)
{
    int at = record->data, end = at + (int)record->length;

    while (at < end)
    {
        int n = r->data[at++];

        if (n > end - at)
            n = end - at;
        printf("\t\"");
        for (int i = 0; i < n; i++)
            putchar(r->data[at + i] >= ' ' && r->data[at + i] < 0x7f ? r->data[at + i] : '?');
        printf("\"\n");
        at += n;
    }
}

static void print_record(const struct reply *r, const struct record *record)
{
    static char name[NAME_SIZE], other[NAME_SIZE];
    char text[64];
    int at = record->data;

    switch (record->type)
    {
    case TYPE_A:
    case TYPE_AAAA:
        if (address_of(r, record, text))
            printf("%s\t%sinternet address = %s\n", record->name, record->type == TYPE_AAAA ? "AAAA IPv6 " : "", text);
        break;
    case TYPE_CNAME:
        if (read_name(r, at, name) >= 0)
            printf("%s\tcanonical name = %s\n", record->name, name);
        break;
    case TYPE_PTR:
        if (read_name(r, at, name) >= 0)
            printf("%s\tname = %s\n", record->name, name);
        break;
    case TYPE_NS:
        if (read_name(r, at, name) >= 0)
            printf("%s\tnameserver = %s\n", record->name, name);
        break;
    case TYPE_MX:
        if (record->length > 2 && read_name(r, at + 2, name) >= 0)
            printf("%s\tMX preference = %u, mail exchanger = %s\n", record->name, word_at(r, at), name);
        break;
    case TYPE_SRV:
        if (record->length > 6 && read_name(r, at + 6, name) >= 0)
            printf("%s\tSRV service location:\n\t  priority       = %u\n\t  weight         = %u\n\t  port           = %u\n\t  svr hostname   = %s\n",
                   record->name, word_at(r, at), word_at(r, at + 2), word_at(r, at + 4), name);
        break;
    case TYPE_TXT:
        printf("%s\ttext =\n\n", record->name);
        print_strings(r, record);
        break;
    case TYPE_SOA:
        if ((at = read_name(r, at, name)) >= 0 && (at = read_name(r, at, other)) >= 0 && at + 20 <= r->length)
            printf("%s\n\tprimary name server = %s\n\tresponsible mail addr = %s\n\tserial  = %lu\n\trefresh = %lu\n\tretry   = %lu\n"
                   "\texpire  = %lu\n\tdefault TTL = %lu\n",
                   record->name, name, other, long_at(r, at), long_at(r, at + 4), long_at(r, at + 8), long_at(r, at + 12), long_at(r, at + 16));
        break;
    default: printf("%s\t??? unknown type %u ???\n", record->name, record->type);
    }
}

BOOL print_records(const struct reply *r)
{
    int at = r->records;
    struct record record;

    if (!r->answers)
        return FALSE;
    if (!r->authoritative)
        printf("Non-authoritative answer:\n");
    for (unsigned i = 0; i < r->answers && next_record(r, &at, &record); i++)
        print_record(r, &record);
    printf("\n");
    return TRUE;
}
