package powershell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// server is a script that listens, and what it prints.
type server struct {
	address string // of its port
	mu      sync.Mutex
	out     bytes.Buffer
	errs    bytes.Buffer
	ended   chan int
}

// Write takes what the script prints.
func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

func (s *server) printed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// serve runs a script until it ends or the test does. The port that it opens is one of this machine's own.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	return serveTyped(t, "", args...)
}

// serveTyped is serve, of a session at whose prompt something is typed.
func serveTyped(t *testing.T, input string, args ...string) *server {
	t.Helper()
	s := &server{ended: make(chan int, 1)}
	opened := make(chan string, 8)
	windows := stageWindows()
	windows.Listen = func(ctx context.Context, network, address string) (net.Listener, error) {
		if address != ":80" && address != ":8080" {
			return (&net.ListenConfig{}).Listen(ctx, network, address)
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, network, "127.0.0.1:0")
		if err == nil {
			opened <- l.Addr().String()
		}
		return l, err
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	session := Session{
		Args: args, Stdin: strings.NewReader(input), Stdout: s, Stderr: &s.errs, Newline: "\n", windows: windows,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ended <- session.Run(ctx)
	}()

	t.Cleanup(func() {
		cancel()
		<-done
	})

	select {
	case s.address = <-opened:
	case <-done:
		t.Fatalf("the script ended: %s", s.errs.String())
	case <-ctx.Done():
		t.Fatal("no port is opened")
	}

	return s
}

// answer is what a client gets.
type answer struct {
	*http.Response
	body string
}

func (s *server) ask(t *testing.T, method, path, body string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}

	r.Header.Set("X-Name", "v")
	r.Header.Set("User-Agent", "tester")
	if body != "" {
		r.Header.Set("Content-Type", "text/plain; charset=utf-8")
	}

	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	all, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}

	return answer{got, string(all)}
}

// documentCommand returns the command of the sample in Kubernetes' documentation, as the kubelet hands it over: $$ is
// $.
func documentCommand(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("../../examples/kubernetes-docs/win-webserver.yaml")
	if err != nil {
		t.Fatal(err)
	}

	_, deployment, _ := strings.Cut(string(data), "---\napiVersion: apps/v1")
	var d struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct{ Command []string }
				}
			}
		}
	}

	if err := yaml.Unmarshal([]byte("apiVersion: apps/v1"+deployment), &d); err != nil {
		t.Fatal(err)
	}
	command := d.Spec.Template.Spec.Containers[0].Command
	for i := range command {
		command[i] = strings.ReplaceAll(command[i], "$$", "$")
	}

	return command
}

// TestDocumentedWebServer runs the web server of Kubernetes' documentation
// (https://kubernetes.io/docs/concepts/windows/user-guide/) as it is, asks it twice, and a third time after a client
// that went away.
func TestDocumentedWebServer(t *testing.T) {
	command := documentCommand(t)
	if command[0] != "powershell.exe" || len(command) != 3 {
		t.Fatalf("the command is %q", command)
	}

	s := serve(t, command[1:]...)
	for n, want := range []string{"1", "2"} {
		got := s.ask(t, http.MethodGet, "/", "")
		if want := "<html><body><H1>Windows Container Web Server</H1><p>IP 10.244.1.7 callerCount " + want +
			" </body></html>"; got.StatusCode != http.StatusOK || got.body != want {
			t.Errorf("request %d: %s, %q, want %q", n+1, got.Status, got.body, want)
		}
		if got.Header.Get("Server") != "Microsoft-HTTPAPI/2.0" || got.Header.Get("Content-Type") != "" ||
			got.ContentLength < 0 {
			t.Errorf("the headers are %v", got.Header)
		}
	}

	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /gone HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}

	_ = conn.Close() // that is the client that goes away
	got := s.ask(t, http.MethodGet, "/a%20b?c=d", "")
	if !strings.Contains(got.body, " callerCount ") {
		t.Errorf("after a client that is gone: %s, %q", got.Status, got.body)
	}

	first := "Listening at http://*:80/\n\n> http://" + s.address + "/\n<html>"
	if out := s.printed(); !strings.HasPrefix(out, first) || !strings.Contains(out, "</html>\n< 200\n\n> ") ||
		!strings.Contains(out, "> http://"+s.address+"/a b?c=d\n") {
		t.Errorf("it printed %q, want at first %q", out, first)
	}
}

// TestListener asks a script that shows all that a request has, and answers in every way that a response has.
func TestListener(t *testing.T) {
	script, err := os.ReadFile("testdata/listener/requests.ps1")
	if err != nil {
		t.Fatal(err)
	}

	s := serve(t, "-Command", string(script))
	var b strings.Builder
	show := func(title string, got answer) {
		fmt.Fprintf(&b, "== %s: %s, length %d\n", title, got.Status, got.ContentLength)
		for _, name := range []string{
			"Content-Type", "Location", "Server", "X-One", "X-Two", "X-Three", "X-Four", "X-Five", "X-Six",
		} {
			if v, there := got.Header[name]; there {
				fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(v, " & "))
			}
		}

		if !strings.HasSuffix(title, "/end") { // by chance: the server is going away
			fmt.Fprintf(&b, "closes %v\n", got.Close)
		}
		b.WriteString(got.body + "\n")
	}

	for _, r := range []struct{ method, path, body string }{
		{"POST", "/show?a=1&b=x%20y&a=2&flag", "first ä\nsecond\nthird"},
		{"GET", "/header", ""},
		{"HEAD", "/", ""},
		{"GET", "/redirect", ""},
		{"GET", "/chunks", ""},
		{"POST", "/bytes", "xyz"},
		{"GET", "/nothing", ""},
		{"GET", "/wrong", ""},
		{"PUT", "/else", "not read"},
	} {
		show(r.method+" "+r.path, s.ask(t, r.method, r.path, r.body))
	}

	if got, err := http.Get("http://" + s.address + "/abort"); err == nil { // it ends at once
		got.Body.Close()
		t.Errorf("an aborted request is answered %s", got.Status)
	}
	show("GET /end", s.ask(t, http.MethodGet, "/end", ""))
	if code := <-s.ended; code != 0 || s.errs.String() != "" {
		t.Errorf("it ends with %d: %s", code, s.errs.String())
	}

	text := strings.ReplaceAll(b.String()+"-- it printed --\n"+s.printed(), s.address, "ADDRESS")
	compareGolden(t, "testdata/listener/requests.out", text)
}

// TestDescription checks that a description that cannot be sent ends the script, and its client's wait.
func TestDescription(t *testing.T) {
	script, err := os.ReadFile("testdata/listener/description.ps1")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, "-Command", string(script))
	if got, err := http.Get("http://" + s.address + "/"); err == nil { // it ends at once
		got.Body.Close()
		t.Errorf("answered %s", got.Status)
	}
	code := <-s.ended
	compareGolden(t, "testdata/listener/description.out", fmt.Sprintf("-- exit %d --\n%s", code, s.errs.String()))
}

// TestNotForTheListener checks the answers to requests that no prefix takes, and the end of a script that waits.
func TestNotForTheListener(t *testing.T) {
	script := `$l = New-Object System.Net.HttpListener; $l.Prefixes.Add('http://localhost:80/a/'); $l.Start(); $l.GetContext()`
	s := serve(t, "-Command", script)
	if got := s.ask(t, http.MethodGet, "/", ""); got.StatusCode != http.StatusBadRequest ||
		!strings.Contains(got.body, "Invalid Hostname") {
		t.Errorf("another host: %s, %q", got.Status, got.body)
	}
	_, port, _ := net.SplitHostPort(s.address)
	s.address = "localhost:" + port
	if got := s.ask(t, http.MethodGet, "/", ""); got.StatusCode != http.StatusNotFound {
		t.Errorf("another path: %s", got.Status)
	}
}

// TestPortTaken checks the errors of ports that cannot be opened.
func TestPortTaken(t *testing.T) {
	for err, want := range map[error]string{
		syscall.EADDRINUSE:   "Failed to listen on prefix 'http://*:80/' because it conflicts with an existing registration",
		syscall.EACCES:       "Access is denied",
		syscall.Errno(10048): "conflicts",
		errors.New("odd"):    "odd",
	} {
		windows := stageWindows()
		windows.Listen = func(context.Context, string, string) (net.Listener, error) { return nil, err }
		var out, errs bytes.Buffer
		s := Session{
			Args: []string{
				"-c", "$l = New-Object System.Net.HttpListener; $l.Prefixes.Add('http://*:80/'); $l.Start(); $l.IsListening",
			},
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Newline: "\n", windows: windows,
		}

		if s.Run(t.Context()); !strings.Contains(errs.String(), want) || out.String() != "False\n" {
			t.Errorf("%v: %q, %q", err, out.String(), errs.String())
		}
	}
}
