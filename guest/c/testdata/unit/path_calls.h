/* The prefix that the calls of path_calls.c know. */
#ifndef MULLION_TEST_PATH_CALLS_H
#define MULLION_TEST_PATH_CALLS_H

#include <windows.h>

#define ROOM 16384 /* more than the longest path of Linux */

/* Its path, canonical; set by the test. */
extern char prefix[ROOM];

/* Returns folder/name in a buffer that the fourth call after this one reuses. */
char *below(const char *folder, const char *name);

/* Ends the test, with the reason in errno, if a preparation was not done. */
void must(BOOL done, const char *what);
void make_folder(const char *path);

/* A prefix at a path that does not exist yet, known to hooks/path.c from then on. */
void make_prefix(const char *path);

#endif
