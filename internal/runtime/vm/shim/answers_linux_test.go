package shim

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/ttrpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"mullion.dev/mullion/internal/runtime/vm/link"
	"mullion.dev/mullion/internal/runtime/vm/qemu"
)

// hostile is the task API of a guest that has been taken over.
type hostile struct {
	taskapi.TTRPCTaskService

	err   error
	bytes int // how large answers are
}

// filled returns a field that nobody knows, of so many bytes in all.
func filled(bytes int) []byte {
	const head = 6 // number and length
	return protowire.AppendBytes(protowire.AppendTag(nil, 1000, protowire.BytesType), make([]byte, bytes-head))
}

func (h hostile) Pause(context.Context, *taskapi.PauseRequest) (*emptypb.Empty, error) {
	answer := &emptypb.Empty{}
	answer.ProtoReflect().SetUnknown(filled(h.bytes))
	return answer, h.err
}

func (h hostile) Stats(context.Context, *taskapi.StatsRequest) (*taskapi.StatsResponse, error) {
	return &taskapi.StatsResponse{Stats: &anypb.Any{Value: make([]byte, h.bytes)}}, h.err
}

// TestAnswers: whatever a guest answers, the shim's connection to containerd stays. Without it containerd takes the
// shim for dead, and forgets a machine that runs.
func TestAnswers(t *testing.T) {
	const largest = 4<<20 - 10 // with the shim's own words it is no message any more
	for name, guest := range map[string]hostile{
		"an error cut in a letter": {err: errors.New("x" + strings.Repeat("ü", 1<<12)), bytes: 100},
		"large answers":            {bytes: largest},
	} {
		t.Run(name, func(t *testing.T) {
			m := &machine{
				id:    "machine",
				tasks: guest,
				qemu:  &qemu.Machine{Ended: make(chan struct{})},
			}

			ours, _ := net.Pipe()
			var err error
			if m.host, err = link.NewHost(ours); err != nil {
				t.Fatal(err)
			}
			defer m.host.Close()

			s := &service{machine: m, containers: map[string]*container{"c": {}}}
			tasks := served(t, s)
			for range 2 {
				_, pauseErr := tasks.Pause(t.Context(), &taskapi.PauseRequest{ID: "c"})
				_, statsErr := tasks.Stats(t.Context(), &taskapi.StatsRequest{ID: "c"})
				if errors.Is(pauseErr, ttrpc.ErrClosed) || errors.Is(statsErr, ttrpc.ErrClosed) {
					t.Fatalf("the connection to containerd is lost: %v, %v", pauseErr, statsErr)
				}
				if guest.err == nil && (pauseErr != nil || !errdefs.IsFailedPrecondition(errgrpc.ToNative(statsErr))) {
					t.Errorf("%v, %v", pauseErr, statsErr)
				}
			}
		})
	}
}

// served returns a client of the service, as containerd is.
func served(t *testing.T, s *service) taskapi.TTRPCTaskService {
	t.Helper()
	server, err := ttrpc.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RegisterTTRPC(server); err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}

	go func() { _ = server.Serve(t.Context(), l) }()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	client := ttrpc.NewClient(conn)
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return taskapi.NewTTRPCTaskClient(client)
}

// TestBoundedText: a text of the guest is one line of UTF-8, wherever it is cut.
func TestBoundedText(t *testing.T) {
	for i := range 4 {
		got := link.Bounded(strings.Repeat("x", i) + strings.Repeat("漢\n\x1b", 1<<12))
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\x1b") {
			t.Errorf("%d letters before: …%q", i, got[max(0, len(got)-9):])
		}
	}
}
