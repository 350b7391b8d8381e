package hcs

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// versionOne returns the document that Docker has of a container, with changes.
func (h *host) versionOne(t *testing.T, changes map[string]any) string {
	t.Helper()
	doc := map[string]any{
		"SystemType":              "Container",
		"Name":                    "c1",
		"Owner":                   "docker",
		"VolumePath":              strings.TrimSuffix(h.volume, `\`),
		"IgnoreFlushesDuringBoot": true,
		"LayerFolderPath":         scratchPath,
		"Layers":                  []any{map[string]string{"ID": "x", "Path": baseLayer}},
		"HostName":                "box",
		"MappedDirectories": []any{map[string]any{
			"HostPath": "layers", "ContainerPath": `C:\data`, "ReadOnly": true, "BandwidthMaximum": 0, "IOPSMaximum": 0,
			"CreateInUtilityVM": false,
		}},
		"HvPartition":       false,
		"EndpointList":      []string{"e1", "e2"},
		"DNSSearchList":     "a.test,b.test",
		"ProcessorCount":    2,
		"MemoryMaximumInMB": 64,
	}

	maps.Copy(doc, changes)
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestVersionOne leads a compute system of a document of version 1 through its life, with a network of its own.
func TestVersionOne(t *testing.T) {
	h := newHost(t)
	known := h.config.Networks.(networks)
	system := h.ok(t, "HcsCreateComputeSystem", "c1", h.versionOne(t, nil))
	own := h.systems["c1"].ownNamespace()
	if diff := cmp.Diff([]string{"e1", "e2"}, known[own]); diff != "" {
		t.Errorf("endpoints of the compute system (-want +got):\n%s", diff)
	}

	h.ok(t, "HcsStartComputeSystem", "c1")
	const process = `{"CommandLine":"x.exe","ConsoleSize":[0,0],"EmulateConsole":true,"CreateStdInPipe":true,` +
		`"CreateStdOutPipe":true,"User":"ContainerUser"}`
	first := h.ok(t, "HcsCreateProcess", "c1", process)
	spec := h.engine.Created[0]
	if spec.Hostname != "box" || spec.NetNS != "/ns" || spec.Resources.MemoryLimit != 64<<20 || spec.Resources.CPUCount != 2 {
		t.Errorf("the container is %+v", spec)
	}

	if len(spec.Mounts) != 1 || spec.Mounts[0].Target != `C:\data` || !spec.Mounts[0].ReadOnly {
		t.Errorf("the container's mounts are %+v", spec.Mounts)
	}

	// An endpoint comes and goes.
	h.ok(t, "HcsModifyComputeSystem", "c1", `{"ResourceType":"Network","RequestType":"Add","Settings":"e3"}`)
	h.ok(t, "HcsModifyComputeSystem", "c1", `{"ResourceType":"Network","RequestType":"Remove","Settings":"e1"}`)
	if diff := cmp.Diff([]string{"e2", "e3"}, known[own]); diff != "" {
		t.Errorf("endpoints of the compute system (-want +got):\n%s", diff)
	}

	h.refused(t, NoElement, "HcsModifyComputeSystem", "c1", `{"ResourceType":"Network","RequestType":"Add","Settings":"unknown"}`)
	h.refused(t, InvalidJSON, "HcsModifyComputeSystem", "c1", `{"ResourceType":"Network","RequestType":"Add","Settings":{}}`)
	h.refused(t, NotSupported, "HcsModifyComputeSystem", "c1", `{"ResourceType":"Network","RequestType":"Shut","Settings":"e1"}`)
	h.refused(t, NotSupported, "HcsModifyComputeSystem", "c1", `{"ResourceType":"Memory","Settings":7}`)

	// The next service knows the network.
	h.stop()
	h.begin(t)
	system = h.ok(t, "HcsOpenComputeSystem", "c1")
	h.ok(t, "HcsTerminateProcess", "c1", strconv.Itoa(int(first.Process.PID)))
	h.ok(t, "HcsTerminateComputeSystem", "c1")
	event(t, system.Events)
	if _, left := known[own]; left {
		t.Error("the network is left of the compute system")
	}
}

// TestSharedNetwork: a compute system is in the network of another one, and does not end it.
func TestSharedNetwork(t *testing.T) {
	h := newHost(t)
	known := h.config.Networks.(networks)
	h.ok(t, "HcsCreateComputeSystem", "c1", h.versionOne(t, nil))
	const second = `C:\layers\second`
	for _, function := range []string{"CreateSandboxLayer", "ActivateLayer"} {
		h.ok(t, function, second)
	}

	h.ok(t, "PrepareLayer", second, baseLayer+"\n")
	shared := map[string]any{
		"VolumePath":                 h.ok(t, "GetLayerMountPath", second).Text,
		"LayerFolderPath":            second,
		"EndpointList":               nil,
		"NetworkSharedContainerName": "absent",
	}
	h.refused(t, NotFound, "HcsCreateComputeSystem", "c2", h.versionOne(t, shared))
	shared["NetworkSharedContainerName"] = "c1"
	other := h.ok(t, "HcsCreateComputeSystem", "c2", h.versionOne(t, shared))
	if got, want := h.systems["c2"].namespace(), h.systems["c1"].ownNamespace(); got != want {
		t.Errorf("the namespace is %q, want %q", got, want)
	}

	h.ok(t, "HcsTerminateComputeSystem", "c2")
	event(t, other.Events)
	if len(known[h.systems["c1"].ownNamespace()]) != 2 {
		t.Error("the network has ended with one that shared it")
	}
}

// TestHotAttach: a compute system without endpoints is given one while it runs, and a second one shares it. So do
// dockershim and win-bridge.exe with a pod.
func TestHotAttach(t *testing.T) {
	h := newHost(t)
	known := h.config.Networks.(networks)
	system := h.ok(t, "HcsCreateComputeSystem", "c1", h.versionOne(t, map[string]any{"EndpointList": nil}))
	own := h.systems["c1"].ownNamespace()
	if at, there := known[own]; !there || len(at) > 0 {
		t.Fatalf("the compute system's network has %v, %v", at, there)
	}

	h.ok(t, "HcsStartComputeSystem", "c1")
	h.ok(t, "HcsModifyComputeSystem", "c1", `{"ResourceType":"Network","RequestType":"Add","Settings":"e1"}`)
	if diff := cmp.Diff([]string{"e1"}, known[own]); diff != "" {
		t.Errorf("endpoints of the compute system (-want +got):\n%s", diff)
	}

	const second = `C:\layers\second`
	for _, function := range []string{"CreateSandboxLayer", "ActivateLayer"} {
		h.ok(t, function, second)
	}
	h.ok(t, "PrepareLayer", second, baseLayer+"\n")
	h.ok(t, "HcsCreateComputeSystem", "c2", h.versionOne(t, map[string]any{
		"VolumePath":                 h.ok(t, "GetLayerMountPath", second).Text,
		"LayerFolderPath":            second,
		"EndpointList":               nil,
		"NetworkSharedContainerName": "c1",
	}))
	if got := h.systems["c2"].namespace(); got != own {
		t.Errorf("the namespace is %q, want %q", got, own)
	}

	h.ok(t, "HcsTerminateComputeSystem", "c1")
	event(t, system.Events)
	if _, left := known[own]; left {
		t.Error("the network is left of the compute system")
	}
}

// TestRefusedVersionOne: what of a document of version 1 would not be carried out is refused, with Windows' result, and
// leaves nothing.
func TestRefusedVersionOne(t *testing.T) {
	h := newHost(t)
	for name, tc := range map[string]struct {
		value any
		want  Code
	}{
		"Colour":                     {"red", InvalidJSON},
		"SystemType":                 {"Box", InvalidJSON},
		"Owner":                      {7, InvalidJSON},
		"Layers":                     {[]any{}, InvalidJSON},
		"VolumePath":                 {"", InvalidJSON},
		"MemoryMaximumInMB":          {-1, InvalidJSON},
		"ProcessorCount":             {-1, InvalidJSON},
		"ProcessorMaximum":           {-1, InvalidJSON},
		"ProcessorWeight":            {uint64(1 << 63), InvalidJSON},
		"HvPartition":                {true, NoHypervisor},
		"HvRuntime":                  {map[string]string{"ImagePath": `C:\vm`}, NoHypervisor},
		"ContainerType":              {"Linux", NoHypervisor},
		"Credentials":                {"{}", NotSupported},
		"Servicing":                  {true, NotSupported},
		"AssignedDevices":            {[]any{map[string]string{"InterfaceClassGuid": "x"}}, NotSupported},
		"MappedPipes":                {[]any{map[string]string{"HostPath": "x"}}, InvalidArg},
		"MappedVirtualDisks":         {[]any{map[string]string{"HostPath": "x"}}, NotSupported},
		"StorageIOPSMaximum":         {1, NotSupported},
		"StorageBandwidthMaximum":    {1, NotSupported},
		"StorageSandboxSize":         {1, NotSupported},
		"MappedDirectories":          {[]any{map[string]any{"HostPath": "x", "ContainerPath": "y", "IOPSMaximum": 1}}, NotSupported},
		"EndpointList":               {[]string{"e1", "unknown"}, NoElement},
		"NetworkSharedContainerName": {7, InvalidJSON},
	} {
		h.refused(t, tc.want, "HcsCreateComputeSystem", "c1", h.versionOne(t, map[string]any{name: tc.value}))
	}

	h.refused(t, NoHypervisor, "HcsCreateComputeSystem", "c1", `{"SystemType":"VirtualMachine"}`)
	if left := h.config.Networks.(networks); len(left) != 1 {
		t.Errorf("networks are left: %v", left)
	}

	h.ok(t, "HcsCreateComputeSystem", "c1", h.versionOne(t, nil))
	h.ok(t, "HcsStartComputeSystem", "c1")
	h.refused(t, NotSupported, "HcsCreateProcess", "c1", `{"CommandLine":"x","CreateInUtilityVm":true}`)
	h.refused(t, NotSupported, "HcsCreateProcess", "c1", `{"CommandLine":"x","CommandArgs":["x"]}`)
	h.refused(t, InvalidJSON, "HcsCreateProcess", "c1", `{"CommandLine":"x","ConsoleSize":[80]}`)
	h.refused(t, InvalidJSON, "HcsCreateProcess", "c1", `{"CommandLine":"x","ConsoleSize":[-1,80]}`)
}
