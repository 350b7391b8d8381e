package component_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/process/component"
)

// TestIDs holds that an ID's text is read back as the same ID, in JSON too, and that what is no ID is refused.
func TestIDs(t *testing.T) {
	for text, want := range map[string]component.ID{
		"kube-apiserver": component.Sole("kube-apiserver"),
		"kubelet/win-1":  component.OfNode("kubelet", "win-1"),
		"host/a b":       component.OfNode("host", "a b"),
	} {
		got, err := component.ParseID(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q is %#v, %v", text, got, err)
		}
	}

	for _, text := range []string{"", "/", "/win-1", "kubelet/", "a/b/c", "kubelet//win-1"} {
		if got, err := component.ParseID(text); !errors.Is(err, component.ErrNoUnit) || got != (component.ID{}) {
			t.Errorf("%q is %#v, %v", text, got, err)
		}
	}

	const text = `{"id":"kubelet/win-1","after":["etcd"],"states":{"host/win-1":"ready"}}`
	var read struct {
		ID     component.ID                     `json:"id"`
		After  []component.ID                   `json:"after"`
		States map[component.ID]component.State `json:"states"`
	}
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}

	written, err := json.Marshal(read)
	if diff := cmp.Diff(text, string(written)); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

// TestReasonOf finds an error's reason below others.
func TestReasonOf(t *testing.T) {
	halted := &component.ReasonError{Reason: component.Halted, Err: errors.New("it was stopped by hand")}
	for _, tt := range []struct {
		err  error
		want component.Reason
	}{
		{nil, ""},
		{errors.New("it was stopped by hand"), ""},
		{fmt.Errorf("probe it: %w", halted), component.Halted},
		{errors.Join(errors.New("not ready"), context.Canceled), component.Cancelled},
		{context.DeadlineExceeded, ""},
	} {
		if got := component.ReasonOf(tt.err); got != tt.want {
			t.Errorf("%v has the reason %q, want %q", tt.err, got, tt.want)
		}
	}

	if halted.Error() != "it was stopped by hand" {
		t.Errorf("its text is %q", halted)
	}
}
