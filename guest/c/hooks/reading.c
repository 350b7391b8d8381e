/*
 * A program that ends while one of its threads reads the console: docker.exe and ctr.exe with a terminal, whose own
 * thread passes on what is typed.
 *
 * Fact (Wine 8.0 to 10.0, server/console.c, get_next_console_request): the server keeps the read in its queue. What is
 * typed next completes it, and nobody has it: the shell that the program was started from loses a line. Windows cancels
 * the read.
 *
 * So a program that ends types Enter for each such read. The console is raw meanwhile, else it would begin a new line.
 */
#include "hooks.h"
#include "reading.h"

static volatile LONG reading; /* threads that wait */
static HANDLE volatile read_from;

void reading_begins(HANDLE console)
{
    read_from = console;
    InterlockedIncrement(&reading);
}

void reading_ends(void)
{
    InterlockedDecrement(&reading);
}

void reading_leaves(void)
{
    INPUT_RECORD enter = {.EventType = KEY_EVENT};
    LONG left = reading;
    DWORD mode, written;

    if (left <= 0 || !GetConsoleMode(read_from, &mode))
        return;
    enter.Event.KeyEvent.bKeyDown = TRUE;
    enter.Event.KeyEvent.wRepeatCount = 1;
    enter.Event.KeyEvent.wVirtualKeyCode = VK_RETURN;
    enter.Event.KeyEvent.uChar.UnicodeChar = '\r';
    SetConsoleMode(read_from, 0);
    while (left-- > 0)
        WriteConsoleInputW(read_from, &enter, 1, &written);
    SetConsoleMode(read_from, mode);
}
