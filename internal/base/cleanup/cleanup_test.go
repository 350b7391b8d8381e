package cleanup_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/cleanup"
)

func TestStackCleansInReverseAndGoesOnAfterErrors(t *testing.T) {
	var stack cleanup.Stack
	var ran []string
	boom := errors.New("boom")
	for _, name := range []string{"first", "second", "third"} {
		stack.Add(func() error {
			ran = append(ran, name)
			if name == "second" {
				return boom
			}
			return nil
		})
	}

	if err := stack.Clean(); !errors.Is(err, boom) {
		t.Errorf("Clean() = %v, want %v", err, boom)
	}
	if diff := cmp.Diff([]string{"third", "second", "first"}, ran); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if err := stack.Clean(); err != nil || len(ran) != 3 {
		t.Errorf("a second Clean ran something: %v %v", err, ran)
	}
}

func TestStackReleaseForgets(t *testing.T) {
	var stack cleanup.Stack
	stack.Add(func() error { t.Error("ran after Release"); return nil })
	stack.Release()
	if err := stack.Clean(); err != nil {
		t.Error(err)
	}
}
