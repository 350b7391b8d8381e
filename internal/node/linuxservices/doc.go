// Package linuxservices stands in for systemd on a bare Linux host: it keeps the one service that kubeadm asks for, the
// kubelet, and answers the commands of systemctl that kubeadm and its guides use. It owns the service's command line,
// which is that of the packages kubelet and kubeadm. It neither reads unit files nor knows other services.
//
//	systemctl start kubelet ──▶ /run/mullion/services.sock ──▶ Serve ──▶ kubelet, started again when it ends
//
// The service is in the same states as under systemd:
//
//	          start                    ends
//	inactive ───────▶ active ───────────────────────▶ activating ──▶ active
//	    ▲      stop      │                                │ stop
//	    └────────────────┴────────────────────────────────┘
//
// When the host starts, the service starts too, unless it was disabled or kubeadm has not configured it yet.
package linuxservices

import (
	"errors"
	"fmt"
	"strings"
)

// Socket is where the host's services are asked for.
const Socket = "/run/mullion/services.sock"

// Kubelet is the name of the service.
const Kubelet = "kubelet"

// Log is the file of the host that the kubelet writes to.
const Log = "/var/log/kubelet.log"

// Where kubeadm and its packages keep what the service is made of:
// https://github.com/kubernetes/release/blob/v0.18.0/cmd/krel/templates/latest/kubeadm/10-kubeadm.conf
const (
	configFile = "/var/lib/kubelet/config.yaml"
	flagsFile  = "/var/lib/kubelet/kubeadm-flags.env"
	extraFile  = "/etc/default/kubelet"

	flagsVariable = "KUBELET_KUBEADM_ARGS"
	extraVariable = "KUBELET_EXTRA_ARGS"
)

// mostSettings is how much of a file of variables is read, in bytes.
const mostSettings = 1 << 16

// settingsError says what is wrong with a line of a file of variables.
type settingsError struct {
	file string
	line int
}

func (e *settingsError) Error() string {
	return fmt.Sprintf("%s: line %d is not NAME=value", e.file, e.line)
}

// flags returns the words of a variable in a file of variables as systemd's EnvironmentFile= has them:
// https://www.freedesktop.org/software/systemd/man/254/systemd.exec.html#EnvironmentFile=
// Quotes around the whole value are left out; others are not looked at.
func flags(file string, text []byte, variable string) ([]string, error) {
	if len(text) > mostSettings {
		return nil, fmt.Errorf("%s is larger than %d bytes", file, mostSettings)
	}

	var words []string
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, &settingsError{file, number}
		}

		if strings.TrimSpace(name) != variable {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		words = strings.Fields(value)
	}

	return words, nil
}

// kubeletArgs returns the kubelet's command line without its name. read returns a file of the host; a file that is not
// there is an empty one.
func kubeletArgs(read func(path string) ([]byte, error)) ([]string, error) {
	args := []string{
		"--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf",
		"--kubeconfig=/etc/kubernetes/kubelet.conf",
		"--config=" + configFile,
	}

	var errs []error
	for _, from := range []struct{ file, variable string }{{flagsFile, flagsVariable}, {extraFile, extraVariable}} {
		text, err := read(from.file)
		if err == nil {
			var words []string
			words, err = flags(from.file, text, from.variable)
			args = append(args, words...)
		}
		errs = append(errs, err)
	}

	return args, errors.Join(errs...)
}
