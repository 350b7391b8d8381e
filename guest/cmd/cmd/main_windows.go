package main

import (
	"context"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"mullion.dev/mullion/guest/cmdexe/host"
	"mullion.dev/mullion/guest/cmdexe/shell"
)

func run() int {
	dir, err := os.Getwd()
	if err != nil {
		dir = `C:\`
	}

	pressed := interrupts()
	return int(shell.Main(context.Background(), shell.Options{
		Host:        host.Host{Interrupts: pressed},
		System:      host.System{},
		Environ:     os.Environ(),
		Dir:         dir,
		Files:       [3]*os.File{os.Stdin, os.Stdout, os.Stderr},
		CommandLine: host.CommandLine(),
		Now:         time.Now,
		Random:      rand.Int,
		Interrupts:  pressed,
	}))
}

// interrupts tells whether Ctrl+C was pressed since it was asked last. It is told to all programs of the console: what
// it does to the one that runs is for that one to say.
func interrupts() func() bool {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	return func() bool {
		select {
		case <-signals:
			return true
		default:
			return false
		}
	}
}
