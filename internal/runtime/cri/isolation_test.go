package cri

import (
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestCheckIsolation(t *testing.T) {
	for _, tc := range []struct{ name, handler, annotation, want string }{
		{"process", "runhcs-wcow-process", "", ""},
		{"no class", "", "other", ""},
		{"Hyper-V", hypervisorHandler, "", "no hypervisor is present on this system (0xc0351000)"},
		{"Hyper-V, process will do", hypervisorHandler, "process", ""},
		{"Hyper-V, a word that is none", hypervisorHandler, "Process", `annotation mullion.dev/isolation is "Process"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := &runtimeapi.PodSandboxConfig{}
			if tc.annotation != "" {
				config.Annotations = map[string]string{IsolationAnnotation: tc.annotation}
			}
			err := checkIsolation(config, tc.handler)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
