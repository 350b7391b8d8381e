package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestShares: the kernel refuses what is out of a version's range, and one busy thread has 1024 or 100.
func TestShares(t *testing.T) {
	for _, tt := range []struct{ share, cpu1, blkio1 int64 }{
		{1, 10, 10},
		{UsualShare, 1024, 100},
		{2000, 20480, 1000},
		{MostShare, 102400, 1000},
	} {
		if got := shares1(tt.share); got != tt.cpu1 {
			t.Errorf("share %d is %d of cpu.shares, want %d", tt.share, got, tt.cpu1)
		}
		if got := blkio1(tt.share); got != tt.blkio1 {
			t.Errorf("share %d is %d of blkio.weight, want %d", tt.share, got, tt.blkio1)
		}
	}
}

// TestSettingOfOneVersion: what cgroup v1 does not have makes no cgroup there either.
func TestSettingOfOneVersion(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "memory")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := setting{"memory", "", "memory.low", 0, 64 << 20}
	if err := s.in([]Hierarchy{{Dir: dir}}, "/m"); !errors.Is(err, ErrNoController) {
		t.Errorf("memory.low of cgroup v1: %v, want %v", err, ErrNoController)
	}
	if _, err := os.Stat(filepath.Join(dir, "m")); !os.IsNotExist(err) {
		t.Errorf("the cgroup was made all the same: %v", err)
	}
}
