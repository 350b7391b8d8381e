package cri

import (
	"reflect"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

func TestChoose(t *testing.T) {
	inHost := &runtimeapi.WindowsPodSandboxConfig{
		SecurityContext: &runtimeapi.WindowsSandboxSecurityContext{HostProcess: true},
	}

	inProcess := map[string]string{IsolationAnnotation: "process"}
	for _, tc := range []struct {
		name, handler string
		config        *runtimeapi.PodSandboxConfig
		want          kind
	}{
		{"nothing", "", nil, process{}},
		{"plain", "", &runtimeapi.PodSandboxConfig{}, process{}},
		{"handler-of-processes", "runhcs-wcow-process", &runtimeapi.PodSandboxConfig{}, process{}},
		{"annotation-alone", "", &runtimeapi.PodSandboxConfig{Annotations: inProcess}, process{}},
		{"host", "", &runtimeapi.PodSandboxConfig{Windows: inHost}, hostProcess{}},
		{"machine", hypervisorHandler, &runtimeapi.PodSandboxConfig{}, machine{}},
		{"no-machine", hypervisorHandler, &runtimeapi.PodSandboxConfig{Annotations: inProcess}, process{}},
		// which machine.check refuses: less isolation than is asked for is not given
		{
			"unknown-annotation", hypervisorHandler,
			&runtimeapi.PodSandboxConfig{Annotations: map[string]string{IsolationAnnotation: "Process"}},
			machine{},
		},
		{"both", hypervisorHandler, &runtimeapi.PodSandboxConfig{Windows: inHost}, machine{}},
		{
			"host-with-handler", hypervisorHandler,
			&runtimeapi.PodSandboxConfig{Windows: inHost, Annotations: inProcess},
			hostProcess{},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sb := store.Sandbox{Handler: tc.handler, Config: store.SandboxConfig{PodSandboxConfig: tc.config}}
			if got := choose(nil, sb); reflect.TypeOf(got) != reflect.TypeOf(tc.want) {
				t.Errorf("kind %T, want %T", got, tc.want)
			}
		})
	}
}

// TestKindOf: what belongs to no pod that there is counts as an ordinary container's.
func TestKindOf(t *testing.T) {
	s := &Server{}
	s.kinds.put("a", machine{process{s}})
	if got := s.kindOf("a"); got != (machine{process{s}}) {
		t.Errorf("kind %T of a pod with a machine", got)
	}
	s.kinds.forget("a")
	if got := s.kindOf("a"); got != (process{s}) {
		t.Errorf("kind %T of a pod that is gone", got)
	}
}
