package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// What programs of the field do beside what the other verbs do.

// words prints its arguments, each quoted.
func words(args []string) error {
	for i, a := range args {
		fmt.Printf("%d:%q\n", i, a)
	}
	return nil
}

// calls URL COUNT [TIME]: asks one after the other, each by a connection of its own, so often and at least so long, and
// says how many have failed, how far the first of these came, and who has answered.
func calls(args []string) error {
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	begin, least := time.Now(), time.Duration(0)
	if len(args) > 2 {
		if least, err = time.ParseDuration(args[2]); err != nil {
			return err
		}
	}

	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	var failed, answered []string
	for n := 0; n < count || time.Since(begin) < least; n++ {
		who, err := ask(&client, args[0])
		if err != nil {
			failed = append(failed, err.Error())
		} else if !slices.Contains(answered, who) {
			answered = append(answered, who)
		}
	}

	fmt.Println("failed", len(failed), "answered by", len(answered))
	if len(failed) > 0 {
		fmt.Println("the first:", failed[0])
	}
	return nil
}

// ask returns the third word of an answer, which is the name of a pod that serves. An error says how far it came.
func ask(client *http.Client, url string) (string, error) {
	var reached atomic.Value // the dialler goes on when the time is over
	reached.Store("looking the name up")
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		ConnectStart: func(_, address string) { reached.Store("connecting to " + address) },
		GotConn:      func(i httptrace.GotConnInfo) { reached.Store("waiting for " + i.Conn.RemoteAddr().String()) },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}

	began := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("at %s, %s: %w", began.Format(time.TimeOnly), reached.Load(), err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	said := strings.Fields(string(body))
	if err != nil || len(said) < 3 {
		return "", errors.Join(err, fmt.Errorf("answered %q", body))
	}
	return said[2], nil
}

// socket listen|dial PATH: a server of lines at a Unix socket, whose file may be left of an earlier one, or a client of
// one, which waits for it.
func socket(args []string) error {
	if args[0] == "dial" {
		return dial(args[1])
	}
	if err := os.Remove(args[1]); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	l, err := net.Listen("unix", args[1])
	if err != nil {
		return err
	}

	fmt.Println("listening")
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}

		go func() {
			defer conn.Close()
			line, _ := bufio.NewReader(conn).ReadString('\n')
			name, _ := os.Hostname()
			fmt.Fprintf(conn, "heard %s on %s\n", strings.TrimSpace(line), name)
		}()
	}
}

func dial(path string) error {
	for end := time.Now().Add(time.Minute); ; <-time.After(200 * time.Millisecond) {
		conn, err := net.Dial("unix", path) //nolint:noctx // of the machine
		if err == nil {
			defer conn.Close()
			fmt.Fprintln(conn, "hello")
			_, err = io.Copy(os.Stdout, conn)
		}
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

// packets ADDRESS: answers each packet of UDP with what it has.
func packets(args []string) error {
	conn, err := net.ListenPacket("udp", args[0]) //nolint:noctx // for ever
	if err != nil {
		return err
	}

	fmt.Println("serving on", conn.LocalAddr())
	buffer := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return err
		}
		if _, err := conn.WriteTo(append([]byte("game "), buffer[:n]...), from); err != nil {
			return err
		}
	}
}

// hold FILE: has it open, without letting others remove it, until it is told to leave.
func hold(args []string) error {
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	return wait([]string{"leave"})
}

// deep FOLDER COUNT: a file below that many folders with names of 40 letters.
func deep(args []string) error {
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	dir := args[0]
	for range count {
		dir = filepath.Join(dir, strings.Repeat("d", 40))
	}

	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("there"), 0o666); err != nil {
		return err
	}
	fmt.Println(len(file), "characters")
	return nil
}
