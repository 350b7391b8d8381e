package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// try runs a program and gives what it printed and its exit code.
func try(t *testing.T, dir, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	in, err := os.CreateTemp(t.TempDir(), "stdin")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := in.WriteString(stdin); err != nil {
		t.Fatal(err)
	}

	if _, err := in.Seek(0, 0); err != nil {
		t.Fatal(err)
	}

	var out, errOut bytes.Buffer
	code = run(ctx, &call{
		args:   args,
		dir:    dir,
		env:    []string{"PATH=/nowhere", "HOME=/"},
		stdin:  in,
		stdout: &out,
		stderr: &errOut,
	})

	return out.String(), errOut.String(), code
}

// TestCommandsOfTests runs command lines that are in Kubernetes' e2e tests, or of their form.
func TestCommandsOfTests(t *testing.T) {
	tests := []struct {
		name, script, want string
		code               int
	}{
		{"exit", "exit 42", "", 42},
		{"echo-n", "/bin/echo -n DONE; /bin/false", "DONE", 1},
		{"echo-true", "/bin/echo -n OK > log; /bin/echo DONE; /bin/true; cat log", "DONE\nOK", 0},
		{"health", "echo ok >health; cat health; rm -rf health; cat health 2>/dev/null || echo gone", "ok\ngone\n", 0},
		{
			"once", "if [ -f x ]; then echo again; else touch x; echo first; fi; if [ -f x ]; then echo again; fi",
			"first\nagain\n", 0,
		},
		{"loop", "for i in `seq 1 3`; do test -n \"$i\" && echo OK > r$i; done; ls", "r1\nr2\nr3\n", 0},
		{"variable", "TEST_VAR=wrong; echo \"${TEST_VAR}\"; echo $?", "wrong\n0\n", 0},
		{"arithmetic", "exit $(( 5 / 2 ))", "", 2},
		{"random", "exit $(( $RANDOM / 65536 ))", "", 0},
		{"test-d", "test -d missing; echo $?", "1\n", 0},
		{"double-brackets", "[[ \"${HOME:?}\" == / ]] && echo root", "root\n", 0},
		{"pipes", "printf 'b\\na\\nb\\n' | sort | uniq -c | head -n 1", "      1 a\n", 0},
		{"grep", "printf 'A=1\\nB=2\\nC=3\\n' | grep -E '(A|C)' | sort -r", "C=3\nA=1\n", 0},
		{"grep-none", "echo a | grep -q b", "", 1},
		{"stat-find", "mkdir -p v/w && touch v/w/f && chmod 640 v/w/f && stat -c='%a' $(find v -type f)", "=640\n", 0},
		{"mv", "echo x > index.html; mv -v index.html moved || true; cat moved", "'index.html' -> 'moved'\nx\n", 0},
		{"dd", "dd if=/dev/zero of=file bs=1k count=3 2>/dev/null; wc -c file", "3072 file\n", 0},
		{"cut-tr", "echo a:b:c | cut -d: -f2- | tr a-z A-Z", "B:C\n", 0},
		{"tail-from", "seq 5 | tail -n +4", "4\n5\n", 0},
		{"base64", "echo -n hello | base64 | base64 -d", "hello", 0},
		{"sha256", "echo -n x | sha256sum | cut -c1-8", "2d711642\n", 0},
		{"xargs", "seq 3 | xargs -n 2 echo n", "n 1 2\nn 3\n", 0},
		{"xargs-I", "seq 2 | xargs -I X echo 'file X'", "file 1\nfile 2\n", 0},
		{"background", "(sleep 0.01; echo late) & echo early; wait", "early\nlate\n", 0},
		{"timeout", "timeout 0.05 sleep 30; echo $?", "124\n", 0},
		{"not-found", "nonesuch 2>/dev/null; echo $?", "127\n", 0},
		{"cd", "mkdir -p a/b && cd a/b && echo hi > f && cd ../.. && cat a/b/f", "hi\n", 0},
		{"glob", "touch g1.txt g2.txt; echo *.txt", "g1.txt g2.txt\n", 0},
		{"arguments", `set -- a "b c"; echo $# "$2"`, "2 b c\n", 0},
		{"function-trap", "f() { echo in $1; }; trap 'echo bye' EXIT; f it", "in it\nbye\n", 0},
		{"here", "cat <<X\nhello $HOME\nX", "hello /\n", 0},
		{"awk", "for i in 1 2; do count=$(echo 'hello' >> f ; wc -l f | awk {'print $1'}); done; exit $count", "", 2},
		{
			"awk-F", "echo a:b | awk -F : -v x=1 '{ print x, $2 }' - && echo q > f && awk '{ print FNR $0 }' f",
			"1 b\n1q\n", 0,
		},
		{"awk-system", "awk 'BEGIN { system(\"echo x\") }' 2>/dev/null", "", 2},
		{"expr-odd", "if [ $(expr 3 % 2) -ne 0 ]; then exit 1; else exit 0; fi", "", 1},
		{"expr", "expr 2 + 3 '*' 4; expr '(' 2 + 3 ')' '*' 4; expr 10 '>' 9; expr abc : 'a(.)c'; expr abc : ab; expr '' '|' x", "14\n20\n1\nb\n2\nx\n", 0},
		{"expr-nothing", "expr 1 - 1", "0\n", 1},
		{
			"expr-bad", "expr 1 + 2>/dev/null; echo $?; expr 1 / 0 2>/dev/null; echo $?; expr a + 1 2>/dev/null", "2\n2\n",
			2,
		},
		{
			"hexdump", "printf 'hello, big world\\377' | hexdump -C",
			"00000000  68 65 6c 6c 6f 2c 20 62  69 67 20 77 6f 72 6c 64  |hello, big world|\n" +
				"00000010  ff                                                |.|\n00000011\n", 0,
		},
		{"unknown-option", "ls --color", "", 2},
		{"env", "X=1 env | grep ^X", "X=1\n", 0},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, stderr, code := try(t, t.TempDir(), "", "/bin/sh", "-c", tt.script)
			if got != tt.want || code != tt.code {
				t.Errorf("%s\ngot  %q, code %d (%s)\nwant %q, code %d", tt.script, got, code, stderr, tt.want, tt.code)
			}
		})
	}
}

func TestShellForms(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.sh"), []byte("echo file $1\nexit 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _, code := try(t, dir, "", "sh", "s.sh", "one"); got != "file one\n" || code != 3 {
		t.Errorf("script: %q, %d", got, code)
	}

	if got, _, code := try(t, dir, "echo from $HOME\nexit 4\necho not this", "sh"); got != "from /\n" || code != 4 {
		t.Errorf("standard input: %q, %d", got, code)
	}
	if got, _, _ := try(t, dir, "", `C:\bin\sh.exe`, "-c", "echo $1", "zero", "one"); got != "one\n" {
		t.Errorf("parameters: %q", got)
	}
	if _, stderr, code := try(t, dir, "", "sh", "-c", "if then"); code != 2 || stderr == "" {
		t.Errorf("syntax error: %q, %d", stderr, code)
	}

	if got, _, _ := try(t, dir, "", "busybox", "echo", "x"); got != "x\n" {
		t.Errorf("busybox echo: %q", got)
	}
	if _, stderr, code := try(t, dir, "", "perl"); code != 127 || !strings.Contains(stderr, "perl") {
		t.Errorf("a program that is not there: %q, %d", stderr, code)
	}
}

func TestWindowsPaths(t *testing.T) {
	for _, tt := range []struct{ dir, in, want string }{
		{`C:\`, "/tmp/x", `C:\tmp\x`},
		{`D:\work`, "/tmp/x", `D:\tmp\x`},
		{`C:\app`, "a/b", `C:\app\a\b`},
		{`C:\`, "a", `C:\a`},
		{`C:\app`, "/dev/null", "NUL"},
		{`C:\app`, "/dev/termination-log", `C:\dev\termination-log`},
		{`C:\app`, "c:/x/y", `c:\x\y`},
		{`C:\app`, `\\.\pipe\x`, `\\.\pipe\x`},
	} {
		if got := osPath(tt.dir, tt.in, "windows"); got != tt.want {
			t.Errorf("%s from %s: %s, want %s", tt.in, tt.dir, got, tt.want)
		}
	}
}

func TestHTTP(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/missing":
			http.NotFound(w, r)
		case "/moved":
			http.Redirect(w, r, "/hostname", http.StatusFound)
		case "/slow":
			<-r.Context().Done()
		default:
			fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, r.Header.Get("X-A"))
		}
	}))

	defer srv.Close()

	closed := httptest.NewServer(nil)
	closed.Close()
	tests := []struct {
		name   string
		args   []string
		want   string
		code   int
		stderr string
	}{
		{
			"hostname",
			[]string{"curl", "-q", "-s", "--connect-timeout", "30", srv.URL + "/hostname"},
			"GET /hostname ",
			0, "",
		},
		{"no-scheme", []string{"curl", "-g", "-s", strings.TrimPrefix(srv.URL, "http://") + "/x"}, "GET /x ", 0, ""},
		{
			"code",
			[]string{"curl", "-g", "-q", "-s", "-o", "/dev/null", "-w", "%{http_code}", srv.URL + "/missing"},
			"404", 0, "",
		},
		{"fail", []string{"curl.exe", "-4", srv.URL + "/missing", "--connect-timeout", "10", "--fail"}, "", 22, "404"},
		{"refused", []string{"curl", "-sS", "--connect-timeout", "5", closed.URL}, "", 7, "Failed to connect"},
		{"refused-silent", []string{"curl", "-s", "-w", "%{http_code}", closed.URL}, "000", 7, ""},
		{"no-host", []string{"curl", "http://nonesuch.invalid/"}, "", 6, "Could not resolve host"},
		{"timeout", []string{"curl", "-s", "--max-time", "0.2", srv.URL + "/slow"}, "", 28, ""},
		{"post-header", []string{"curl", "-XPOST", "-sk", "--header", "X-A: b", srv.URL + "/p"}, "POST /p b", 0, ""},
		{
			"no-redirect",
			[]string{"curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", srv.URL + "/moved"},
			"302", 0,
			"",
		},
		{"redirect", []string{"curl", "-sL", srv.URL + "/moved"}, "GET /hostname ", 0, ""},
		{"unknown-option", []string{"curl", "--frobnicate", srv.URL}, "", 2, "frobnicate"},
		{"wget", []string{"wget", "-q", "-O", "-", "-T", "5", srv.URL + "/w"}, "GET /w ", 0, ""},
		{"wget-post", []string{"wget", "-O-", "--post-data=x", srv.URL + "/write"}, "POST /write ", 0, ""},
		{"wget-missing", []string{"wget", "-qO-", srv.URL + "/missing"}, "", 1, "404"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, stderr, code := try(t, t.TempDir(), "", tt.args...)
			if got != tt.want || code != tt.code || !strings.Contains(stderr, tt.stderr) || (tt.stderr == "" &&
				stderr != "") {
				t.Errorf("got %q, code %d, %q; want %q, code %d, %q", got, code, stderr, tt.want, tt.code, tt.stderr)
			}
		})
	}
}

func TestNginx(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "html/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "html/index.html"), []byte("Welcome to nginx!"), 0o600); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "html/out")); err != nil {
		t.Fatal(err)
	}

	for path, want := range map[string]int{
		"/": 200, "/index.html": 200, "/sub": 404, "/sub/": 404, "/x": 404,
		"/../../etc/passwd": 404, "/out": 404,
	} {
		rec := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/", nil)
		req.URL.Path = path
		serveFile(rec, req, filepath.Join(dir, "html"))
		if rec.Code != want || (want == 200 && !strings.Contains(rec.Body.String(), "Welcome")) {
			t.Errorf("%s: %d %q, want %d", path, rec.Code, rec.Body, want)
		}
	}
}

func TestNetcat(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}

			// A shell writes words and the end of the line one after the other: answer until nothing more comes.
			buf := make([]byte, 64)
			for {
				n, err := conn.Read(buf)
				if err != nil {
					break
				}
				_, _ = conn.Write(bytes.ToUpper(buf[:n]))
				_ = conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			}

			_ = conn.Close()
		}
	}()

	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := try(t, "/", "", "nc", "-vz", host, port, "-w", "10"); code != 0 ||
		!strings.Contains(stderr, "succeeded") {
		t.Errorf("nc -vz: %d, %q", code, stderr)
	}

	if got, stderr, code := try(t, "/", "", "sh", "-x", "-c",
		"echo hostName | nc -v -t -w 2 "+host+" "+port); got != "HOSTNAME\n" || code != 0 {
		t.Errorf("a Service as the tests reach it: %q, %d, %q", got, code, stderr)
	}
	if got, _, code := try(t, "/", "hello", "nc", "-w", "5", host, port); got != "HELLO" || code != 0 {
		t.Errorf("nc: %q, %d", got, code)
	}

	_ = l.Close()
	if _, _, code := try(t, "/", "", "nc", "-vz", host, port, "-w", "10"); code != 1 {
		t.Errorf("nc to nobody: %d", code)
	}
}

// TestDNS asks a server that knows one name, by UDP and by TCP.
func TestDNS(t *testing.T) {
	server := dnsServer(t, "svc.ns.svc.cluster.local.", [4]byte{10, 96, 0, 7})
	at, port := "@"+server.Addr().String(), fmt.Sprint(server.Port())
	for name, tt := range map[string]struct {
		args []string
		want string
		code int
	}{
		"short": {[]string{"dig", at, "-p", port, "+short", "svc.ns.svc.cluster.local"}, "10.96.0.7\n", 0},
		"notcp": {[]string{
			"dig", at, "-p", port, "+notcp", "+noall", "+answer", "+search",
			"svc.ns.svc.cluster.local", "A",
		}, "svc.ns.svc.cluster.local.\t30\tIN\tA\t10.96.0.7\n", 0},
		"tcp": {
			[]string{"dig", at, "-p", port, "+tcp", "+short", "svc.ns.svc.cluster.local"},
			"10.96.0.7\n",
			0,
		},
		"none":        {[]string{"dig", at, "-p", port, "+short", "other."}, "", 0},
		"unknown":     {[]string{"dig", "+sparkle", "x"}, "", 2},
		"unreachable": {[]string{"dig", "@127.0.0.1", "-p", "1", "+time=1", "+short", "x."}, ";;", 9},
	} {
		t.Run(name, func(t *testing.T) {
			got, stderr, code := try(t, "/", "", tt.args...)
			if code != tt.code || (got != tt.want && (tt.want != ";;" || !strings.HasPrefix(got, ";;"))) {
				t.Errorf("got %q, code %d (%s), want %q, code %d", got, code, stderr, tt.want, tt.code)
			}
		})
	}

	res := resolver{servers: []netip.AddrPort{server}, search: []string{"other", "ns.svc.cluster.local"}}
	msg, _, err := res.ask(t.Context(), query{name: "svc", kind: dnsmessage.TypeA}, time.Second)
	if err != nil || len(msg.Answers) != 1 {
		t.Errorf("search: %v, %v", msg.Answers, err)
	}
}

func dnsServer(t *testing.T, known string, ip [4]byte) netip.AddrPort {
	t.Helper()
	pc, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", pc.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = pc.Close(); _ = l.Close() })
	answer := func(question []byte) []byte {
		var m dnsmessage.Message
		if m.Unpack(question) != nil {
			return nil
		}

		m.Response = true
		if m.Questions[0].Name.String() == known {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{
					Name:  m.Questions[0].Name,
					Type:  dnsmessage.TypeA,
					Class: dnsmessage.ClassINET,
					TTL:   30,
				},
				Body: &dnsmessage.AResource{A: ip},
			}}
		} else {
			m.RCode = dnsmessage.RCodeNameError
		}

		out, _ := m.Pack()
		return out
	}

	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = pc.WriteTo(answer(buf[:n]), from)
		}
	}()

	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			question, err := readMessage(conn, true)
			if err == nil {
				out := answer(question)
				_, _ = conn.Write(append([]byte{byte(len(out) >> 8), byte(len(out))}, out...))
			}

			_ = conn.Close()
		}
	}()

	return netip.MustParseAddrPort(pc.LocalAddr().String())
}

func TestGetent(t *testing.T) {
	text := "# comment\n10.0.0.1 a a.example\n\n10.0.0.2 b # c\n"
	if got := hostsLine(strings.NewReader(text), "A.example"); got != "10.0.0.1        a a.example" {
		t.Errorf("got %q", got)
	}
	if got := hostsLine(strings.NewReader(text), "c"); got != "" {
		t.Errorf("a comment is a name: %q", got)
	}
}

// TestRooted holds that the shell's own commands find a path from the root of the drive, whatever their folder is.
func TestRooted(t *testing.T) {
	for _, tt := range []struct{ in, want, goos string }{
		{"test -d /opt/0", `test -d C:\opt\0`, "windows"},
		{"[ ! -f /opt/0 ]", `[ ! -f C:\opt\0 ]`, "windows"},
		{"test /opt = /opt", "test /opt = /opt", "windows"},
		{"test -n /opt", "test -n /opt", "windows"},
		{"cd /opt", `cd C:\opt`, "windows"},
		{"cd opt", "cd opt", "windows"},
		{"echo -d /opt", "echo -d /opt", "windows"},
		{"test -d /opt/0", "test -d /opt/0", "linux"},
	} {
		if got := strings.Join(rooted(`C:\work`, strings.Fields(tt.in), tt.goos), " "); got != tt.want {
			t.Errorf("%s on %s: %s, want %s", tt.in, tt.goos, got, tt.want)
		}
	}
}
