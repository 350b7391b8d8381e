package cri

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/windows/jobobject"
)

// jobFileName is the file in a container's working folder that says what its own job object answers.
const jobFileName = "job"

// writeJob tells a container's programs their limits. The folder is the container's: what it has put in the file's
// place is replaced.
func (s *Server) writeJob(c store.Container, r *runtimeapi.WindowsContainerResources) error {
	file := filepath.Join(s.runDir(c), jobFileName)
	if err := atomicfile.Write(file, jobobject.File(s.jobLimits(r)), 0o644); err != nil {
		return fmt.Errorf("write what the job object answers: %w", err)
	}
	return nil
}

// Rates of a job are in hundredths of a percent of all processors; its weights are from 1 to 9, CRI's shares up to
// 10000.
const (
	wholeRate  = 10_000
	mostShares = 10_000
	mostWeight = 9
)

// jobLimits returns the limits of a container as its job object has them on Windows, where a count of processors is a
// rate too (https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/resource-controls).
func (s *Server) jobLimits(r *runtimeapi.WindowsContainerResources) jobobject.Limits {
	l := jobobject.Limits{Memory: uint64(max(r.GetMemoryLimitInBytes(), 0))}
	switch {
	case r.GetCpuCount() > 0:
		l.CPURate = s.rateOf(r.GetCpuCount())
	case r.GetCpuMaximum() > 0:
		l.CPURate = uint32(min(r.GetCpuMaximum(), wholeRate))
	case r.GetCpuShares() > 0:
		l.CPUWeight = uint32(1 + min(r.GetCpuShares(), mostShares)*(mostWeight-1)/mostShares)
	}

	l.Affinity = affinityOf(r.GetAffinityCpus())
	if len(l.Affinity) == 0 {
		l.Affinity = allProcessors(s.processors())
	}
	return l
}

// processors returns how many the host shows.
func (s *Server) processors() int {
	if s.cfg.Processors > 0 {
		return s.cfg.Processors
	}
	return runtime.NumCPU()
}

// rateOf returns what a count of processors is of all.
func (s *Server) rateOf(count int64) uint32 {
	all := int64(s.processors())
	return uint32(min(count, all) * wholeRate / all)
}

// affinityOf has each group of masks once, in order.
func affinityOf(groups []*runtimeapi.WindowsCpuGroupAffinity) []jobobject.GroupAffinity {
	var numbers []uint32
	for _, g := range groups {
		if g.GetCpuMask() != 0 {
			numbers = append(numbers, g.GetCpuGroup())
		}
	}
	slices.Sort(numbers)
	var out []jobobject.GroupAffinity
	for _, n := range slices.Compact(numbers) {
		out = append(out, jobobject.GroupAffinity{Group: uint16(n), Mask: groupMask(groups, n)})
	}
	return out
}

// allProcessors returns the processors of a machine with so many.
func allProcessors(count int) []jobobject.GroupAffinity {
	var out []jobobject.GroupAffinity
	for group := uint16(0); count > 0; group, count = group+1, count-groupSize {
		mask := ^uint64(0) >> (groupSize - min(count, groupSize))
		out = append(out, jobobject.GroupAffinity{Group: group, Mask: mask})
	}
	return out
}
