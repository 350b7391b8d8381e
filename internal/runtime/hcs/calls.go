package hcs

import (
	"context"

	"mullion.dev/mullion/internal/base/support"
)

// The libraries by which programs call the service.
const (
	// ComputeCore is HCS version 2, VMCompute version 1 and the functions of layers, VirtDisk the disks of scratches,
	// BindFilter what shows a layer's files at a folder of the host.
	ComputeCore = "computecore.dll"
	VMCompute   = "vmcompute.dll"
	VirtDisk    = "virtdisk.dll"
	BindFilter  = "bindfltapi.dll"
)

// StreamFunction is none of Windows' functions: computecore.dll has a connection carry a stream of a process by it.
const StreamFunction = "HcsConnectStream"

type doer func(ctx context.Context, s *Service, text []string) (Answer, error)

// Call is a function by which Windows programs call the service.
type Call struct {
	Library string
	// Name is the name of the export, and of the call on the connection.
	Name  string
	Level support.Level
	Note  string
	// texts is how many texts the service gets, and do what carries the function out; nil: the library does alone, or
	// nothing.
	texts int
	do    doer
}

// IsAsked reports whether the library asks the service.
func (c Call) IsAsked() bool { return c.do != nil }

// Notes of several rows.
const (
	noteMachines   = "of virtual machines, which Mullion does not make by this service: E_NOTIMPL"
	noteNotYet     = "E_NOTIMPL"
	noteOperation  = "an operation has ended when the function that it is of returns"
	noteInAnswer   = "E_NOTIMPL: the result is in the operation"
	noteVersion1   = "as that of computecore.dll"
	noteVersion1By = "those of computecore.dll, and the containers of pods, to be looked at"
)

// table has the functions that the service carries out, by their names.
func table() map[string]Call {
	all := map[string]Call{StreamFunction: {Name: StreamFunction, texts: 3, do: onProcess(connectStream)}}
	for _, c := range Calls() {
		if c.do != nil {
			all[c.Name] = c
		}
	}
	return all
}

// Calls returns a row for each function of the libraries that is about compute systems and layers. A test of
// guest/c holds these rows and the exports of our libraries together.
func Calls() []Call {
	var all []Call
	add := func(library string, rows []Call) {
		for _, r := range rows {
			r.Library = library
			all = append(all, r)
		}
	}
	add(ComputeCore, operationCalls())
	add(ComputeCore, systemCalls())
	add(ComputeCore, processCalls())
	add(ComputeCore, serviceCalls())
	add(VMCompute, versionOneCalls())
	add(VMCompute, layerCalls())
	add(VirtDisk, diskCalls())
	add(BindFilter, bindCalls())

	return all
}

const full, partly, none = support.Supported, support.Partly, support.Not

func operationCalls() []Call {
	return []Call{
		{Name: "HcsCreateOperation", Level: partly, Note: noteOperation},
		{Name: "HcsCreateOperationWithNotifications", Level: none, Note: noteNotYet},
		{Name: "HcsCloseOperation", Level: full},
		{Name: "HcsGetOperationContext", Level: full},
		{Name: "HcsSetOperationContext", Level: full},
		{Name: "HcsGetComputeSystemFromOperation", Level: none, Note: "NULL"},
		{Name: "HcsGetProcessFromOperation", Level: none, Note: "NULL"},
		{Name: "HcsGetOperationType", Level: none, Note: "HcsOperationTypeNone"},
		{Name: "HcsGetOperationId", Level: none, Note: "0"},
		{Name: "HcsGetOperationResult", Level: full},
		{Name: "HcsGetOperationResultAndProcessInfo", Level: full},
		{Name: "HcsAddResourceToOperation", Level: none, Note: noteMachines},
		{Name: "HcsGetProcessorCompatibilityFromSavedState", Level: none, Note: noteMachines},
		{Name: "HcsWaitForOperationResult", Level: full},
		{Name: "HcsWaitForOperationResultAndProcessInfo", Level: full},
		{Name: "HcsSetOperationCallback", Level: partly, Note: "called by the function that the operation is of, before it returns"},
		{Name: "HcsCancelOperation", Level: none, Note: "E_NOTIMPL: there is nothing left to cancel"},
		{Name: "HcsGetOperationProperties", Level: none, Note: noteNotYet},
	}
}

func systemCalls() []Call {
	return []Call{
		{
			Name: "HcsEnumerateComputeSystems", Level: full, texts: 1,
			do: func(_ context.Context, s *Service, text []string) (Answer, error) {
				answer, err := s.enumerate(text[0])
				return Answer{Text: answer}, err
			},
		},
		{Name: "HcsEnumerateComputeSystemsInNamespace", Level: none, Note: noteNotYet},
		{
			Name: "HcsCreateComputeSystem", Level: partly, texts: 2, do: createSystem,
			Note: "containers with process isolation, schema version 2, of layers that this service has prepared. A field that is not known is refused with HCS_E_INVALID_JSON, " +
				"VirtualMachine and HostedSystem with HCS_E_HYPERV_NOT_INSTALLED, and with ERROR_NOT_SUPPORTED assigned devices, credential guard, HvSocket, QoS of " +
				"storage, NetworkAdapters beside a Namespace, and registry changes, but for WaitToKillServiceTimeout, which changes nothing here. The endpoints of NetworkAdapters are put into a namespace of the compute system's own, and NetworkSharedContainerName has it share another one's. A pipe of MappedPipes is a stream of bytes without messages; that of the host is opened as an administrator for ContainerAdministrator, and else as somebody who is none. A container runs from its first process to the end of that one. It and its " +
				"processes outlive a restart of the host's agent, with their streams",
		},
		{Name: "HcsCreateComputeSystemInNamespace", Level: none, Note: noteNotYet},
		{
			Name: "HcsOpenComputeSystem", Level: partly, texts: 1, Note: "those made by HcsCreateComputeSystem; not the containers of pods",
			do: onSystem(openSystem),
		},
		{Name: "HcsOpenComputeSystemInNamespace", Level: none, Note: noteNotYet},
		{Name: "HcsCloseComputeSystem", Level: full},
		{
			Name: "HcsStartComputeSystem", Level: full, texts: 1,
			do: onSystem(startSystem),
		},
		{
			Name: "HcsShutDownComputeSystem", Level: full, texts: 1,
			do: simply((*computeSystem).shutDown),
		},
		{
			Name: "HcsTerminateComputeSystem", Level: full, texts: 1,
			do: simply((*computeSystem).terminate),
		},
		{Name: "HcsCrashComputeSystem", Level: none, Note: noteMachines},
		{Name: "HcsPauseComputeSystem", Level: none, Note: noteMachines},
		{Name: "HcsResumeComputeSystem", Level: none, Note: noteMachines},
		{Name: "HcsSaveComputeSystem", Level: none, Note: noteMachines},
		{
			Name: "HcsGetComputeSystemProperties", Level: partly,
			Note: "the state, the owner, Statistics and ProcessList; another property answers E_NOTIMPL",
		},
		{
			Name: "HcsModifyComputeSystem", Level: partly, texts: 2, do: onSystem(modifySystem),
			Note: "Container/Memory/SizeInMB and Container/Processor; another resource answers ERROR_NOT_SUPPORTED",
		},
		{Name: "HcsWaitForComputeSystemExit", Level: none, Note: noteNotYet},
		{
			Name: "HcsSetComputeSystemCallback", Level: partly,
			Note: "SystemExited and ServiceDisconnect, as is all that a container has; once for each handle",
		},
		{Name: "HcsInitializeLiveMigrationOnSource", Level: none, Note: noteMachines},
		{Name: "HcsStartLiveMigrationOnSource", Level: none, Note: noteMachines},
		{Name: "HcsStartLiveMigrationTransfer", Level: none, Note: noteMachines},
		{Name: "HcsFinalizeLiveMigration", Level: none, Note: noteMachines},
	}
}

func processCalls() []Call {
	return []Call{
		{
			Name: "HcsCreateProcess", Level: partly,
			Note: "as ContainerAdministrator, ContainerUser or SYSTEM, and all of a compute system as the same: another one is refused with ERROR_NOT_SUPPORTED. Accounts of the image are not found, and ApplicationName and restricted tokens are refused. The streams are sockets. " +
				"The security descriptor is not looked at",
			texts: 2,
			do: onSystem(func(ctx context.Context, c *computeSystem, text []string) (Answer, error) {
				p, err := c.createProcess(ctx, requestOf(ctx), text[0])
				if err != nil {
					return Answer{}, err
				}
				return p.handle(), nil
			}),
		},
		{
			Name: "HcsOpenProcess", Level: full, texts: 2,
			do: onProcess(func(_ context.Context, p *process, _ []string) (Answer, error) { return p.handle(), nil }),
		},
		{Name: "HcsCloseProcess", Level: full},
		{
			Name: "HcsTerminateProcess", Level: partly, texts: 2,
			Note: "with the exit code 1067; that of the first process ends the others",
			do: onProcess(func(ctx context.Context, p *process, _ []string) (Answer, error) {
				return Answer{}, p.terminate(ctx)
			}),
		},
		{
			Name: "HcsSignalProcess", Level: partly, texts: 3,
			Note: "the first process, which passes the event to the others; for another one E_NOTIMPL",
			do: onProcess(func(ctx context.Context, p *process, text []string) (Answer, error) {
				return Answer{}, p.signal(ctx, text[0])
			}),
		},
		{Name: "HcsGetProcessInfo", Level: partly, Note: "the process id; the streams are given once, by HcsCreateProcess"},
		{
			Name: "HcsGetProcessProperties", Level: full, texts: 2,
			do: onProcess(func(_ context.Context, p *process, _ []string) (Answer, error) {
				status, err := p.status()
				return Answer{Text: status}, err
			}),
		},
		{
			Name: "HcsModifyProcess", Level: partly, texts: 3,
			Note: "the console's size and the end of the input; else ERROR_NOT_SUPPORTED",
			do: onProcess(func(ctx context.Context, p *process, text []string) (Answer, error) {
				return Answer{}, p.modify(ctx, text[0])
			}),
		},
		{Name: "HcsSetProcessCallback", Level: partly, Note: "ProcessExited and ServiceDisconnect; once for each handle"},
		{Name: "HcsWaitForProcessExit", Level: none, Note: noteNotYet},
	}
}

func serviceCalls() []Call {
	return []Call{
		{Name: "HcsGetServiceProperties", Level: none, Note: noteNotYet},
		{Name: "HcsModifyServiceSettings", Level: none, Note: noteNotYet},
		{Name: "HcsSubmitWerReport", Level: none, Note: noteNotYet},
		{Name: "HcsCreateEmptyGuestStateFile", Level: none, Note: noteMachines},
		{Name: "HcsCreateEmptyRuntimeStateFile", Level: none, Note: noteMachines},
		{Name: "HcsGrantVmAccess", Level: none, Note: noteMachines},
		{Name: "HcsRevokeVmAccess", Level: none, Note: noteMachines},
		{Name: "HcsGrantVmGroupAccess", Level: none, Note: noteMachines},
		{Name: "HcsRevokeVmGroupAccess", Level: none, Note: noteMachines},
	}
}

// versionOneCalls returns the calls of vmcompute.dll that are about compute systems: another face of the same ones.
// Each has ended when it returns.
func versionOneCalls() []Call {
	return []Call{
		{
			Name: "HcsCreateComputeSystem", Level: partly,
			Note: noteVersion1 + ", and from a document of schema version 1, as Docker has it. Of those HvPartition, HvRuntime and ContainerType are refused with HCS_E_HYPERV_NOT_INSTALLED, " +
				"and with ERROR_NOT_SUPPORTED credentials, servicing, mapped pipes and disks, assigned devices, and limits and sizes of storage",
		},
		{Name: "HcsOpenComputeSystem", Level: partly, Note: noteVersion1By},
		{Name: "HcsCloseComputeSystem", Level: full},
		{Name: "HcsEnumerateComputeSystems", Level: partly, Note: noteVersion1 + ", with the containers of pods"},
		{Name: "HcsGetComputeSystemProperties", Level: partly, Note: "the state, the owner, ProcessList (not of the containers of pods), and Statistics without the peak of memory and, but for pods' sandboxes, Network"},
		{Name: "HcsStartComputeSystem", Level: full},
		{Name: "HcsShutdownComputeSystem", Level: full},
		{Name: "HcsTerminateComputeSystem", Level: full},
		{Name: "HcsModifyComputeSystem", Level: partly, Note: noteVersion1 + ", and Network, which puts an endpoint into the compute system's namespace or takes it out of it"},
		{
			Name: "HcsRegisterComputeSystemCallback", Level: partly,
			Note: "SystemExited and ServiceDisconnect, once for each handle; of a container of a pod it is taken, and never called",
		},
		{Name: "HcsUnregisterComputeSystemCallback", Level: full},
		{Name: "HcsCreateProcess", Level: partly, Note: noteVersion1},
		{Name: "HcsOpenProcess", Level: full},
		{Name: "HcsCloseProcess", Level: full},
		{Name: "HcsTerminateProcess", Level: partly, Note: noteVersion1},
		{Name: "HcsSignalProcess", Level: partly, Note: noteVersion1},
		{Name: "HcsModifyProcess", Level: partly, Note: noteVersion1},
		{Name: "HcsGetProcessInfo", Level: partly, Note: noteVersion1},
		{Name: "HcsGetProcessProperties", Level: full},
		{Name: "HcsRegisterProcessCallback", Level: partly, Note: "ProcessExited and ServiceDisconnect; once for each handle"},
		{Name: "HcsUnregisterProcessCallback", Level: full},
		{Name: "HcsGetServiceProperties", Level: none, Note: noteNotYet},
		{Name: "HcsModifyServiceSettings", Level: none, Note: noteNotYet},
		{Name: "HcsPauseComputeSystem", Level: none, Note: noteMachines},
		{Name: "HcsResumeComputeSystem", Level: none, Note: noteMachines},
		{Name: "HcsSaveComputeSystem", Level: none, Note: noteMachines},
	}
}

func layerCalls() []Call {
	return []Call{
		{
			Name: "ActivateLayer", Level: full, texts: 1,
			do: onLayer(func(l *layers, path string, _ []string) (string, error) {
				return "", l.onScratch(path, func(path string) error {
					_, err := l.activate(path)
					return err
				})
			}),
		},
		{
			Name: "PrepareLayer", Level: partly, texts: 2,
			Note: "programs of the host can open the volume, and follow no links on it. While a container runs, it is the container's C:, with Wine's files; what they write then belongs to nobody in " +
				"the container, which may read, change and delete it. Between a compute system's creation and its first process there is no volume",
			do: onLayer(func(l *layers, path string, rest []string) (string, error) {
				return "", l.prepare(path, pathsOf(rest[0]))
			}),
		},
		{
			Name: "GetLayerMountPath", Level: full, texts: 1,
			do: onLayer(func(l *layers, path string, _ []string) (string, error) { return l.mountPath(path) }),
		},
		{
			Name: "UnprepareLayer", Level: full, texts: 1,
			do: onLayer(func(l *layers, path string, _ []string) (string, error) {
				return "", l.onScratch(path, l.unprepare)
			}),
		},
		{
			Name: "DeactivateLayer", Level: full, texts: 1,
			do: onLayer(func(l *layers, path string, _ []string) (string, error) {
				return "", l.onScratch(path, l.deactivate)
			}),
		},
		{
			Name: "CreateLayer", Level: full, texts: 1,
			do: onLayer(func(l *layers, path string, _ []string) (string, error) { return "", l.createFolder(path) }),
		},
		{
			Name: "CreateSandboxLayer", Level: partly, texts: 1, Note: "sandbox.vhdx names a folder of the machine, and is no disk: it has no size",
			do: onLayer(func(l *layers, path string, _ []string) (string, error) { return "", l.createSandbox(path) }),
		},
		{
			Name: "LayerExists", Level: full, texts: 1,
			do: onLayer(func(l *layers, path string, _ []string) (string, error) {
				if l.exists(path) {
					return "1", nil
				}
				return "0", nil
			}),
		},
		{
			Name: "DestroyLayer", Level: full, texts: 1,
			do: onLayer(func(l *layers, path string, _ []string) (string, error) { return "", l.destroy(path) }),
		},
		{
			Name: "ProcessBaseImage", Level: partly, texts: 1,
			Note: "blank.vhdx is no disk; names that Wine's C: has get their letter case there. The image's registry is applied when a container begins",
			do:   onLayer(func(l *layers, path string, _ []string) (string, error) { return "", l.processBase(path) }),
		},
		{
			Name: "NameToGuid", Level: partly, Note: "always the same for a name; not the one that Windows has", texts: 1,
			do: func(_ context.Context, _ *Service, text []string) (Answer, error) {
				return Answer{GUID: guidOf(text[0])}, nil
			},
		},
		{Name: "CopyLayer", Level: none, Note: noteNotYet},
		{
			Name: "ExpandSandboxSize", Level: partly, texts: 2,
			Note: "a scratch has the room of the machine's file system, whatever its size, and is held to none: the host's log says so",
			do: onLayer(func(l *layers, path string, rest []string) (string, error) {
				return "", l.expand(path, rest[0])
			}),
		},
		{
			Name: "ExportLayer", Level: partly, texts: 3,
			Note: "data, names, hard links, links that lead to C:, deletions and times of files, and what a container has changed in its registry: of one that runs, or was killed, as it was last written to disk. What leads elsewhere or has " +
				"a name that Windows has not got is refused. Attributes, security descriptors, extended attributes and alternate streams are dropped",
			do: onLayer(func(l *layers, path string, rest []string) (string, error) {
				return "", l.exportLayer(path, rest[0], pathsOf(rest[1]))
			}),
		},
		{Name: "GetBaseImages", Level: none, Note: noteNotYet},
		{Name: "GrantVmAccess", Level: none, Note: noteMachines},
		{
			Name: "ImportLayer", Level: partly, texts: 3,
			Note: "data, names, deletions, times of files, links and junctions that lead to C:, and the registry; other links and sparse files are refused with ERROR_NOT_SUPPORTED, security descriptors, extended attributes and alternate " +
				"streams are dropped. One that fails while it reads leaves the layer's folder as it was",
			do: onLayer(func(l *layers, path string, rest []string) (string, error) {
				return "", l.importLayer(path, rest[0], pathsOf(rest[1]))
			}),
		},
		{Name: "ProcessUtilityImage", Level: none, Note: noteMachines},
	}
}

// diskCalls returns the calls of virtdisk.dll.
func diskCalls() []Call {
	all := []Call{
		{
			Name: "OpenVirtualDisk", Level: partly, texts: 1, do: openDisk,
			Note: "sandbox.vhdx of a scratch; another disk is ERROR_NOT_SUPPORTED. The handle is a socket",
		},
		{
			Name: "AttachVirtualDisk", Level: partly,
			Note: "the scratch is a volume without the layers below it, until the handle is closed; flags other than that of a permanent lifetime do not matter",
		},
		{Name: "DetachVirtualDisk", Level: full},
		{Name: "GetStorageDependencyInformation", Level: full, Note: "there are no dependencies"},
	}

	for _, name := range []string{
		"AddVirtualDiskParent", "BreakMirrorVirtualDisk", "CompactVirtualDisk", "CreateVirtualDisk",
		"DeleteVirtualDiskMetadata", "EnumerateVirtualDiskMetadata", "ExpandVirtualDisk",
		"GetAllAttachedVirtualDiskPhysicalPaths", "GetVirtualDiskInformation", "GetVirtualDiskMetadata",
		"GetVirtualDiskOperationProgress", "GetVirtualDiskPhysicalPath", "MergeVirtualDisk", "MirrorVirtualDisk",
		"ResizeVirtualDisk", "SetVirtualDiskInformation", "SetVirtualDiskMetadata",
	} {
		all = append(all, Call{
			Name:  name,
			Level: none,
			Note:  "ERROR_CALL_NOT_IMPLEMENTED",
		})
	}

	return all
}

// bindCalls returns the calls of bindfltapi.dll.
func bindCalls() []Call {
	return []Call{
		{
			Name: "BfSetupFilter", Level: partly, texts: 3,
			Note: "for all programs of the host, HostProcess containers that run already excepted, at a folder or file of C: with no other mapping at it or below it: a file or folder of C: or of a scratch's volume, but not of pods' volumes, read-only if asked. " +
				"A folder that is not there is made, and stays; links on a volume are not followed. Mappings of one job, with exceptions and with several targets are ERROR_NOT_SUPPORTED. At most 256, which go with the host, and those of a volume when it goes or a container begins or ends on it",
			do: onLayer(func(l *layers, flags string, rest []string) (string, error) {
				return "", l.setupFilter(flags, rest[0], rest[1])
			}),
		},
		{
			Name: "BfRemoveMapping", Level: full, texts: 1,
			do: onLayer(func(l *layers, root string, _ []string) (string, error) { return "", l.removeMapping(root) }),
		},
		{
			Name: "BfGetMappings", Level: partly, texts: 2,
			Note: "those of a volume, BINDFLT_GET_MAPPINGS_FLAG_VOLUME; paths begin with a drive or a volume, not with a device",
			do: onLayer(func(l *layers, flags string, rest []string) (string, error) {
				return l.listMappings(flags, rest[0])
			}),
		},
	}
}

// SupportRows lists how much of the Host Compute Service is there.
func SupportRows() []support.Row {
	const (
		reference = "https://learn.microsoft.com/virtualization/api/hcs/reference/apioverview"
		versions1 = "https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.3/internal/vmcompute/vmcompute.go"
		disks     = "https://learn.microsoft.com/windows/win32/api/virtdisk/"
		bindings  = "https://github.com/microsoft/go-winio/blob/v0.6.2/pkg/bindfilter/bind_filter.go"
		ofLayers  = "https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.3/internal/wclayer/wclayer.go"
	)

	layer := map[string]bool{}
	for _, c := range layerCalls() {
		layer[c.Name] = true
	}

	var rows []support.Row
	for _, c := range Calls() {
		row := support.Row{
			Area:  "HCS: " + c.Library,
			Name:  c.Name,
			Level: c.Level,
			Note:  c.Note,
			Ref:   reference,
		}

		switch c.Library {
		case VMCompute:
			row.Ref = versions1
		case VirtDisk:
			row.Ref = disks
		case BindFilter:
			row.Ref = bindings
		}

		if layer[c.Name] {
			row.Area, row.Ref = "HCS: layers (vmcompute.dll)", ofLayers
		}
		rows = append(rows, row)
	}

	return rows
}
