// Package logmonitor is LogMonitor.exe: it makes the logs of a Windows container its standard output, as Microsoft's
// program of that name does (https://github.com/microsoft/windows-container-tools/tree/main/LogMonitor). It reads the
// same configuration and prints the same lines; its own messages go to standard error.
//
// The event log, of which a subscription gives what is new, and files are polled: one loop does it, and a last round of
// it prints what was written before the program ended. Events of ETW come from a session of this process.
package logmonitor

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"mullion.dev/mullion/guest/etw"
	"mullion.dev/mullion/guest/eventlog"
)

const (
	// interval is the shortest time between two rounds. A subscription to events is no faster.
	interval = 200 * time.Millisecond
	// leftover is how long output is waited for once the program has ended: its children may keep the pipe open.
	leftover = 2 * time.Second
	// defaultConfig is where the configuration is.
	defaultConfig = `C:\LogMonitor\LogMonitorConfig.json`
)

// Streams are the standard streams.
type Streams struct {
	Out, Err io.Writer
}

// System is what is needed of Windows.
type System interface {
	// Subscribe follows a log: what is in it, if oldest, and what comes.
	Subscribe(q eventlog.Query, oldest bool) (Log, error)
	// Trace starts a session of ETW, and calls f with each event, one after the other. The function that it returns
	// ends the session when f has had all events, and returns how many the session had no room for.
	Trace(name string, providers []etw.Provider, f func(etw.Record)) (stop func() (lost uint32, err error), err error)
	// Start starts a program whose output and errors go to a pipe, and whose input is that of this program.
	// The function that it returns waits for its end. The error may be the number of a Windows error.
	Start(line string, out *os.File) (wait func() (code int, err error), err error)
}

// Log is a log that is followed.
type Log interface {
	// Read calls f with the events that have come since it was called last.
	Read(f func(eventlog.Event)) error
}

// Run runs LogMonitor with its arguments and returns its exit code: that of the program that it runs.
func Run(s Streams, system System, args []string) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(stop)
	return run(s, system, args, stop)
}

func run(s Streams, system System, args []string, stop <-chan os.Signal) int {
	if len(args) == 1 && (args[0] == "/?" || strings.EqualFold(args[0], "--help")) {
		fmt.Fprint(s.Out, usage)
		return 0
	}

	m := &monitor{Streams: s, system: system}
	file := defaultConfig
	if len(args) > 0 && strings.EqualFold(args[0], "/config") {
		if len(args) == 1 {
			m.complain("ERROR: /CONFIG needs the path of a configuration file. LogMonitor /? shows the usage.")
			return 1
		}
		file, args = args[1], args[2:]
	}

	c, err := load(file)
	if err != nil {
		m.complain("ERROR: Reading the configuration: %s No log is monitored.", sentence(err))
		if len(args) == 0 {
			return 1
		}
	}
	m.begin(c)
	defer m.endTrace() // where no last round does

	return m.run(strings.Join(args, " "), stop)
}

const usage = `
	Usage: LogMonitor.exe [/?] | [--help] | [[/CONFIG <PATH>][COMMAND [PARAMETERS]]]

	/?|--help   Shows help information
	<PATH>      Specifies the path of the JSON configuration file. Without it the
	            configuration file is ` + defaultConfig + `
	COMMAND     Specifies the name of the executable to be run
	PARAMETERS  Specifies the parameters to be passed to the COMMAND

	This tool monitors event logs, ETW providers and log files and writes their
	entries to the console, with the output of the COMMAND. Without a COMMAND it
	goes on until it is stopped. This is Mullion's.

`
