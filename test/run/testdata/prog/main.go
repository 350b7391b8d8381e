//go:build windows

// Command prog is the Windows program of these tests. Its first argument says what it does.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Println("hello")
		return
	}
	switch os.Args[1] {
	case "args":
		fmt.Println(strings.Join(os.Args[2:], "|"))
	case "line":
		fmt.Println(windows.UTF16PtrToString(windows.GetCommandLine()))
	case "exit":
		code, err := strconv.ParseUint(os.Args[2], 0, 32)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stderr, "leaving")
		os.Exit(int(int32(uint32(code))))
	case "upper":
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			panic(err)
		}
		fmt.Print(strings.ToUpper(string(text)))
	case "where":
		dir, _ := os.Getwd()
		name, _ := os.Hostname()
		fmt.Println(dir, name, os.Getenv("USERNAME"), os.Getenv("A"))
	case "write":
		if err := os.WriteFile(os.Args[2], []byte("written\n"), 0o644); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	case "fault":
		var nothing *int
		*nothing = 1
	case "size":
		size()
	case "registry", "stores", "service", "http":
		boundary(os.Args[1])
	case "facts":
		facts()
	case "serve":
		serve(os.Args[2])
	case "ask":
		ask(os.Args[2], os.Args[3], os.Args[4])
	case "lines":
		lines(os.Args[2], os.Args[3])
	case "wait", "deaf":
		wait(os.Args[1] == "deaf")
	}
}

// lines says so many lines, one after the other to standard output and to standard error.
func lines(count, pause string) {
	n, err := strconv.Atoi(count)
	if err != nil {
		panic(err)
	}
	wait, err := time.ParseDuration(pause)
	if err != nil {
		panic(err)
	}
	to := []*bufio.Writer{bufio.NewWriter(os.Stdout), bufio.NewWriter(os.Stderr)}
	for i := range n {
		w := to[i%2]
		fmt.Fprintf(w, "line %d\n", i)
		if wait > 0 {
			_ = w.Flush()
			time.Sleep(wait)
		}
	}
	for _, w := range to {
		_ = w.Flush()
	}
}

// size says how large the console is, whenever that changes.
func size() {
	last := ""
	for {
		var info windows.ConsoleScreenBufferInfo
		if err := windows.GetConsoleScreenBufferInfo(windows.Handle(os.Stdout.Fd()), &info); err != nil {
			panic(err)
		}
		now := fmt.Sprintf("%d columns, %d rows", info.Window.Right-info.Window.Left+1, info.Window.Bottom-info.Window.Top+1)
		if now != last {
			fmt.Println(now)
		}
		last = now
		time.Sleep(50 * time.Millisecond)
	}
}

// wait says what Windows tells it, and ends, unless it is deaf.
func wait(deaf bool) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	fmt.Println("waiting")
	for {
		select {
		case s := <-told:
			fmt.Println("told:", s)
			if !deaf {
				os.Exit(3)
			}
			time.Sleep(time.Hour)
		case <-time.After(5 * time.Minute):
			return
		}
	}
}
