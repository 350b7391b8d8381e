package rules

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/check"
)

const (
	windowsOptionsCategory = "windows-options"
	userName               = "securityContext.windowsOptions.runAsUserName"
	hostProcess            = "securityContext.windowsOptions.hostProcess"
	hostProcessPage        = "https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod/"
)

// effective returns a setting of a container: its own, or else the pod's. Node is nil if neither is set.
func effective(p *check.Pod, c check.Container, path string) check.Value {
	for _, vs := range [][]check.Value{c.Values(path), p.Values("spec." + path)} {
		if len(vs) > 0 {
			return vs[0]
		}
	}
	return check.Value{}
}

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }

// both returns the values of a path in the pod and in its containers, each once.
func both(p *check.Pod, path string) []check.Value {
	vs := p.Values("spec." + path)
	for _, c := range p.Containers() {
		vs = append(vs, c.Values(path)...)
	}
	return vs
}

func windowsOptions() []check.Rule {
	user := check.Rule{
		ID:       "run-as-user-name-form",
		Severity: check.Error,
		Category: windowsOptionsCategory,
		Target:   check.OnContainer,
		Title:    "runAsUserName is not a valid name of a Windows user",
		Why:      "the API server refuses names that Windows cannot have",
		Remedy:   `write USER or DOMAIN\USER; in a quoted YAML string a backslash is written twice`,
		Source: check.Source{
			Title: "Configure RunAsUserName: Windows username limitations",
			URL:   "https://kubernetes.io/docs/tasks/configure-pod-container/configure-runasusername/#windows-username-limitations",
		},
		Fields: []string{userName},
		Func: func(p *check.Pod) []check.Hit {
			var out []check.Hit
			for _, v := range both(p, userName) {
				if note := badUserName(v.Node.Text()); note != "" {
					v.At.Note = note
					out = append(out, v.At)
				}
			}
			return out
		},
	}

	return append([]check.Rule{user}, append(hostProcesses(), gmsa()...)...)
}

// the API server's own rules:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/validation/validation.go
var (
	controls = lazyregexp.New(`[[:cntrl:]]`)
	netBIOS  = lazyregexp.New(`^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$`)
	dnsName  = lazyregexp.New(
		`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
	userChars  = lazyregexp.New(`["/\\:;|=,+*?<>@\[\]]`)
	onlyDots   = lazyregexp.New(`^[. ]+$`)
	objectName = lazyregexp.New(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

// The bounds of names in that file, in bytes.
const (
	maxDomain     = 255
	maxUser       = 104
	maxCredential = 64 << 10
)

// badUserName returns what is wrong with a name, "" if nothing is.
func badUserName(name string) string {
	parts := strings.Split(name, `\`)
	user := parts[len(parts)-1]
	switch {
	case name == "":
		return "it is empty"
	case controls.MatchString(name):
		return "it has control characters"
	case len(parts) > 2:
		return "it has more than one backslash"
	case len(parts) == 2 && (len(parts[0]) > maxDomain || (!netBIOS.MatchString(parts[0]) &&
		!dnsName.MatchString(parts[0]))):
		return fmt.Sprintf("the domain %q is neither a NetBIOS name (15 characters) nor a DNS name", parts[0])

	case user == "":
		return "the user is empty"
	case len(user) > maxUser:
		return fmt.Sprintf("the user has %d characters, %d are allowed", len(user), maxUser)
	case onlyDots.MatchString(user):
		return "the user has only periods or spaces"
	case userChars.MatchString(user):
		return fmt.Sprintf(`the user %q has one of the characters " / \ [ ] : ; | = , + * ? < > @`, user)
	}

	return ""
}

func hostProcesses() []check.Rule {
	source := check.Source{
		Title: "Create a Windows HostProcess Pod: configuration requirements",
		URL:   hostProcessPage + "#hostprocess-pod-configuration-requirements",
	}
	limits := check.Source{
		Title: "Create a Windows HostProcess Pod: limitations",
		URL:   hostProcessPage + "#limitations",
	}

	rule := func(r check.Rule) check.Rule {
		r.Severity, r.Category = check.Error, windowsOptionsCategory
		return r
	}
	return []check.Rule{
		rule(check.Rule{
			ID:     "host-process-network",
			Target: check.OnPod,
			Source: source,
			Fields: []string{"spec.hostNetwork", "spec." + hostProcess},
			Title:  "a HostProcess pod needs hostNetwork: true",
			Why:    "the containers run in the host's network, and the API server refuses the pod without hostNetwork",
			Remedy: "set spec.hostNetwork: true",
			Func: func(p *check.Pod) []check.Hit {
				if !p.Spec().Get("hostNetwork").True() {
					return first(hostProcessAt(p))
				}
				return nil
			},
		}),
		rule(check.Rule{
			ID:     "host-process-mixed",
			Target: check.OnContainer,
			Source: limits,
			Fields: []string{hostProcess},
			Title:  "this container is not a HostProcess container, but others of the pod are",
			Why:    "Windows cannot share the host's network with a container that has one of its own",
			Remedy: "set hostProcess for the whole pod, or split it",
			Func:   notHostProcess,
		}),
		rule(check.Rule{
			ID:     "host-process-user",
			Target: check.OnContainer,
			Source: source,
			Fields: []string{hostProcess, userName},
			Title:  "a HostProcess container runs as an account of the host",
			Why:    "ContainerAdministrator and ContainerUser are accounts of containers, which the host does not have",
			Remedy: `use NT AUTHORITY\SYSTEM, NT AUTHORITY\Local service or NT AUTHORITY\NetworkService, or a local group of the node`,
			Func: func(p *check.Pod) []check.Hit {
				var out []check.Hit
				for _, c := range p.Containers() {
					user := effective(p, c, userName)
					switch {
					case !p.HostProcess(c):
					case user.Node == nil:
						c.At.Note = "runAsUserName is missing"
						out = append(out, c.At)
					case equalFold(user.Node.Text(), "ContainerAdministrator") ||
						equalFold(user.Node.Text(), "ContainerUser"):
						out = append(out, user.At)
					}
				}

				return slices.Compact(out)
			},
		}),
		rule(check.Rule{
			ID:     "host-process-pipe",
			Target: check.OnContainer,
			Source: limits,
			Fields: []string{"volumeMounts[*].name", "spec.volumes[*].hostPath.path", hostProcess},
			Title:  "a HostProcess container cannot mount a named pipe",
			Why:    "it sees the host's pipes as they are, and the container runtime refuses to mount one",
			Remedy: "leave the mount out: the container opens the pipe by its name",
			Func:   pipesOnHost,
		}),
		rule(check.Rule{
			ID:     "host-process-non-root",
			Target: check.OnContainer,
			Source: source,
			Fields: []string{hostProcess, "securityContext.runAsNonRoot"},
			Title:  "a HostProcess container cannot have runAsNonRoot",
			Why:    "the container has the rights of its account on the host",
			Remedy: "remove runAsNonRoot",
			Func: func(p *check.Pod) []check.Hit {
				var out []check.Hit
				for _, c := range p.Containers() {
					if v := effective(p, c, "securityContext.runAsNonRoot"); v.Node.True() && p.HostProcess(c) {
						out = append(out, v.At)
					}
				}
				return slices.Compact(out)
			},
		}),
	}
}

// pipesOnHost lists the mounts of named pipes in containers that run on the host.
func pipesOnHost(p *check.Pod) []check.Hit {
	pipes := map[string]bool{}
	for _, v := range p.Values("spec.volumes[*]") {
		path := v.Node.Get("hostPath").Get("path").Text()
		pipes[v.Node.Get("name").Text()] = strings.HasPrefix(strings.ToLower(path), `\\.\pipe\`)
	}

	var out []check.Hit
	for _, c := range p.Containers() {
		for _, m := range c.Values("volumeMounts[*]") {
			if p.HostProcess(c) && pipes[m.Node.Get("name").Text()] {
				out = append(out, m.At)
			}
		}
	}

	return out
}

// notHostProcess lists the containers that do not run on the host in a pod where others do.
func notHostProcess(p *check.Pod) []check.Hit {
	var not []check.Hit
	cs := p.Containers()
	for _, c := range cs {
		if !p.HostProcess(c) {
			not = append(not, c.At)
		}
	}
	if len(not) == len(cs) {
		return nil
	}
	return not
}

// hostProcessAt lists the places at which a pod asks for HostProcess.
func hostProcessAt(p *check.Pod) []check.Hit {
	var out []check.Hit
	for _, v := range both(p, hostProcess) {
		if v.Node.True() {
			out = append(out, v.At)
		}
	}
	return out
}

func first(hs []check.Hit) []check.Hit { return hs[:min(1, len(hs))] }

func gmsa() []check.Rule {
	source := check.Source{
		Title: "Configure GMSA for Windows Pods and containers",
		URL:   "https://kubernetes.io/docs/tasks/configure-pod-container/configure-gmsa/#configure-gmsa-credential-spec-reference-in-pod-spec",
	}
	const name, spec = "securityContext.windowsOptions.gmsaCredentialSpecName",
		"securityContext.windowsOptions.gmsaCredentialSpec"
	find := func(path string, note func(string) string) func(*check.Pod) []check.Hit {
		return func(p *check.Pod) []check.Hit { return hits(both(p, path), note) }
	}

	return []check.Rule{
		{
			ID:       "gmsa-name-form",
			Severity: check.Error,
			Category: windowsOptionsCategory,
			Target:   check.OnContainer,
			Source:   source,
			Fields:   []string{name},
			Title:    "gmsaCredentialSpecName is not a valid name of an object",
			Why:      "it names a GMSACredentialSpec, so it may have only lower-case letters, digits, - and .; the API server refuses other names",
			Remedy:   "write the name of the GMSACredentialSpec",
			Func: find(name, func(s string) string {
				if objectName.MatchString(s) && len(s) <= 253 {
					return ""
				}
				return fmt.Sprintf("%.60q", s)
			}),
		},
		{
			ID:       "gmsa-spec-size",
			Severity: check.Error,
			Category: windowsOptionsCategory,
			Target:   check.OnContainer,
			Source:   source,
			Fields:   []string{spec},
			Title:    "gmsaCredentialSpec has to have between 1 byte and 64 KiB",
			Why:      "the API server refuses one of another size",
			Remedy:   "use gmsaCredentialSpecName, which the webhook of windows-gmsa expands",
			Func: find(spec, func(s string) string {
				if s != "" && len(s) <= maxCredential {
					return ""
				}
				return fmt.Sprintf("it has %d bytes", len(s))
			}),
		},
	}
}
