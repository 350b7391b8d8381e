package spec_test

import (
	"testing"

	"mullion.dev/mullion/internal/spec"
)

func TestProcessors(t *testing.T) {
	for _, tt := range []struct {
		processors spec.Processors
		count      int
		file       string
	}{
		{spec.Processors{}, 0, ""},
		{spec.Processors{CoresPerSocket: 8}, 8, "1 8 1\n"},
		{spec.Processors{
			Sockets:        2,
			CoresPerSocket: 4,
			ThreadsPerCore: 2,
		}, 16, "2 4 2\n"},
		{spec.Processors{Sockets: 1}, 1, "1 1 1\n"},
	} {
		if count, file := tt.processors.Count(), tt.processors.File(); count != tt.count || file != tt.file {
			t.Errorf("%+v: %d, %q, want %d, %q", tt.processors, count, file, tt.count, tt.file)
		}
	}
}
