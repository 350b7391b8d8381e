package winproc

import "time"

// Detail is what Windows counts of a process: sizes in bytes, times as the processors have spent them on it.
type Detail struct {
	Path    string // of its program
	Session uint32
	Start   time.Time
	Handles uint32

	User, Kernel time.Duration

	WorkingSet, PeakWorkingSet uint64
	Virtual, PeakVirtual       uint64
	Paged, PeakPaged           uint64 // what may be in the page file
	PagedPool, Nonpaged        uint64 // of the kernel's pools
}
