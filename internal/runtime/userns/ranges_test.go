package userns

import "testing"

// No user is two containers': what Linux counts for one, or lets one do to the other's files and processes, it would
// for both.
func TestRanges(t *testing.T) {
	all := []Range{
		OnDisk(),
		Machines(),
		{Base: LinuxBuilds, Size: LinuxBuildUsers},
		{Base: PodsBase, Size: PodsEnd - PodsBase},
	}

	const systemd, images = 1879048191, 0x7ffe0000
	end := uint32(systemd + 1)
	for _, r := range all {
		if r.Size == 0 || r.Base < end || r.End() < r.Base {
			t.Errorf("%#x…%#x begins before %#x", r.Base, r.End(), end)
		}
		end = r.End()
	}

	if end > images {
		t.Errorf("the last range ends at %#x", end)
	}
	if Machines().Base%2 != 1 {
		t.Error("a program in a container may have the user of a virtual machine")
	}
}
