/*
 * The driver's objects. All of them are under one lock. Operations that are to be answered are put aside under it
 * (http_finish) and answered when it is left.
 *
 * The files stand one on another, in the order of their functions below, and core.c on all of them. None calls what
 * stands above it; what is below tells what is above that something has happened by a function that it was given.
 */
#ifndef MULLION_HTTP_CORE_H
#define MULLION_HTTP_CORE_H

#include <winsock2.h>
#include <ws2tcpip.h>
#include <mswsock.h>
#include <windows.h>
#include <stdbool.h>

#include "irp.h"
#include "memory.h"
#include "parse.h"
#include "url.h"
#include "httpioctl.h"

struct connection;
struct queue;

/* Lists go in a ring, with a head that is no element. */
struct link
{
    struct link *next, *previous;
};

void http_link_init(struct link *head);
void http_link_add(struct link *head, struct link *element); /* at the end */
void http_link_remove(struct link *element);                 /* also one that is in no list, if it is clear */
/* What Windows does for us: done is called, without the lock, when it has an end. */
struct io
{
    OVERLAPPED overlapped;
    void (*done)(struct io *io, DWORD bytes, bool failed);
};

struct listener
{
    struct link all;
    uint16_t port;
    unsigned prefixes; /* that need it; 0: it is closed, and goes with its last io */
    int family;
    SOCKET socket, accepted;
    struct io io;
    char addresses[2 * (sizeof(SOCKADDR_STORAGE) + 16)];
};

struct group
{
    struct link of_file;
    uint64_t id;
    struct queue *queue; /* NULL: its requests are refused */
    bool inactive;
    uint16_t times[HTTP_TIMES];
    uint32_t rate;
};

struct url
{
    struct link all;
    struct group *group; /* NULL: it is the queue's own */
    struct queue *queue;
    struct prefix prefix;
    uint64_t context;
    struct listener *listener;
};

struct queue
{
    struct link all;
    struct file *file;
    uint64_t id;
    uint32_t version; /* of the API */
    uint32_t most;    /* requests that may wait */
    uint32_t waiting_count;
    bool inactive, shut;
    struct link waiting;         /* connections whose requests wait for a receiver */
    struct operation *receivers; /* who wait for a request */
};

struct file
{
    struct queue *queue;
    struct link groups;
};

/* What is on its way to the other end of a connection. */
struct block
{
    struct block *next;
    struct operation *op; /* who waits until it is sent, or NULL */
    uint32_t size, sent;
    uint32_t told; /* the number that op gets */
    bool last;     /* of a response */
    char data[];
};

enum state
{
    STATE_HEAD,   /* waits for a request, or the rest of its head */
    STATE_QUEUED, /* the request waits for a receiver */
    STATE_TAKEN,  /* a program has it */
    STATE_DRAIN,  /* it is answered, and the rest of its body is to be dropped */
    STATE_LAST,   /* the last answer is sent; then the connection ends */
    STATE_LINGER, /* everything is said; waits for the other end to close */
    STATE_CLOSED, /* the socket is closed; the memory goes with the last io */
};

struct connection
{
    struct link all, waiting;
    uint64_t id, request_id; /* the low 20 bits are the place in the table */
    SOCKET socket;
    uint16_t port;
    struct address here;
    SOCKADDR_STORAGE local, remote;
    enum state state;
    ULONGLONG deadline;         /* of GetTickCount64; 0: none */
    uint16_t times[HTTP_TIMES]; /* of the last request's group */
    bool begun;                 /* a request's first byte is there */
    ULONGLONG stalls;           /* when what is being sent should be */
    bool receiving, sending;
    bool ended; /* the other end has closed its half, or is gone */
    struct io receive, send;
    void (*come)(struct connection *c);     /* more has been received, or the other end has ended */
    void (*answered)(struct connection *c); /* the last part of the response is sent */
    uint8_t *in;
    uint32_t in_size, in_start,
        in_length; /* what was received and not read yet; what is being received goes behind it */
    uint32_t scanned;

    struct queue *queue; /* that has the request */
    uint64_t context;
    struct head head;
    char *text; /* of the head */
    struct cooked cooked;
    struct body body;
    uint64_t received; /* bytes of the request */

    bool response_begun, response_ended, continued, close_after, bodiless;
    bool counted; /* the response has a Content-Length, of which left are to come */
    int64_t left;
    struct block *blocks; /* to be sent; the first one is on its way */
    struct operation *readers, *waiters;
};

extern struct link http_queues, http_connections, http_urls;

/* operation.c */
void http_operations_start(void);
void http_lock(void);
void http_unlock(void); /* and answers what was finished */
/* Takes an operation's result. It must have left the list that it waited in. */
void http_finish(struct operation *op, int result, uint64_t length);
void http_finish_all(struct operation **list, int result);
void http_append(struct operation **list, struct operation *op);
struct operation *http_take(struct operation **list);
uint64_t http_new_id(void);

/* net.c: every_tick is called now and then, without the lock. */
int http_net_start(void (*every_tick)(void));
int http_net_add(SOCKET socket);

/* block.c */
struct block *http_block_new(uint32_t size);
void http_block_end(struct connection *c, int result);  /* takes the first one away */
void http_block_drop(struct connection *c, int result); /* those that are to be sent */

/* connection.c: it begins with no request, and is not served yet (serve.c); NULL: there is no memory, or no place. */
struct connection *http_connection_new(SOCKET socket, uint16_t port, const SOCKADDR *local, const SOCKADDR *remote);
struct connection *http_connection_find(uint64_t id);
struct connection *http_request_find(uint64_t id);
/* Gives its request a number, and forgets the request: the number is no longer good for anything. */
void http_connection_number(struct connection *c);
void http_connection_forget(struct connection *c);
/* Sets the time by which it must have got further. */
void http_connection_time(struct connection *c, enum http_time time);
/* Ends it at once; after abort the other end finds it reset. It stays until it has no io. */
void http_connection_close(struct connection *c);
void http_connection_abort(struct connection *c);
void http_connection_free(struct connection *c);

/* transfer.c */
bool http_transfer_reserve(struct connection *c, uint32_t size);
void http_transfer_consume(struct connection *c, size_t n); /* takes n bytes off what was received */
void http_transfer_receive(struct connection *c);
void http_transfer_send(struct connection *c, struct block *block);
void http_received(struct io *io, DWORD bytes, bool failed);
void http_sent(struct io *io, DWORD bytes, bool failed);

/* deliver.c, respond.c */
void http_deliver(struct connection *c, struct operation *op);
void http_respond(struct file *file, struct operation *op);
void http_read_bodies(struct connection *c);
uint32_t http_write_date(char *out);

/* queue.c */
int http_queue_new(struct file *file, uint32_t version);
struct queue *http_queue_find(uint64_t id);
int http_queue_property(struct queue *queue, struct http_property *property, bool set);
void http_queue_shut(struct queue *queue);
void http_queue_deliver(struct queue *queue);
/* Takes the connection's request, or returns the status with which it is to be refused. */
int http_queue_request(struct connection *c);

/* route.c: finds who takes the request: 0, or the status with which it is refused. */
int http_url_find(struct connection *c);

/* serve.c */
void http_serve(SOCKET socket, uint16_t port, const SOCKADDR *local, const SOCKADDR *remote);
void http_connection_go_on(struct connection *c);
void http_connection_refuse(struct connection *c, int status, const char *why);
void http_connection_close_port(uint16_t port);
void http_connections_tick(void);

/* listen.c */
int http_listen_on(uint16_t port, struct listener **listener);
void http_listen_release(struct listener *listener);
void http_listen_retry(void);

/* group.c */
int http_group_new(struct file *file, uint64_t *id);
int http_group_close(struct file *file, uint64_t id);
int http_group_property(struct file *file, struct http_property *property, bool set);
int http_url_add(struct file *file, const struct http_url *in);
int http_url_remove(struct file *file, const struct http_url *in);
void http_url_free(struct url *url);

#endif
