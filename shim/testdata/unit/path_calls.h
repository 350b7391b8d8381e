/* The prefix that the calls of path_calls.c know. */
#ifndef MULLION_TEST_PATH_CALLS_H
#define MULLION_TEST_PATH_CALLS_H

#define ROOM 16384 /* more than Linux has for a path */

/* Its path, canonical; set by the test. */
extern char prefix[ROOM];

/* folder/name, until the fourth call after this one. */
char *below(const char *folder, const char *name);

#endif
