// Package containerinit is the first process of a Windows container: it starts the container's main program, reaps
// every process that loses its parent (the wineserver and what Windows programs leave behind), passes signals on, and
// ends as the main program ended.
//
// A Windows program cannot receive a Linux signal. So where the main program is mullion-run.exe under Wine, a signal
// becomes a Windows control event, delivered by a second mullion-run.exe to the first program alone: SIGTERM is
// CTRL_SHUTDOWN_EVENT, as a Windows container's stop is.
//
// When the main program has ended, Windows services that run in the container are told so, as Windows does when it
// shuts a container down, and have their time to end. What still runs then is killed, and the report names it.
//
// When Wine's server is killed, every Windows program of the container stands still for ever. So the container ends
// too, with the server's exit code.
//
// It starts further programs for the engine, which asks at a socket in the container's working folder (package wire).
//
// On request it counts the diagnostic lines of Wine, which come by a pipe, into a file.
//
// The package keeps to the syscall and os/signal packages: one copy of it runs in every container, and its memory
// counts in each.
package containerinit
