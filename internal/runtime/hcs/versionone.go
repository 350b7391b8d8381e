package hcs

import (
	"encoding/json"
	"strings"
)

// containerConfig is the document of a compute system in schema version 1, as Docker has it
// (https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.4/internal/hcs/schema1/schema1.go).
type containerConfig struct {
	SystemType string
	Name       string
	Owner      string

	// VolumePath is the volume of the scratch without the last backslash, LayerFolderPath the scratch's folder.
	VolumePath      string
	LayerFolderPath string
	Layers          []struct {
		ID   string
		Path string
	}

	HostName          string
	MappedDirectories []struct {
		HostPath, ContainerPath string
		ReadOnly                bool
		LinuxMetadata           bool
		CreateInUtilityVM       bool

		BandwidthMaximum, IOPSMaximum uint64
	}
	MappedPipes        []mappedPipe
	MappedVirtualDisks []json.RawMessage
	AssignedDevices    []json.RawMessage
	Credentials        string

	ProcessorCount    uint32
	ProcessorWeight   uint64
	ProcessorMaximum  int64
	MemoryMaximumInMB int64

	StorageIOPSMaximum, StorageBandwidthMaximum, StorageSandboxSize uint64

	EndpointList               []string
	NetworkSharedContainerName string
	AllowUnqualifiedDNSQuery   bool
	DNSSearchList              string

	TerminateOnLastHandleClosed bool
	// IgnoreFlushesDuringBoot lets Windows lose what a container has written if the machine fails while it begins.
	IgnoreFlushesDuringBoot bool
	Servicing               bool

	// Of virtual machines.
	HvPartition   bool
	HvRuntime     json.RawMessage
	ContainerType string
}

// isVersionOne reports whether a document is one of schema version 1, which says no version.
func isVersionOne(text string) bool {
	var d struct{ SchemaVersion, Container, VirtualMachine, SystemType json.RawMessage }
	if json.Unmarshal([]byte(text), &d) != nil {
		return false
	}
	return d.SystemType != nil && d.SchemaVersion == nil && d.Container == nil && d.VirtualMachine == nil
}

// parseContainerConfig reads a document of version 1 as one of version 2, and refuses what is not carried out.
func parseContainerConfig(text string) (system, error) {
	var d containerConfig
	if err := parse(text, &d); err != nil {
		return system{}, err
	}
	if err := d.check(); err != nil {
		return system{}, err
	}

	c := &container{
		Storage: storage{Path: d.VolumePath},
		Processor: processor{
			Count:   int64(d.ProcessorCount),
			Weight:  int64(d.ProcessorWeight),
			Maximum: d.ProcessorMaximum,
		},
	}

	c.GuestOs.HostName = d.HostName
	c.Memory.SizeInMB = uint64(d.MemoryMaximumInMB)
	c.Networking.NetworkAdapters = d.EndpointList
	c.Networking.NetworkSharedContainerName = d.NetworkSharedContainerName
	c.Networking.AllowUnqualifiedDNSQuery = d.AllowUnqualifiedDNSQuery
	c.Networking.DNSSearchList = d.DNSSearchList
	c.MappedPipes, c.AssignedDevices = d.MappedPipes, d.AssignedDevices
	for _, l := range d.Layers {
		c.Storage.Layers = append(c.Storage.Layers, layer(l))
	}

	for _, m := range d.MappedDirectories {
		c.MappedDirectories = append(c.MappedDirectories, mappedDirectory{
			HostPath:      m.HostPath,
			ContainerPath: m.ContainerPath,
			ReadOnly:      m.ReadOnly,
		})
	}

	s := system{
		Owner:                             d.Owner,
		Container:                         c,
		ShouldTerminateOnLastHandleClosed: d.TerminateOnLastHandleClosed,
	}
	s.SchemaVersion.Major = 1
	return s, c.check()
}

// check refuses what a document of version 1 has, and one of version 2 has not.
func (d *containerConfig) check() error {
	switch {
	case d.HvPartition, said(d.HvRuntime), d.ContainerType != "", strings.EqualFold(d.SystemType, "VirtualMachine"):
		return refuse(NoHypervisor, "virtual machines are not made by this service")
	case !strings.EqualFold(d.SystemType, "Container"):
		return refuse(InvalidJSON, "there is no SystemType %q", d.SystemType)
	case d.MemoryMaximumInMB < 0, d.ProcessorWeight > mostShares:
		return refuse(InvalidJSON, "the limits are out of range")
	}

	refused := []struct {
		name string
		asks bool
	}{
		{"Credentials", d.Credentials != ""},
		{"Servicing", d.Servicing},
		{"MappedVirtualDisks", len(d.MappedVirtualDisks) > 0},
		{"StorageIOPSMaximum", d.StorageIOPSMaximum > 0},
		{"StorageBandwidthMaximum", d.StorageBandwidthMaximum > 0},
		{"StorageSandboxSize", d.StorageSandboxSize > 0},
	}

	for _, m := range d.MappedDirectories {
		limited := m.BandwidthMaximum > 0 || m.IOPSMaximum > 0
		refused = append(refused, struct {
			name string
			asks bool
		}{"a mapped directory with limits or of a virtual machine", limited || m.LinuxMetadata || m.CreateInUtilityVM})
	}

	for _, r := range refused {
		if r.asks {
			return refuse(NotSupported, "%s is not supported", r.name)
		}
	}

	return nil
}

// mostShares is the greatest weight.
const mostShares = 10_000
