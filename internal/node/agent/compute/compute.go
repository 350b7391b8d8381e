// Package compute answers the part of Windows' Host Compute Service that shows containers and what they use. Programs
// on the Windows host ask for it with functions of vmcompute.dll, as windows_exporter's collector container does.
//
// It owns the form of the answers (schema version 1:
// https://github.com/microsoft/hcsshim/blob/v0.12.9/internal/hcs/schema1/schema1.go). The figures are the CRI server's.
// Windows programs can make, change and end no container here.
package compute

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/jobobject"
)

// Functions of vmcompute.dll that are answered here.
const (
	Enumerate  = "HcsEnumerateComputeSystems"
	Properties = "HcsGetComputeSystemProperties"
	// QueryJob is none of vmcompute.dll's functions: guest/c/hooks asks it for what the job object of a container
	// answers.
	QueryJob = "HcsQueryJobObject"
)

// NotFound is the result for a container that is not there (winerror.h of the Windows SDK: HCS_E_SYSTEM_NOT_FOUND, as
// the facility of vmcompute.dll has it).
const NotFound wire.HRESULT = 0xc037010e

const (
	// owner is the program that makes containers for containerd on Windows; monitors tell by it whose they are.
	owner = "containerd-shim-runhcs-v1.exe"
	// The types of what runs. The containers in a virtual machine are those of its guest and not shown.
	container, virtualMachine = "Container", "VirtualMachine"
)

// Source knows the containers.
type Source interface {
	ComputeSystems() []cri.ComputeSystem
	ComputeUsage(ctx context.Context, id string) (engine.Usage, error)
	ComputeTraffic(ctx context.Context, id string) cri.NetworkStats
	JobObject(id string) (jobobject.Limits, error)
}

// query is what HcsEnumerateComputeSystems is asked with; what is empty does not matter.
type query struct {
	IDs    []string `json:"Ids"`
	Types  []string
	Names  []string
	Owners []string
}

type propertyQuery struct{ PropertyTypes []string }

// properties are those of a container.
type properties struct {
	ID            string `json:"Id"`
	State         string
	Name          string
	SystemType    string
	RuntimeOsType string
	Owner         string
	Statistics    *statistics   `json:",omitempty"`
	ProcessList   []processItem `json:",omitempty"`
}

// processItem is a process of a container. What is private of its working set is taken for what it has committed of it.
type processItem struct {
	CreateTimestamp              time.Time
	ImageName                    string
	KernelTime100ns              uint64
	UserTime100ns                uint64
	MemoryCommitBytes            uint64
	MemoryWorkingSetPrivateBytes uint64
	MemoryWorkingSetSharedBytes  uint64
	ProcessID                    uint32 `json:"ProcessId"`
}

type statistics struct {
	Timestamp          time.Time
	ContainerStartTime time.Time
	Uptime100ns        uint64
	Memory             memory
	Processor          processor
	Storage            storage
	// Network is that of a pod's sandbox. What programs have made has none of it.
	Network []networkInterface `json:",omitempty"`
}

// networkInterface counts bytes since the container was connected, and dropped packets.
type networkInterface struct {
	EndpointID             string `json:"EndpointId"`
	BytesReceived          uint64
	BytesSent              uint64
	DroppedPacketsIncoming uint64
	DroppedPacketsOutgoing uint64
}

type memory struct {
	MemoryUsageCommitBytes            uint64
	MemoryUsagePrivateWorkingSetBytes uint64
}

type processor struct {
	TotalRuntime100ns  uint64
	RuntimeUser100ns   uint64
	RuntimeKernel100ns uint64
}

type storage struct {
	ReadCountNormalized  uint64
	ReadSizeBytes        uint64
	WriteCountNormalized uint64
	WriteSizeBytes       uint64
}

// Call answers a function; text are its texts in their order.
func Call(ctx context.Context, source Source, function string, text []string) (hns.Reply, error) {
	var answer string
	var err error
	switch {
	case function == Enumerate && len(text) == 1:
		answer, err = enumerate(source, text[0])
	case function == Properties && len(text) == 2:
		answer, err = show(ctx, source, text[0], text[1])
	case function == QueryJob && len(text) == 2:
		return queryJob(ctx, source, text[0], text[1])
	default:
		err = wire.Errorf(wire.ENotImpl, "%s", function)
	}
	return hns.Reply{Text: answer}, err
}

// parse reads a document, which may be missing.
func parse(document string, into any) error {
	if document == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(document), into); err != nil {
		return wire.Errorf(wire.EInvalidArg, "read %q: %v", document, err)
	}
	return nil
}

func encode(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

func enumerate(source Source, document string) (string, error) {
	var q query
	if err := parse(document, &q); err != nil {
		return "", err
	}
	all := []properties{}
	for _, s := range source.ComputeSystems() {
		p := propertiesOf(s)
		if wanted(q.IDs, p.ID) && wanted(q.Types, p.SystemType) &&
			wanted(q.Names, p.Name) && wanted(q.Owners, p.Owner) {
			all = append(all, p)
		}
	}
	return encode(all)
}

func wanted(list []string, value string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(one string) bool { return strings.EqualFold(one, value) })
}

func propertiesOf(s cri.ComputeSystem) properties {
	kind := container
	if s.Machine {
		kind = virtualMachine
	}
	return properties{
		ID:            s.ID,
		State:         "Running",
		Name:          s.ID,
		SystemType:    kind,
		RuntimeOsType: "Windows",
		Owner:         owner,
	}
}

func show(ctx context.Context, source Source, id, document string) (string, error) {
	var q propertyQuery
	if err := parse(document, &q); err != nil {
		return "", err
	}
	all := source.ComputeSystems()
	at := slices.IndexFunc(all, func(s cri.ComputeSystem) bool { return s.ID == id })
	if at < 0 {
		return "", wire.Errorf(NotFound, "no container %q", id)
	}

	p := propertiesOf(all[at])
	for _, name := range q.PropertyTypes {
		if name != "Statistics" {
			return "", wire.Errorf(wire.ENotImpl, "property %q", name)
		}
		usage, err := source.ComputeUsage(ctx, id)
		if err != nil {
			return "", wire.Errorf(NotFound, "%v", err) // it has ended meanwhile
		}
		p.Statistics = statisticsOf(all[at], usage)
		p.Statistics.Network = networkOf(source.ComputeTraffic(ctx, id))
	}

	return encode(p)
}

func networkOf(n cri.NetworkStats) []networkInterface {
	var all []networkInterface
	for _, i := range n.Interfaces {
		all = append(all, networkInterface{
			EndpointID:             i.Endpoint,
			BytesReceived:          i.RxBytes,
			BytesSent:              i.TxBytes,
			DroppedPacketsIncoming: i.RxDropped,
			DroppedPacketsOutgoing: i.TxDropped,
		})
	}
	return all
}

func statisticsOf(s cri.ComputeSystem, u engine.Usage) *statistics {
	const tick = 100 * time.Nanosecond
	return &statistics{
		Timestamp:          u.At.UTC(),
		ContainerStartTime: s.Started.UTC(),
		Uptime100ns:        uint64(max(u.At.Sub(s.Started), 0) / tick),
		Memory:             memory{MemoryUsageCommitBytes: u.Commit, MemoryUsagePrivateWorkingSetBytes: u.WorkingSet},
		Processor: processor{
			TotalRuntime100ns:  uint64(u.CPU / tick),
			RuntimeUser100ns:   uint64(u.User / tick),
			RuntimeKernel100ns: uint64(u.Kernel / tick),
		},
		Storage: storage{
			ReadCountNormalized:  u.Reads.Count,
			ReadSizeBytes:        u.Reads.Bytes,
			WriteCountNormalized: u.Writes.Count,
			WriteSizeBytes:       u.Writes.Bytes,
		},
	}
}
