package jobobject_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/windows/jobobject"
)

// TestInformation compares each structure with what winnt.h says of its size and of the places of its members.
func TestInformation(t *testing.T) {
	limits := jobobject.Limits{
		CPURate:   2500,
		CPUWeight: 7,
		Memory:    200 << 20,
		Affinity:  []jobobject.GroupAffinity{{Group: 0, Mask: 0b101}, {Group: 3, Mask: 1 << 63}},
	}

	usage := jobobject.Usage{
		User:       3 * time.Second,
		Kernel:     time.Second,
		PageFaults: 1<<32 + 5, // the member has 32 bits
		Processes:  4,
		Commit:     1 << 20,
		Reads:      jobobject.Transfers{Count: 10, Bytes: 100},
		Writes:     jobobject.Transfers{Count: 20, Bytes: 200},
	}

	weight := limits
	weight.CPURate = 0
	for name, tt := range map[string]struct {
		class  jobobject.Class
		limits jobobject.Limits
		size   int
		want   map[int]uint64 // the 64-bit numbers that are not zero, by offset
	}{
		"accounting": {jobobject.BasicAccounting, limits, 48, map[int]uint64{
			0: 3e7, 8: 1e7, 16: 3e7, 24: 1e7, 32: 5 | 4<<32, 40: 4,
		}},
		"accounting with transfers": {jobobject.BasicAndIOAccounting, limits, 96, map[int]uint64{
			0: 3e7, 8: 1e7, 16: 3e7, 24: 1e7, 32: 5 | 4<<32, 40: 4, 48: 10, 56: 20, 72: 100, 80: 200,
		}},
		"limits": {jobobject.BasicLimits, limits, 64, map[int]uint64{16: 0x200}},
		"extended limits": {jobobject.ExtendedLimits, limits, 144, map[int]uint64{
			16: 0x200, 64: 10, 72: 20, 88: 100, 96: 200, 120: 200 << 20, 136: 1 << 20,
		}},
		"no limits": {jobobject.ExtendedLimits, jobobject.Limits{}, 144, map[int]uint64{
			64: 10, 72: 20, 88: 100, 96: 200, 136: 1 << 20,
		}},
		"affinities": {jobobject.GroupAffinities, limits, 32, map[int]uint64{0: 0b101, 16: 1 << 63, 24: 3}},
		"rate":       {jobobject.CPURateControl, limits, 8, map[int]uint64{0: 0x5 | 2500<<32}},
		"weight":     {jobobject.CPURateControl, weight, 8, map[int]uint64{0: 0x3 | 7<<32}},
		"no rate":    {jobobject.CPURateControl, jobobject.Limits{}, 8, map[int]uint64{}},
		"memory":     {jobobject.MemoryUsage, limits, 16, map[int]uint64{0: 1 << 20, 8: 1 << 20}},
		"network":    {jobobject.NetRateControl, limits, 16, map[int]uint64{}},
		"storage":    {jobobject.IOAttribution, limits, 72, map[int]uint64{0: 1, 8: 10, 32: 100, 40: 20, 64: 200}},
	} {
		t.Run(name, func(t *testing.T) {
			b, ok := jobobject.Information(tt.class, tt.limits, usage)
			if !ok || len(b) != tt.size {
				t.Fatalf("%d bytes, %t, want %d", len(b), ok, tt.size)
			}

			got := map[int]uint64{}
			for at := 0; at < len(b); at += 8 {
				if v := binary.LittleEndian.Uint64(b[at:]); v != 0 {
					got[at] = v
				}
			}

			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}

	groups, ok := jobobject.Information(jobobject.Groups, limits, usage)
	if diff := cmp.Diff([]byte{0, 0, 3, 0}, groups); !ok || diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	for _, class := range []jobobject.Class{0, 3, 4, 16, 50, 1 << 31} {
		if b, ok := jobobject.Information(class, limits, usage); ok || b != nil {
			t.Errorf("class %d is answered with %d bytes", class, len(b))
		}
	}
}

// TestFile: the file has records that follow each other to its end, in no more than its reader reads.
func TestFile(t *testing.T) {
	var all jobobject.Limits
	for group := range uint16(64) { // as many as Windows has at most
		all.Affinity = append(all.Affinity, jobobject.GroupAffinity{Group: group, Mask: ^uint64(0)})
	}

	for _, limits := range []jobobject.Limits{{}, {Memory: 1, CPURate: 1}, all} {
		b := jobobject.File(limits)
		if len(b) > 4096 {
			t.Errorf("%d bytes", len(b))
		}

		seen := map[jobobject.Class]bool{}
		for len(b) > 0 {
			class, size := jobobject.Class(binary.LittleEndian.Uint32(b)), binary.LittleEndian.Uint32(b[4:])
			want, _ := jobobject.Information(class, limits, jobobject.Usage{})
			if diff := cmp.Diff(string(want), string(b[8:8+size])); diff != "" {
				t.Errorf("class %d (-want +got):\n%s", class, diff)
			}
			seen[class] = true
			b = b[8+size:]
		}

		if len(seen) != 6 {
			t.Errorf("the classes are %v", seen)
		}
	}
}
