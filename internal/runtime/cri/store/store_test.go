package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestStoreSurvives(t *testing.T) {
	dir := t.TempDir()
	s, err := Open[Container](dir)
	if err != nil {
		t.Fatal(err)
	}

	want := Container{
		ID:        "abc",
		SandboxID: "p",
		CreatedAt: time.Unix(10, 5).UTC(),
		Program:   []string{"x"},
		Config: ContainerConfig{&runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "n"},
			Envs:     []*runtimeapi.KeyValue{{Key: "k", Value: []byte{0xff}}},
		}},
	}

	if err := s.Put("abc", want); err != nil {
		t.Fatal(err)
	}

	boom := errors.New("boom")
	if _, err := s.Update("abc", func(c Container) (Container, error) {
		c.ExitCode = 9
		return c,
			boom
	}); !errors.Is(err, boom) {
		t.Errorf("Update: %v", err)
	}

	// What a crash in the middle of writing leaves.
	if err := os.WriteFile(filepath.Join(dir, "def.json.new"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = Open[Container](dir); err != nil {
		t.Fatal(err)
	}

	got, err := s.Get("ab")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("container (-want +got):\n%s", diff)
	}

	for range 2 {
		if err := s.Delete("abc"); err != nil {
			t.Error(err)
		}
	}

	if _, err := s.Get("abc"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Get of what was deleted: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left: %v", entries)
	}
}

func TestOpenRefusesAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(`{"version":2,"object":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open[Sandbox](dir); err == nil || !strings.Contains(err.Error(), "version is 2") {
		t.Errorf("Open: %v", err)
	}
}

func TestStateIsDerived(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		c    Container
		want runtimeapi.ContainerState
	}{
		{Container{CreatedAt: now}, runtimeapi.ContainerState_CONTAINER_CREATED},
		{Container{CreatedAt: now, StartedAt: now}, runtimeapi.ContainerState_CONTAINER_RUNNING},
		{Container{
			CreatedAt:  now,
			StartedAt:  now,
			FinishedAt: now,
		}, runtimeapi.ContainerState_CONTAINER_EXITED},
	} {
		if got := tc.c.State(); got != tc.want {
			t.Errorf("state %v, want %v", got, tc.want)
		}
	}

	if got := (Sandbox{Ready: false}).State(); got != runtimeapi.PodSandboxState_SANDBOX_NOTREADY {
		t.Errorf("a half-made pod is %v", got)
	}
}

// TestHold: what cannot be written is known as long as the store is open, and written with the next change.
func TestHold(t *testing.T) {
	dir := t.TempDir()
	s, err := Open[Container](dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Hold("none", Container{ID: "none"})
	if all := s.List(nil); len(all) > 0 {
		t.Errorf("what is not there is added: %v", all)
	}

	if err := s.Put("abc", Container{ID: "abc"}); err != nil {
		t.Fatal(err)
	}
	s.Hold("abc", Container{ID: "abc", ExitCode: 7})
	if c, err := s.Get("abc"); err != nil || c.ExitCode != 7 {
		t.Errorf("%d, %v", c.ExitCode, err)
	}

	again, err := Open[Container](dir)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := again.Get("abc"); err != nil || c.ExitCode != 0 {
		t.Errorf("on disk: %d, %v", c.ExitCode, err)
	}
}
