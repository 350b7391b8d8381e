package view

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
)

// table returns a table of requests of each kind.
func table() []Request {
	row := func(path string, answer func(context.Context, Ask, io.Writer) error) Request {
		return Request{
			Path:   path,
			Within: 20 * time.Second,
			Most:   1 << 20,
			AtOnce: 4,
			Answer: answer,
		}
	}

	word := row("word/{word...}", func(_ context.Context, ask Ask, to io.Writer) error {
		_, err := io.WriteString(to, ask.Word("word")+"|"+ask.Option("more"))
		return err
	})

	word.Query = []string{"more"}
	once := row("once", func(ctx context.Context, _ Ask, to io.Writer) error {
		_, err := io.WriteString(to, "begun\n")
		<-ctx.Done()
		return err
	})

	once.AtOnce = 1
	quick := row("quick", func(ctx context.Context, _ Ask, _ io.Writer) error {
		<-ctx.Done()
		return ctx.Err()
	})
	quick.Within = 50 * time.Millisecond
	return []Request{
		word, once, quick,
		row("json", JSON(func(context.Context, Ask) ([]string, error) { return []string{"a", "b"}, nil })),
		row("gone", func(context.Context, Ask, io.Writer) error {
			return &KindError{Kind: NotFound, Err: errors.New("no such node")}
		}),
		row("half", func(_ context.Context, _ Ask, to io.Writer) error {
			_, err := io.WriteString(to, "half")
			return errors.Join(err, &KindError{Kind: Down, Err: errors.New(strings.Repeat("gone. ", 5000))})
		}),
		row("endless", func(_ context.Context, _ Ask, to io.Writer) error {
			piece := strings.Repeat("x", 32<<10)
			for {
				if _, err := io.WriteString(to, piece); err != nil {
					return err
				}
			}
		}),
	}
}

// serve serves the table until the test ends. Everybody may read for whom allow says so.
func serve(t *testing.T, ofAll, ofUser int, allow bool) string {
	t.Helper()
	dir := t.TempDir()
	socket, file := filepath.Join(dir, "view.sock"), filepath.Join(dir, "viewers.json")
	l, err := Listen(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}

	group := func() (uint32, bool) { return uint32(os.Getgid()), allow }
	if allow && os.Getuid() != 0 {
		if err := Note(file, []string{fmt.Sprintf("SUDO_UID=%d", os.Getuid())}); err != nil {
			t.Fatal(err)
		}
	}

	g := &gate{
		Listener: l,
		access:   access{file: file, group: group},
		log:      slog.New(slog.DiscardHandler),
		ofAll:    ofAll,
		ofUser:   ofUser,
		byUser:   map[uint32]int{},
	}

	if !allow {
		g.Listener = strangers{l}
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Config{
			Socket:   socket,
			Requests: table(),
			Log:      slog.New(slog.DiscardHandler),
		}.serve(ctx, g)
	}()

	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})

	return socket
}

// strangers is a listener whose connections the kernel knows nothing of: they are let in no more than strangers are.
type strangers struct{ net.Listener }

func (s strangers) Accept() (net.Conn, error) {
	conn, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return hidden{conn}, nil
}

type hidden struct{ net.Conn }

func refused(t *testing.T, err error, kind Kind, text string) {
	t.Helper()
	k, ok := errors.AsType[*KindError](err)
	if !ok || k.Kind != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %s: %s", err, kind, text)
	}
}

func TestAnswers(t *testing.T) {
	client := NewClient(serve(t, 8, 8, true))
	var got []string
	if err := client.Call(t.Context(), "json", nil, &got); err != nil || !cmp.Equal(got, []string{"a", "b"}) {
		t.Errorf("json: %q, %v", got, err)
	}
	body, err := client.Open(t.Context(), Path("word", "kubelet", "win 1%2f"), url.Values{"more": {"a&b"}})
	if err != nil {
		t.Fatal(err)
	}

	text, err := io.ReadAll(body)
	if err = errors.Join(err, body.Close()); err != nil || string(text) != "kubelet/win 1%2f|a&b" {
		t.Errorf("word: %q, %v", text, err)
	}

	for _, word := range []string{"../json", "a/b", "?more=x", "..", ".", "%2e%2e", "#x", "é"} {
		body, err := client.Open(t.Context(), Path("word", word), nil)
		if err != nil {
			refused(t, err, Wrong, "no request") // as a mux takes dots for folders, however they are written
			continue
		}
		if text, err := io.ReadAll(body); err != nil || string(text) != word+"|" {
			t.Errorf("of the word %q came %q, %v", word, text, err)
		}
		_ = body.Close()
	}

	refused(t, client.Call(t.Context(), "gone", nil, nil), NotFound, "no such node")
	refused(t, client.Call(t.Context(), "none", nil, nil), Wrong, `no request "/v1/none"`)
	refused(t, client.Call(t.Context(), "json", url.Values{"more": {"x"}}, nil), Wrong, `no option "more"`)
	refused(t, client.Call(t.Context(), "quick", nil, nil), Internal, "deadline")
}

// TestAnswerThatBreaks: an answer that ends before its end is not taken for a whole one.
func TestAnswerThatBreaks(t *testing.T) {
	client := NewClient(serve(t, 8, 8, true))
	for path, want := range map[string]struct {
		kind Kind
		text string
	}{
		"half":    {Down, "gone."},
		"endless": {Internal, "larger than it may be"},
	} {
		body, err := client.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, body)
		refused(t, err, want.kind, want.text)
		_ = body.Close()
	}
}

// TestLimitOfUser: a user who has as many requests under way as may be is told so, and has room again when one ends.
func TestLimitOfUser(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string][2]int{"of-user": {8, 2}, "of-all": {2, 8}} {
		t.Run(name, func(t *testing.T) {
			socket := serve(t, limit[0], limit[1], true)
			var open []net.Conn
			for range 2 { // they say nothing
				conn, err := net.Dial("unix", socket)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				open = append(open, conn)
			}

			client := NewClient(socket)
			refused(t, client.Call(t.Context(), "json", nil, nil), Busy, "requests")
			_ = open[0].Close()
			eventually(t, func() error {
				var got []string
				return client.Call(t.Context(), "json", nil, &got)
			})
		})
	}
}

// TestSlowRequest: who does not say what is asked for within seconds gives the place back.
func TestSlowRequest(t *testing.T) {
	t.Parallel()
	socket := serve(t, 1, 1, true)
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /v1/js"); err != nil {
		t.Fatal(err)
	}

	eventually(t, func() error {
		var got []string
		return NewClient(socket).Call(t.Context(), "json", nil, &got)
	})
}

// TestTurns: a request of which as many are answered as may be waits, and is told.
func TestTurns(t *testing.T) {
	t.Parallel()
	client := NewClient(serve(t, 8, 8, true))
	ctx, cancel := context.WithCancel(t.Context())
	body, err := client.Open(ctx, "once", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if line, err := bufio.NewReader(body).ReadString('\n'); err != nil || line != "begun\n" {
		t.Fatalf("%q, %v", line, err)
	}

	_, err = client.Open(t.Context(), "once", nil)
	refused(t, err, Busy, "1 requests of this kind")
	cancel() // the first goes away, and the next one's turn comes
	next, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	again, err := client.Open(next, "once", nil)
	if err != nil {
		t.Fatal(err)
	}

	_ = again.Close()
}

// raw sends bytes, and returns the status line of the answer, "" if the server just closes.
func raw(t *testing.T, socket, text string) string {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(15 * time.Second)); err != nil {
		t.Fatal(err)
	}

	_, _ = io.WriteString(conn, text) // the server may not take all
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		t.Errorf("%.40q: no answer in time", text)
	}
	if err != nil {
		return ""
	}
	_ = resp.Body.Close()
	return resp.Status
}

// TestHostileRequests: garbage, what is too large, what writes. The server answers, or closes, and goes on.
func TestHostileRequests(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	t.Parallel()
	socket := serve(t, 8, 8, true)
	for name, tt := range map[string]struct{ text, want string }{
		"garbage":      {"\x00\x01\x02 \xff\r\n\r\n", "400"},
		"endless-line": {"GET /v1/" + strings.Repeat("a", 1<<20), "431"},
		"many-headers": {"GET /v1/json HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: b\r\n", 1<<16) + "\r\n", "431"},
		"post":         {"POST /v1/json HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "400"},
		"put":          {"PUT /v1/json HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", "400"},
		"delete":       {"DELETE /v1/json HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
		"body":         {"GET /v1/json HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", "400"},
		"chunks":       {"GET /v1/json HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n", "400"},
		"dots":         {"GET /v1/word/../../../etc/shadow HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
		"query":        {"GET /v1/json?%zz HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
		"connect":      {"CONNECT 10.0.0.1:80 HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
		"upgrade":      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			started := time.Now()
			if got := raw(t, socket, tt.text); !strings.HasPrefix(got, tt.want) && got != "" {
				t.Errorf("answered %q, want %s", got, tt.want)
			}
			if took := time.Since(started); took > 8*time.Second {
				t.Errorf("it took %s", took)
			}

			var got []string
			if err := NewClient(socket).Call(t.Context(), "json", nil, &got); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// TestPipelined: a connection has one answer.
func TestPipelined(t *testing.T) {
	conn, err := net.Dial("unix", serve(t, 8, 8, true))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, strings.Repeat("GET /v1/json HTTP/1.1\r\nHost: x\r\n\r\n", 100))
	_ = conn.SetDeadline(time.Now().Add(15 * time.Second))
	text, _ := io.ReadAll(conn)
	if n := strings.Count(string(text), "200 OK"); n != 1 {
		t.Errorf("%d answers, want 1", n)
	}
}

// TestClientThatReadsNothing is dropped, and gives its place back.
func TestClientThatReadsNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes as long as a client may take nothing")
	}
	socket := serve(t, 1, 1, true)
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}

	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /v1/endless HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		var got []string
		return NewClient(socket).Call(t.Context(), "json", nil, &got)
	})
}

// TestUnknownPeer: whoever the kernel does not name is not let in.
func TestUnknownPeer(t *testing.T) {
	client := NewClient(serve(t, 8, 8, false))
	refused(t, client.Call(t.Context(), "json", nil, nil), Internal, "ask who connected")
}

// eventually waits until do returns nil.
func eventually(t *testing.T, do func() error) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		err := do()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatal(err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestMay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "viewers.json")
	if err := Note(file, []string{"A=b", "SUDO_UID=1000"}); err != nil {
		t.Fatal(err)
	}

	with := access{file: file, group: func() (uint32, bool) { return 500, true }}
	without := access{file: file, group: func() (uint32, bool) { return 0, false }}
	for name, tt := range map[string]struct {
		peer          peer
		with, without bool
	}{
		"root": {peer{uid: 0, gid: 0}, true, true},
		"sudo": {peer{uid: 1000, gid: 1000}, true, true},
		"stranger": {peer{
			uid:    1001,
			gid:    1001,
			groups: []uint32{27, 1001},
		}, false, false},
		"group": {peer{uid: 1001, gid: 500}, true, false},
		"supplementary": {peer{
			uid:    1001,
			gid:    1001,
			groups: []uint32{27, 500},
		}, true, false},
		"roots-group": {peer{
			uid:    1001,
			gid:    0,
			groups: []uint32{0},
		}, false, false},
		"unmapped": {peer{uid: unmapped, gid: unmapped}, false, false},
	} {
		if got := with.may(tt.peer); got != tt.with {
			t.Errorf("%s with the group: %t", name, got)
		}
		if got := without.may(tt.peer); got != tt.without {
			t.Errorf("%s without the group: %t", name, got)
		}
	}
}

func TestNote(t *testing.T) {
	file := filepath.Join(t.TempDir(), "viewers.json")
	for _, environ := range [][]string{
		nil,
		{"SUDO_UID=0"},
		{"SUDO_UID=x"},
		{"SUDO_UID=-1"},
		{"SUDO_UID=65534"},
		{"SUDO_UID=99999999999"},
		{"SUDO_UID="},
	} {
		if err := Note(file, environ); err != nil {
			t.Errorf("%q: %v", environ, err)
		}
	}

	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("somebody was noted: %v", err)
	}
	for _, uid := range []int{1000, 1001, 1000} {
		if err := Note(file, []string{"SUDO_UID=7", fmt.Sprintf("SUDO_UID=%d", uid)}); err != nil {
			t.Fatal(err)
		}
	}

	if diff := cmp.Diff([]uint32{1000, 1001}, noted(file)); diff != "" {
		t.Errorf("noted (-want +got):\n%s", diff)
	}
	for uid := range 100 {
		if err := Note(file, []string{fmt.Sprintf("SUDO_UID=%d", 2000+uid)}); err != nil {
			t.Fatal(err)
		}
	}

	if got := noted(file); len(got) != mostNoted || got[0] != 2100-mostNoted {
		t.Errorf("%d are noted, the first %d", len(got), got[0])
	}

	for _, text := range []string{"", "[]", `{"version":2,"uids":[1000]}`, `{"version":1,"uids":[-1]}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := noted(file); len(got) > 0 {
			t.Errorf("%q names %d", text, got)
		}
	}
}
