package hcs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// The documents are those of schema version 2
// (https://learn.microsoft.com/virtualization/api/hcs/schemareference); processes have the same in version 1. A field
// that is not here is refused, as Windows refuses what it does not know: what was asked for is carried out, or said not
// to be.

type system struct {
	Owner         string
	SchemaVersion struct{ Major, Minor int }
	Container     *container

	ShouldTerminateOnLastHandleClosed bool

	// Of machines and of processes in them.
	HostingSystemID string          `json:"HostingSystemId"`
	HostedSystem    json.RawMessage // a container in a virtual machine
	VirtualMachine  json.RawMessage
}

type container struct {
	GuestOs           struct{ HostName string }
	Storage           storage
	MappedDirectories []mappedDirectory
	Memory            struct{ SizeInMB uint64 }
	Processor         processor
	Networking        struct {
		AllowUnqualifiedDNSQuery   bool     `json:"AllowUnqualifiedDnsQuery"`
		DNSSearchList              string   `json:"DnsSearchList"`
		NetworkSharedContainerName string   // a compute system whose namespace it is in
		Namespace                  string   // of HNS
		NetworkAdapters            []string // endpoints of HNS, for a namespace of its own
	}
	RegistryChanges struct {
		AddValues  []registryValue
		DeleteKeys []json.RawMessage
	}

	MappedPipes               []mappedPipe
	AssignedDevices           []json.RawMessage
	HvSocket                  json.RawMessage
	ContainerCredentialGuard  json.RawMessage
	AdditionalDeviceNamespace json.RawMessage
	IsolationType             string
}

// processor are limits: a count of processors, or a share of all of them in hundredths of a percent, or a weight.
type processor struct{ Count, Maximum, Weight int64 }

type storage struct {
	Layers []layer
	// Path is the volume of the scratch, as GetLayerMountPath names it.
	Path string
	QoS  json.RawMessage
}

type layer struct {
	ID   string `json:"Id"`
	Path string
}

type mappedDirectory struct {
	HostPath, ContainerPath string
	HostPathType            string
	ReadOnly                bool
	SupportCloudFiles       bool
}

type registryValue struct {
	Key struct {
		Hive, Name string
		Volatile   bool
	}
	Name        string
	Type        string
	StringValue string
	BinaryValue string
	DWordValue  int32
	QWordValue  int64
	CustomType  int32
}

// processParameters are those of a process.
type processParameters struct {
	ApplicationName  string
	CommandLine      string
	CommandArgs      []string
	User             string
	WorkingDirectory string
	Environment      map[string]string
	EmulateConsole   bool
	ConsoleSize      []uint16 // height, width

	CreateStdInPipe, CreateStdOutPipe, CreateStdErrPipe bool

	RestrictedToken                bool
	UseExistingLogin               bool
	UseLegacyConsole               bool
	HideWindow, UsesAssignedAccess bool

	// Of Linux containers in virtual machines.
	CreateInUtilityVM bool `json:"CreateInUtilityVm"`
	OCISpecification  json.RawMessage
}

// processModification changes a running process.
type processModification struct {
	Operation   string
	ConsoleSize *struct{ Height, Width uint16 }
	CloseHandle *struct{ Handle string }
}

// signalOptions say which control event a process gets.
type signalOptions struct{ Signal string }

// query is what HcsEnumerateComputeSystems is asked with; what is empty does not matter.
type query struct {
	IDs    []string `json:"Ids"`
	Types  []string
	Names  []string
	Owners []string
}

// parse reads a document, all of it. One that is missing changes nothing.
func parse(text string, into any) error {
	if text == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return refuse(InvalidJSON, "read document: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return refuse(InvalidJSON, "read document: something follows its end")
	}
	return nil
}

// said reports whether a part of a document that is refused says something.
func said(part json.RawMessage) bool {
	text := bytes.TrimSpace(part)
	return len(text) > 0 && !bytes.Equal(text, []byte("null")) && !bytes.Equal(text, []byte("{}"))
}

// parseSystem reads the document of a compute system, and refuses what is not carried out.
func parseSystem(text string) (system, error) {
	var s system
	if text == "" {
		return s, refuse(InvalidJSON, "a compute system has no document")
	}
	if isVersionOne(text) {
		return parseContainerConfig(text)
	}

	if err := parse(text, &s); err != nil {
		return s, err
	}

	switch c := s.Container; {
	case said(s.VirtualMachine), said(s.HostedSystem), s.HostingSystemID != "":
		return s, refuse(NoHypervisor, "virtual machines are not made by this service")
	case c == nil:
		return s, refuse(InvalidJSON, "the document has no Container")
	case s.SchemaVersion.Major != 2:
		return s, refuse(InvalidJSON, "schema version %d is not 2", s.SchemaVersion.Major)
	}

	return s, s.Container.check()
}

// check refuses what a container asks for and would not get.
func (c *container) check() error {
	refused := []struct {
		name string
		asks bool
	}{
		{"AssignedDevices", len(c.AssignedDevices) > 0},
		{"AdditionalDeviceNamespace", said(c.AdditionalDeviceNamespace)},
		{"ContainerCredentialGuard", said(c.ContainerCredentialGuard)},
		{"HvSocket", said(c.HvSocket)},
		{"Storage.QoS", said(c.Storage.QoS)},
		{"RegistryChanges.DeleteKeys", len(c.RegistryChanges.DeleteKeys) > 0},
		{"IsolationType " + c.IsolationType, c.IsolationType != ""},
	}

	for _, r := range refused {
		if r.asks {
			return refuse(NotSupported, "%s is not supported", r.name)
		}
	}

	for _, v := range c.RegistryChanges.AddValues {
		if !v.isKept() {
			return refuse(NotSupported, "the registry value %q of %s is not supported", v.Name, v.Key.Name)
		}
	}

	return c.checkValues()
}

// checkValues refuses what no container can have.
func (c *container) checkValues() error {
	for _, m := range c.MappedDirectories {
		if m.HostPath == "" || m.ContainerPath == "" || m.SupportCloudFiles || m.HostPathType != "" {
			return refuse(InvalidJSON, "mapped directory %q at %q is not supported", m.HostPath, m.ContainerPath)
		}
	}
	if err := c.checkPipes(); err != nil {
		return err
	}

	const most = 1 << 40 // MB: more is no number of bytes
	if c.Memory.SizeInMB > most || c.Processor.Count < 0 || c.Processor.Maximum < 0 || c.Processor.Weight < 0 {
		return refuse(InvalidJSON, "the limits are out of range")
	}
	if len(c.Storage.Layers) == 0 || c.Storage.Path == "" {
		return refuse(InvalidJSON, "the container has no layers or no scratch")
	}
	return nil
}

// isKept reports whether a value is so without being set: the service waits as long as who stops the container, and
// hcsshim sets this value, which lets Windows do the same, for each container.
func (v registryValue) isKept() bool {
	return strings.EqualFold(v.Key.Hive, "System") && strings.EqualFold(v.Name, "WaitToKillServiceTimeout") &&
		strings.EqualFold(v.Key.Name, `ControlSet001\Control`)
}

// parseProcess reads the parameters of a process.
func parseProcess(text string) (processParameters, error) {
	var p processParameters
	if err := parse(text, &p); err != nil {
		return p, err
	}

	switch {
	case p.CommandLine == "" || strings.ContainsRune(p.CommandLine, 0):
		return p, refuse(InvalidArg, "the process has no command line")
	case p.ApplicationName != "" || len(p.CommandArgs) > 0:
		return p, refuse(NotSupported, "ApplicationName and CommandArgs are not supported")
	case p.CreateInUtilityVM || said(p.OCISpecification):
		return p, refuse(NotSupported, "processes in virtual machines are not supported")
	case p.RestrictedToken || p.UsesAssignedAccess:
		return p, refuse(NotSupported, "restricted tokens are not supported")
	case len(p.ConsoleSize) != 0 && len(p.ConsoleSize) != 2:
		return p, refuse(InvalidJSON, "ConsoleSize has %d numbers", len(p.ConsoleSize))
	}

	return p, checkEnvironment(p.Environment)
}

// checkEnvironment refuses what an environment cannot have.
func checkEnvironment(variables map[string]string) error {
	for name, value := range variables {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return refuse(InvalidArg, "%q is no variable", name)
		}
	}
	return nil
}

// folderOf returns the folder of C: that a working directory names: also without a drive and with slashes.
func folderOf(dir string) string {
	dir = strings.ReplaceAll(dir, "/", `\`)
	switch {
	case dir == "":
		return `C:\`
	case strings.HasPrefix(dir, `\`):
		return "C:" + dir
	}
	return dir
}
