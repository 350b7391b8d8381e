// Command tool is the program of the end-to-end tests' Windows image: one verb for each thing that a pod has to show.
// It needs nothing but the standard library.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// serviceAccount is where the kubelet puts a pod's credentials.
const serviceAccount = `C:\var\run\secrets\kubernetes.io\serviceaccount`

const usage = `usage: tool VERB ARGUMENTS...; a "+" between two verbs runs one after the other`

func main() {
	args := os.Args[1:]
	for len(args) > 0 {
		verb := args
		args = nil
		for i, a := range verb {
			if a == "+" {
				verb, args = verb[:i], verb[i+1:]
				break
			}
		}

		if err := run(verb); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func run(args []string) error {
	verbs := map[string]struct {
		arguments int
		do        func(args []string) error
	}{
		"say":    {1, func(a []string) error { fmt.Println(strings.Join(a, " ")); return nil }},
		"exit":   {1, exit},
		"sleep":  {1, sleep},
		"serve":  {1, serve},
		"ledger": {2, ledger},
		"cat":    {1, cat},
		"write":  {2, func(a []string) error { return os.WriteFile(a[0], []byte(a[1]), 0o666) }},
		"grow":   {2, grow},
		"ls":     {1, list},
		"link":   {2, link},
		"space":  {1, space},
		"alloc":  {1, allocate},
		"wait":   {1, wait},
		"user":   {0, currentUser},
		"zone":   {0, zone},
		"get":    {1, get},
		"echo":   {0, func([]string) error { _, err := io.Copy(os.Stdout, os.Stdin); return err }},
		"tick":   {0, tick},
		"burn":   {1, burn},
		"busy":   {1, busy},
		"api":    {1, api},

		"lookup":  {1, lookup},
		"records": {2, records},

		"args":    {0, words},
		"calls":   {2, calls},
		"socket":  {2, socket},
		"packets": {1, packets},
		"hold":    {1, hold},
		"deep":    {2, deep},
		"watch":   {1, watch},
	}

	v, ok := verbs[args[0]]
	if !ok || len(args)-1 < v.arguments {
		return errors.New(usage)
	}
	return v.do(args[1:])
}

// exit CODE: leaves with any 32-bit code.
func exit(args []string) error {
	code, err := strconv.ParseUint(args[0], 0, 32)
	if err != nil {
		return err
	}
	os.Exit(int(code))
	return nil
}

func sleep(args []string) error {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	<-time.After(d)
	return nil
}

// serve ADDRESS: "/" returns where it runs; "/healthy" fails while the file C:\sick exists; "/big" returns more than
// fits into one packet.
func serve(args []string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		name, err := os.Hostname()
		fmt.Fprintln(w, "served by", name, "to", r.RemoteAddr, err)
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 100_000)) })
	mux.HandleFunc("/healthy", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := os.Stat(`C:\sick`); err == nil {
			http.Error(w, "sick", http.StatusInternalServerError)
		}
	})

	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	fmt.Println("serving on", l.Addr())
	server := http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.Serve(l)
}

func cat(args []string) error {
	for _, name := range args {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", name, data)
	}
	return nil
}

// grow FILE MIB: makes a file of that size.
func grow(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	file, err := os.Create(args[0])
	if err != nil {
		return err
	}
	for block := make([]byte, 1<<20); n > 0 && err == nil; n-- {
		_, err = file.Write(block)
	}
	return errors.Join(err, file.Close())
}

func list(args []string) error {
	return filepath.WalkDir(args[0], func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Println(d.Type(), path)
		return nil
	})
}

// allocate MIB: one block, touched page by page.
func allocate(args []string) error {
	size, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	block := make([]byte, size<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	fmt.Println("allocated", len(block)>>20, "MiB")
	return nil
}

// wait leave|stay: prints which signal came, and ends or does not.
func wait(args []string) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	fmt.Println("waiting")
	for s := range signals {
		fmt.Println("signal:", s)
		if args[0] == "leave" {
			fmt.Println("leaving")
			return nil
		}
	}
	return nil
}

func currentUser([]string) error {
	u, err := user.Current()
	if err != nil {
		return err
	}
	fmt.Println("user:", u.Username, "USERNAME:", os.Getenv("USERNAME"))
	return nil
}

// zone says what the program's own clock has of the time zone.
func zone([]string) error {
	_, offset := time.Now().Zone()
	fmt.Println("seconds east of UTC:", offset)
	return nil
}

func get(args []string) error {
	client := http.Client{Timeout: 10 * time.Second}
	return show(&client, args[0], "")
}

func show(client *http.Client, url, token string) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}

	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	fmt.Println(resp.Status)
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}

// tick: a numbered line five times a second, for ever.
func tick([]string) error {
	ticker := time.NewTicker(200 * time.Millisecond)
	for i := 1; ; i++ {
		fmt.Println("tick", i)
		<-ticker.C
	}
}

// burn DURATION: uses a processor.
func burn(args []string) error {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
	return nil
}

// busy FILE: uses a processor as long as the file exists.
func busy(args []string) error {
	for {
		if _, err := os.Stat(args[0]); err != nil {
			return nil //nolint:nilerr // it was removed, which is the end
		}
		if err := burn([]string{"100ms"}); err != nil {
			return err
		}
	}
}

// api URL: asks the API server as the pod's service account, trusting only the cluster's authority.
func api(args []string) error {
	ca, err := os.ReadFile(filepath.Join(serviceAccount, "ca.crt"))
	if err != nil {
		return err
	}
	token, err := os.ReadFile(filepath.Join(serviceAccount, "token"))
	if err != nil {
		return err
	}

	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return errors.New("no certificate in ca.crt")
	}
	client := http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}},
	}

	return show(&client, args[0], string(token))
}
