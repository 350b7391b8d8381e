/* Tests of the wait for a process's other threads (hooks/lastthread.c). */
#include "lastthread.h"

#include <pthread.h>
#include <time.h>

#include "check.h"

static long long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void *live(void *ms)
{
    struct timespec time = {*(long *)ms / 1000, *(long *)ms % 1000 * 1000000};

    nanosleep(&time, NULL);
    return NULL;
}

/* What the wait says while another thread lives so long, and whether it has lasted until that thread's end. */
static void test_beside(const char *item, long ms, BOOL want)
{
    long long began = now_ms();
    pthread_t thread;

    pthread_create(&thread, NULL, live, &ms);
    check_number(item, "alone", last_thread_wait(), want);
    if (want)
        check_number(item, "it was waited for", now_ms() - began >= ms, TRUE);
    pthread_join(thread, NULL);
}

/* The first thread does not count: Linux lists it until the process ends. */
static void *in_another(void *unused)
{
    check_number("the second thread", "alone", last_thread_wait(), TRUE);
    return unused;
}

int main(void)
{
    pthread_t thread;

    check_number("one thread", "alone", last_thread_wait(), TRUE);
    test_beside("a thread that ends", 20, TRUE);
    /* Much longer than the wait, which a busy machine can lengthen. */
    test_beside("a thread that stays", 5000, FALSE);
    pthread_create(&thread, NULL, in_another, NULL);
    pthread_join(thread, NULL);
    return checks_end();
}
