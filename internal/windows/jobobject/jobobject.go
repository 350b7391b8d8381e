// Package jobobject owns what the job object of a container answers: the information classes of
// QueryInformationJobObject, as their structures lie in memory on 64-bit Windows (winnt.h of the Windows SDK,
// https://learn.microsoft.com/windows/win32/api/jobapi2/nf-jobapi2-queryinformationjobobject; for MemoryUsage and
// IOAttribution https://github.com/microsoft/hcsshim/blob/v0.12.9/internal/winapi/jobobject.go).
//
// It owns neither the limits nor the figures: those are the runtime's.
package jobobject

import (
	"encoding/binary"
	"time"
)

// Class is an information class, with Windows' numbers.
type Class uint32

// The classes that are answered.
const (
	BasicAccounting      Class = 1
	BasicLimits          Class = 2
	BasicAndIOAccounting Class = 8
	ExtendedLimits       Class = 9
	Groups               Class = 11
	GroupAffinities      Class = 14
	CPURateControl       Class = 15
	MemoryUsage          Class = 28
	NetRateControl       Class = 32
	IOAttribution        Class = 42
)

// Flags of CPURateControl and of the limits.
const (
	rateEnable      = 0x1
	rateWeightBased = 0x2
	rateHardCap     = 0x4
	limitJobMemory  = 0x200
	ioEnable        = 0x1
)

// GroupAffinity are processors of one processor group.
type GroupAffinity struct {
	Group uint16
	Mask  uint64
}

// Limits are the limits of a job; 0 is none.
type Limits struct {
	// CPURate is a share of all processors in hundredths of a percent.
	CPURate uint32
	// CPUWeight is from 1 to 9; a rate goes before it.
	CPUWeight uint32
	// Memory is what all processes together may commit, in bytes.
	Memory uint64
	// Affinity are the processors that the processes may use, each group once.
	Affinity []GroupAffinity
}

// Transfers counts operations, and their bytes.
type Transfers struct{ Count, Bytes uint64 }

// Usage is what the processes of a job have used.
type Usage struct {
	User, Kernel time.Duration
	PageFaults   uint64
	Processes    uint64
	// Commit is in bytes. Its peak is not known: the figure of now stands for it.
	Commit uint64
	Reads  Transfers
	Writes Transfers
}

// NeedsUsage reports whether the answer to a class depends on what is used.
func (c Class) NeedsUsage() bool {
	switch c {
	case BasicAccounting, BasicAndIOAccounting, ExtendedLimits, MemoryUsage, IOAttribution:
		return true
	}
	return false
}

// Information returns the structure of a class; false: the class is not answered.
func Information(class Class, l Limits, u Usage) ([]byte, bool) {
	switch class {
	case BasicAccounting:
		return accounting(u), true
	case BasicAndIOAccounting:
		return append(accounting(u), ioCounters(u)...), true
	case BasicLimits:
		return limits(l), true
	case ExtendedLimits:
		// The peak of a single process is not known.
		return words(append(limits(l), ioCounters(u)...), 0, l.Memory, 0, u.Commit), true

	case Groups:
		var b []byte
		for _, a := range l.Affinity {
			b = binary.LittleEndian.AppendUint16(b, a.Group)
		}
		return b, true

	case GroupAffinities:
		var b []byte
		for _, a := range l.Affinity {
			b = words(b, a.Mask, uint64(a.Group))
		}
		return b, true

	case CPURateControl:
		return rate(l), true
	case MemoryUsage:
		return words(nil, u.Commit, u.Commit), true
	case NetRateControl: // no container has a limit
		return words(nil, 0, 0), true
	case IOAttribution: // the times in queues and devices are not known
		return words(nil, ioEnable, u.Reads.Count, 0, 0, u.Reads.Bytes, u.Writes.Count, 0, 0, u.Writes.Bytes), true
	}

	return nil, false
}

// words appends 64-bit numbers.
func words(b []byte, values ...uint64) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// pair returns a 64-bit number of two of 32 bits, as they lie in memory one behind the other.
func pair(first, second uint64) uint64 {
	return first&0xffffffff | second<<32
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION. How many processes have ended is not known: all that count as
// started are active.
func accounting(u Usage) []byte {
	user, kernel := ticks(u.User), ticks(u.Kernel)
	return words(nil, user, kernel, user, kernel, pair(u.PageFaults, u.Processes), pair(u.Processes, 0))
}

func ticks(d time.Duration) uint64 {
	return uint64(max(d, 0) / (100 * time.Nanosecond))
}

// ioCounters is IO_COUNTERS.
func ioCounters(u Usage) []byte {
	return words(nil, u.Reads.Count, u.Writes.Count, 0, u.Reads.Bytes, u.Writes.Bytes, 0)
}

// limits is JOBOBJECT_BASIC_LIMIT_INFORMATION. Affinities are in GroupAffinities, which knows of groups.
func limits(l Limits) []byte {
	var flags uint64
	if l.Memory > 0 {
		flags |= limitJobMemory
	}
	return words(nil, 0, 0, flags, 0, 0, 0, 0, 0)
}

// rate is JOBOBJECT_CPU_RATE_CONTROL_INFORMATION.
func rate(l Limits) []byte {
	switch {
	case l.CPURate > 0:
		return words(nil, pair(rateEnable|rateHardCap, uint64(l.CPURate)))
	case l.CPUWeight > 0:
		return words(nil, pair(rateEnable|rateWeightBased, uint64(l.CPUWeight)))
	default:
		return words(nil, 0)
	}
}

// File returns what a container's programs answer questions about their own job from: for each class that the limits
// decide its number, the size of its structure, and that (guest/c/hooks/job.c reads it).
func File(l Limits) []byte {
	var b []byte
	classes := []Class{BasicLimits, ExtendedLimits, Groups, GroupAffinities, CPURateControl, NetRateControl}
	for _, class := range classes {
		data, _ := Information(class, l, Usage{})
		b = binary.LittleEndian.AppendUint32(b, uint32(class))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
		b = append(b, data...)
	}
	return b
}
