package spec

import "fmt"

// mostProcessors is how many processors a node can show: those of one processor group of Windows.
const mostProcessors = 64

// Processors are those that a Windows node shows, so that the kubelet's CPU, memory and topology managers can be tried
// on a machine with few. Each stands for a processor of the machine, one after the other and then again from the first,
// and for a part of its time: all that a node shows are together all of the machine's.
type Processors struct {
	// Sockets are NUMA nodes too. All fields are 1 when left out.
	Sockets        int `yaml:"sockets,omitempty" json:"sockets,omitempty"`
	CoresPerSocket int `yaml:"coresPerSocket,omitempty" json:"coresPerSocket,omitempty"`
	ThreadsPerCore int `yaml:"threadsPerCore,omitempty" json:"threadsPerCore,omitempty"`
}

// Count returns the number of processors shown; 0: the machine's.
func (p Processors) Count() int {
	if p == (Processors{}) {
		return 0
	}
	return max(p.Sockets, 1) * max(p.CoresPerSocket, 1) * max(p.ThreadsPerCore, 1)
}

// File returns the file by which the host's programs know what the host shows (guest/c/hooks/topology.c reads it); ""
// if it shows the machine's processors.
func (p Processors) File() string {
	if p.Count() == 0 {
		return ""
	}
	return fmt.Sprintln(max(p.Sockets, 1), max(p.CoresPerSocket, 1), max(p.ThreadsPerCore, 1))
}

// valid names the fault of the fields, "" without one.
func (p Processors) valid() string {
	for _, n := range []int{p.Sockets, p.CoresPerSocket, p.ThreadsPerCore} {
		if n < 0 || n > mostProcessors {
			return fmt.Sprintf("%d is not from 1 to %d", n, mostProcessors)
		}
	}
	if n := p.Count(); n > mostProcessors {
		return fmt.Sprintf("%d processors are more than a processor group of Windows has, which is %d", n, mostProcessors)
	}
	return ""
}
