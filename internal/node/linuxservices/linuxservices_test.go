package linuxservices

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The kubelet's command line is that of kubeadm's packages, whatever kubeadm and a person have written.
func TestKubeletArgs(t *testing.T) {
	files := map[string]string{
		flagsFile: "KUBELET_KUBEADM_ARGS=\"--register-with-taints=a=b:NoSchedule --v=2\"\n",
		extraFile: "# of the person\n; and\n\nOTHER=x\nKUBELET_EXTRA_ARGS='--node-ip=10.0.0.1  --v=4'\n",
	}

	read := func(path string) ([]byte, error) { return []byte(files[path]), nil }
	want := []string{
		"--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf", "--kubeconfig=/etc/kubernetes/kubelet.conf",
		"--config=/var/lib/kubelet/config.yaml", "--register-with-taints=a=b:NoSchedule", "--v=2",
		"--node-ip=10.0.0.1", "--v=4",
	}

	got, err := kubeletArgs(read)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}

	files = nil
	if got, err = kubeletArgs(read); err != nil || len(got) != 3 {
		t.Errorf("without files: %q, %v", got, err)
	}

	for name, text := range map[string]string{
		"is not NAME=value": "KUBELET_EXTRA_ARGS\n", "is larger than": strings.Repeat("#", mostSettings+1),
	} {
		files = map[string]string{extraFile: text}
		if _, err := kubeletArgs(read); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Kubeadm goes by what systemctl prints and by its exit codes.
func TestSystemctl(t *testing.T) {
	active := answer{
		State:   stateActive,
		PID:     7,
		Enabled: true,
	}

	for _, test := range []struct {
		args, asked, out, err string
		is                    answer
		code                  int
	}{
		{args: "daemon-reload"},
		{args: "start kubelet", asked: "start", is: active},
		{args: "restart kubelet.service", asked: "restart", is: active},
		{args: "stop kubelet", asked: "stop", is: answer{State: stateInactive}},
		{
			args: "start kubelet", asked: "start", is: answer{State: stateInactive, Why: "no file"},
			err: "kubelet.service was not started: no file",
		},
		{args: "is-active kubelet", asked: "look", is: active, out: "active\n"},
		{args: "is-active kubelet", asked: "look", is: answer{State: stateActivating}, out: "activating\n", code: 3},
		{args: "is-enabled --quiet kubelet", asked: "look", is: active, out: "enabled\n"},
		{args: "is-enabled kubelet", asked: "look", is: answer{}, out: "disabled\n", code: 1},
		{args: "enable --now kubelet", asked: "enable start", is: active},
		{args: "disable --now kubelet", asked: "disable stop", is: answer{State: stateInactive}},
		{args: "status kubelet", asked: "look", is: active, out: "Active: active\n   Main PID: 7"},
		{args: "is-active systemd-resolved", out: "inactive\n", code: 4},
		{args: "is-enabled firewalld", err: "No such file or directory", code: 1},
		{args: "status docker", err: "Unit docker.service could not be found.", code: 4},
		{args: "restart containerd", err: "Unit containerd.service not found.", code: 5},
		{args: "list-units", err: "does not know command list-units", code: 1},
		{args: "start", err: "start without a unit", code: 1},
		{args: "--root=/x start kubelet", err: "does not know option --root=/x", code: 1},
		{args: "", err: "without a command", code: 1},
	} {
		var out, errOut strings.Builder
		var asked []string
		err := command{out: &out, err: &errOut, ask: func(_ context.Context, verb string) (answer, error) {
			asked = append(asked, verb)
			return test.is, nil
		}}.run(t.Context(), strings.Fields(test.args))

		code, ok := Code(err)
		if (err != nil && !ok) || code != test.code {
			t.Errorf("systemctl %s: %v, want exit code %d", test.args, err, test.code)
		}
		if got := strings.Join(asked, " "); got != test.asked {
			t.Errorf("systemctl %s asked for %q, want %q", test.args, got, test.asked)
		}

		if !strings.Contains(out.String(), test.out) || !strings.Contains(errOut.String(), test.err) {
			t.Errorf("systemctl %s: %q and %q, want %q and %q", test.args, &out, &errOut, test.out, test.err)
		}
	}
}

// A service manager that does not answer is an error, and not a state.
func TestSystemctlUnanswered(t *testing.T) {
	broken := errors.New("no such socket")
	err := command{ask: func(context.Context, string) (answer, error) { return answer{}, broken }}.
		run(t.Context(), []string{"start", "kubelet"})
	if _, ok := Code(err); ok || !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// Verbs that are none are refused.
func TestManagerRefuses(t *testing.T) {
	m := &manager{}
	if _, err := m.do(t.Context(), "halt"); err == nil {
		t.Error("halt was taken")
	}
}
