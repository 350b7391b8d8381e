package spec_test

import (
	"testing"

	"mullion.dev/mullion/internal/spec"
)

func TestMemory(t *testing.T) {
	for in, want := range map[spec.Memory]int64{
		"": 0, "4Gi": 4 << 30, "1.5Gi": 3 << 29, "3072Mi": 3 << 30, "2Ti": 2 << 40, "4194304Ki": 4 << 30,
		"4294967296": 4 << 30, "4096000k": 4_096_000_000, "4G": 4_000_000_000 &^ 4095, "4000M": 4_000_000_000 &^ 4095,
		"1T": 1_000_000_000_000, "lots": 0, "5m": 0, "99999999999Ti": 0,
	} {
		if got := in.Bytes(); got != want {
			t.Errorf("%q: %d bytes, want %d", in, got, want)
		}
	}
}
