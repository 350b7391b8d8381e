package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// calls URL COUNT: asks one after the other, each by a connection of its own, and says how many have failed and who has
// answered.
func calls(args []string) error {
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}

	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	var failed, answered []string
	for range count {
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

// ask returns the third word of an answer, which is the name of a pod that serves.
func ask(client *http.Client, url string) (string, error) {
	resp, err := client.Get(url) //nolint:noctx // the client has a time
	if err != nil {
		return "", err
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
