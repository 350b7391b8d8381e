package cri

import (
	"fmt"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// IsolationAnnotation of a pod, with the value "process", has a pod that asks for Hyper-V isolation run in process
// isolation, which is all that there is here.
const IsolationAnnotation = "mullion.dev/isolation"

// hypervisorHandler is containerd's runtime handler of Hyper-V isolation on Windows
// (https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/config/config_windows.go).
const hypervisorHandler = "runhcs-wcow-hypervisor"

// checkIsolation refuses a pod that would get less isolation than it asks for. The first words are Windows' own, of
// STATUS_HV_NOT_PRESENT (https://learn.microsoft.com/openspecs/windows_protocols/ms-erref), which a Windows Server
// without Hyper-V says of such a container.
func checkIsolation(config *runtimeapi.PodSandboxConfig, handler string) error {
	if handler != hypervisorHandler {
		return nil
	}
	switch asked := config.GetAnnotations()[IsolationAnnotation]; asked {
	case "process":
		return nil
	case "":
		return fmt.Errorf("no hypervisor is present on this system (0xc0351000): there is no Hyper-V isolation on this node, "+
			"whose pods share the machine's kernel; to run the pod in process isolation, give it the annotation %s: process: %w",
			IsolationAnnotation, errdefs.ErrNotImplemented)
	default:
		return fmt.Errorf("annotation %s is %q; it can be process: %w", IsolationAnnotation, asked, errdefs.ErrInvalidArgument)
	}
}
