package cover

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/base/unixsocket"
)

func serve(t *testing.T, socket string, cover func(context.Context, Pod) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Serve(ctx, socket, cover, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestAsk(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "run", "policy.sock")
	pod := Pod{"default", "web", "123", []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")}}
	asked := make(chan error)
	go func() { asked <- Ask(t.Context(), socket, pod) }() // before there is a server
	var got Pod
	serve(t, socket, func(_ context.Context, p Pod) error {
		if p.Name == "refused" {
			return errors.New("not on this node")
		}
		got = p
		return nil
	})

	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pod, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}

	err := Ask(t.Context(), socket, Pod{Namespace: "default", Name: "refused"})
	if err == nil || !strings.Contains(err.Error(), "pod default/refused: not on this node") {
		t.Errorf("got %v", err)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info, err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := Ask(ctx, filepath.Join(t.TempDir(), "policy.sock"), Pod{Name: "web"}); err == nil {
		t.Error("a pod starts although nobody carries out its policies")
	}
}

// What is no request gets no answer, and does not keep others from theirs.
func TestHostile(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	socket := filepath.Join(t.TempDir(), "policy.sock")
	serve(t, socket, func(context.Context, Pod) error { return nil })
	if err := Ask(t.Context(), socket, Pod{Name: "web"}); err != nil {
		t.Fatal(err)
	}

	silent, err := unixsocket.Dialer(socket)(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}

	for name, text := range map[string]string{
		"no JSON": "hello\n", "a list": "[1]", "no address": `{"addresses":["everything"]}`,
		"endless": `{"name":"` + strings.Repeat("x", 2*largest),
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := unixsocket.Dialer(socket)(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()

			_, _ = conn.Write([]byte(text)) // the other side may have hung up
			var a answer
			if err := json.NewDecoder(conn).Decode(&a); err == nil {
				t.Errorf("the answer is %+v", a)
			} else if _, timeout := errors.AsType[net.Error](err); timeout && !errors.Is(err, io.EOF) {
				t.Logf("hung up: %v", err)
			}
		})
	}

	if err := Ask(t.Context(), socket, Pod{Name: "web"}); err != nil {
		t.Error(err)
	}
	if err := silent.Close(); err != nil {
		t.Error(err)
	}
}
