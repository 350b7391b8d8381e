package supervisor_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
)

// kept is a component that looks after something.
type kept struct {
	part
	missing []string
	cannot  error
	repairs atomic.Int64
}

func (k *kept) Repairs() int { return int(k.repairs.Load()) }

func (k *kept) Mend(context.Context) ([]string, error) {
	k.repairs.Add(int64(len(k.missing)))
	return k.missing, k.cannot
}

// A request to mend says what was missing, and what could not be mended; status counts it.
func TestMend(t *testing.T) {
	links := &kept{part: part{name: "links", stopped: make(chan struct{})}, missing: []string{"a link was gone"}}
	tables := &kept{
		part: part{name: "tables", stopped: make(chan struct{})}, missing: []string{"a table was gone"},
		cannot: errors.New("nft is not there"),
	}

	client, ended := runUnits(t, []component.Unit{
		{Component: links}, {Component: tables}, {Component: &part{name: "other", stopped: make(chan struct{})}},
	})
	await(t, client, supervisor.PhaseReady)
	what, err := client.Mend(t.Context())
	if diff := cmp.Diff([]string{"a link was gone", "a table was gone"}, what); diff != "" {
		t.Error(diff)
	}

	if err == nil || !strings.Contains(err.Error(), "nft is not there") {
		t.Errorf("the error is %v", err)
	}
	status, err := client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	for i, want := range []int{1, 1, 0} {
		if got := status.Units[i].Restarts; got != want {
			t.Errorf("%s was mended %d times, want %d", status.Units[i].ID, got, want)
		}
	}

	if err := client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A supervisor of an earlier version, which knows no such request, has nothing to say.
func TestMendOfAnEarlierVersion(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s.sock")
	l, err := unixsocket.Listen(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	earlier := &http.Server{Handler: http.NotFoundHandler()}
	defer earlier.Close()
	go func() { _ = earlier.Serve(l) }()
	if what, err := supervisor.NewClient(socket).Mend(t.Context()); what != nil || err != nil {
		t.Errorf("it mended %q, %v", what, err)
	}
}
