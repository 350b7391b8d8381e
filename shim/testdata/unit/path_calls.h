/* The prefix that the calls of path_calls.c know. */
#ifndef MULLION_TEST_PATH_CALLS_H
#define MULLION_TEST_PATH_CALLS_H

#define ROOM 16384 /* more than the longest path of Linux */

/* Its path, canonical; set by the test. */
extern char prefix[ROOM];

/* Returns folder/name in a buffer that the fourth call after this one reuses. */
char *below(const char *folder, const char *name);

#endif
