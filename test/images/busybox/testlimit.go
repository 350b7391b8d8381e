package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// testlimit stands in for Sysinternals' Testlimit, as far as the spec about eviction uses it
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/test/e2e/windows/eviction.go,
// https://learn.microsoft.com/sysinternals/downloads/testlimit): -d MB allocates and touches pieces of memory of so
// many MB (1), -e SECONDS waits between two (0), -c COUNT takes so many pieces (as many as there are). What it has it
// keeps until it is ended. A piece that is refused it asks for again after some seconds. -accepteula, and words that
// are no options, as the spec's "20000s", mean nothing.
func testlimit(ctx context.Context, c *call) int {
	want, err := parseTestlimit(c.args[1:])
	if err != nil {
		return c.usage("%v", err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()

	fmt.Fprintf(c.stdout, "Leaking private bytes with touch %d MB at a time...\n", want.megabytes)
	for taken := 0; want.count == 0 || taken < want.count; {
		wait := want.pause
		if err := takeMemory(want.megabytes << 20); err != nil {
			fmt.Fprintf(c.stdout, "%d MB refused after %d MB: %v\n", want.megabytes, taken*want.megabytes, err)
			wait = max(wait, refusedPause)
		} else {
			taken++
			fmt.Fprintf(c.stdout, "Leaked %d MB of private memory (%d MB total leaked).\n", want.megabytes,
				taken*want.megabytes)
		}

		select {
		case <-ctx.Done():
			return 0
		case <-time.After(wait):
		}
	}

	<-ctx.Done()
	return 0
}

// refusedPause is how long it waits before it asks again for what was refused.
const refusedPause = 5 * time.Second

// leak is what testlimit is to do.
type leak struct {
	megabytes, count int
	pause            time.Duration
}

// mostMegabytes bounds a piece.
const mostMegabytes = 1 << 20

func parseTestlimit(args []string) (leak, error) {
	want, leaks := leak{megabytes: 1}, false
	for i := 0; i < len(args); i++ {
		// a number may follow, with a unit or without
		number, ok := 0, false
		if i+1 < len(args) {
			digits := strings.TrimRight(strings.ToLower(args[i+1]), "mbs")
			n, err := strconv.Atoi(digits)
			number, ok = n, err == nil && n >= 0
		}

		switch strings.ToLower(args[i]) {
		case "-accepteula", "/accepteula":
			continue
		case "-d":
			leaks = true
			if !ok {
				continue
			}
			if number < 1 || number > mostMegabytes {
				return leak{}, fmt.Errorf("-d %s: not from 1 to %d MB", args[i+1], mostMegabytes)
			}
			want.megabytes = number

		case "-e":
			if !ok {
				return leak{}, errors.New("-e wants a number of seconds")
			}
			want.pause = time.Duration(number) * time.Second

		case "-c":
			if !ok {
				return leak{}, errors.New("-c wants a number of pieces")
			}
			want.count = number

		default:
			if strings.HasPrefix(args[i], "-") || strings.HasPrefix(args[i], "/") {
				return leak{}, fmt.Errorf("unknown option %s: this stand-in has -d, -e and -c", args[i])
			}
			continue
		}

		i++
	}

	if !leaks {
		return leak{}, errors.New("want -d [MB] [-e SECONDS] [-c COUNT]")
	}
	return want, nil
}
