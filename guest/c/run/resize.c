/*
 * The size of the terminal. Wine 8's console host reads the size only when it starts, so in a window that is made
 * larger the console stays small. This code makes the console follow while the program runs.
 */
#include "run.h"

enum
{
    LOOK_MS = 250
};

static SHORT smaller(SHORT a, SHORT b)
{
    return a < b ? a : b;
}

static void set_window(HANDLE screen, SHORT columns, SHORT rows)
{
    SMALL_RECT window = {0, 0, (SHORT)(columns - 1), (SHORT)(rows - 1)};

    SetConsoleWindowInfo(screen, TRUE, &window);
}

static BOOL is_window(const SMALL_RECT *window, COORD size)
{
    return window->Right - window->Left + 1 == size.X && window->Bottom - window->Top + 1 == size.Y;
}

/*
 * follow sets the console to the terminal's size. A window must fit into its buffer, so it shrinks before the buffer
 * and grows after it.
 */
static void follow(COORD size)
{
    HANDLE screen = CreateFileW(L"CONOUT$", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                                OPEN_EXISTING, 0, NULL);
    CONSOLE_SCREEN_BUFFER_INFO now;

    if (screen == INVALID_HANDLE_VALUE)
        return;
    if (GetConsoleScreenBufferInfo(screen, &now) && !is_window(&now.srWindow, size))
    {
        set_window(screen, smaller(size.X, now.dwSize.X), smaller(size.Y, now.dwSize.Y));
        SetConsoleScreenBufferSize(screen, size);
        set_window(screen, size.X, size.Y);
    }
    CloseHandle(screen);
}

/*
 * run_wait_for waits for the program's end. A terminal may get its size only after the program has started: an engine
 * makes it first and its client says how large it is later.
 */
void run_wait_for(HANDLE process)
{
    COORD known = {0, 0}, size;

    if (!run_terminal_size(&size))
    {
        WaitForSingleObject(process, INFINITE);
        return;
    }
    do
    {
        if (!run_terminal_size(&size) || !size.X || !size.Y || (size.X == known.X && size.Y == known.Y))
            continue;
        known = size;
        follow(size);
    } while (WaitForSingleObject(process, LOOK_MS) == WAIT_TIMEOUT);
}
