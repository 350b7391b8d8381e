package imagebuild

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"go.yaml.in/yaml/v3"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/windows/winver"
)

// SpecFile is the name of the description that is looked for in the folder; it does not become part of the image.
const SpecFile = "image.yaml"

// Spec describes an image beside its files. Its YAML form is SpecFile; flags of `mullion image build` override fields.
type Spec struct {
	// Tags are the references that the image gets.
	Tags []string `yaml:"tags"`
	// OS is "windows", also when it is left out, or "linux".
	OS string `yaml:"os"`
	// OSVersions are the Windows builds that the image is for: names of the catalogue ("ltsc2022") or versions
	// ("10.0.20348.2762"). Each becomes a manifest of the image's index, so that one reference works on every node.
	// Empty: every build of the catalogue.
	OSVersions []string `yaml:"osVersions"`
	// Target is the folder in the container that the files go to; empty: C:\, for Linux /.
	Target string `yaml:"target"`
	// Entrypoint and Cmd are the program and its arguments.
	Entrypoint []string `yaml:"entrypoint"`
	Cmd        []string `yaml:"cmd"`
	// Env are lines NAME=value.
	Env []string `yaml:"env"`
	// WorkingDir is the folder that the program starts in.
	WorkingDir string `yaml:"workingDir"`
	// User is ContainerUser, ContainerAdministrator or empty (the runtime's choice); for Linux a number or a name, and
	// ":" and a group's.
	User string `yaml:"user"`
	// ExposedPorts are lines such as "80/tcp".
	ExposedPorts []string `yaml:"exposedPorts"`
	// Volumes are paths of folders that the image's program writes to; a container has its own.
	Volumes []string `yaml:"volumes"`
	// Labels are the image's labels.
	Labels map[string]string `yaml:"labels"`
}

// mostOfSpec bounds a SpecFile, in bytes.
const mostOfSpec = 1 << 20

// ReadSpec reads a SpecFile. Unknown fields are an error that names the line.
func ReadSpec(file string) (Spec, error) {
	raw, err := beneath.ReadPath(file, mostOfSpec)
	if err != nil {
		return Spec{}, fmt.Errorf("read image description: %w", err)
	}
	var s Spec
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(&s); err != nil && !errors.Is(err, io.EOF) {
		return Spec{}, fmt.Errorf("parse image description %q: %w", file, plain(err))
	}
	return s, nil
}

// plain turns yaml's words about Go types into words about fields: `line 2: unknown field "x"`.
func plain(err error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n")
	text = unknownField.ReplaceAllString(text, `unknown field "$1"`)
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return errors.New(strings.Join(lines, "\n"))
}

var (
	unknownField = lazyregexp.New(`field (\S+) not found in type \S+`)

	envLine  = lazyregexp.New(`^[^=\x00]+=`)
	portLine = lazyregexp.New(`^([0-9]+)(/(tcp|udp))?$`)
)

// Systems that images are for.
const (
	Windows = "windows"
	Linux   = "linux"
)

func (s Spec) linux() bool { return s.OS == Linux }

// Versions returns the os.version strings of the image's manifests; Linux has none, and one manifest.
func (s Spec) Versions() ([]string, error) {
	var out []string
	if s.linux() {
		return []string{""}, nil
	}

	if len(s.OSVersions) == 0 {
		for _, b := range winver.All() {
			out = append(out, b.Version.String())
		}
		return out, nil
	}

	seen := map[string]bool{}
	for _, name := range s.OSVersions {
		v := name
		if parsed, err := winver.ParseVersion(name); err != nil || parsed.Revision == 0 {
			b, err := winver.Lookup(name)
			if err != nil {
				return nil, fmt.Errorf("osVersions: %w", err)
			}
			v = b.Version.String()
		}

		if seen[v] {
			return nil, fmt.Errorf("osVersions: %s is listed twice: %w", v, errdefs.ErrInvalidArgument)
		}
		seen[v] = true
		out = append(out, v)
	}

	return out, nil
}

// check returns all errors in a description, before anything is built.
func (s Spec) check() error {
	var errs []error
	for _, e := range s.Env {
		if !envLine.MatchString(e) {
			errs = append(errs, fmt.Errorf("env: %q: want NAME=value: %w", e, errdefs.ErrInvalidArgument))
		}
	}

	for _, p := range s.ExposedPorts {
		m := portLine.FindStringSubmatch(p)
		if m == nil {
			errs = append(errs, fmt.Errorf("exposedPorts: %q: want 80/tcp: %w", p, errdefs.ErrInvalidArgument))
		} else if n, err := strconv.Atoi(m[1]); err != nil || n < 1 || n > 65535 {
			errs = append(errs, fmt.Errorf("exposedPorts: %q: want a port from 1 to 65535: %w", p,
				errdefs.ErrInvalidArgument))
		}
	}

	if slices.Contains(s.Volumes, "") {
		errs = append(errs, fmt.Errorf("volumes: one is empty: %w", errdefs.ErrInvalidArgument))
	}
	errs = append(errs, s.checkSystem())
	if _, err := s.target(); err != nil {
		errs = append(errs, err)
	}

	return errors.Join(errs...)
}

// checkSystem returns an error for fields that the image's system does not have.
func (s Spec) checkSystem() error {
	switch {
	case s.OS != "" && s.OS != Windows && !s.linux():
		return fmt.Errorf("os: %q: want windows or linux: %w", s.OS, errdefs.ErrInvalidArgument)
	case s.linux() && len(s.OSVersions) > 0:
		return fmt.Errorf("osVersions: an image for Linux has none: %w", errdefs.ErrInvalidArgument)
	case !s.linux() && strings.Contains(s.User, ":"):
		return fmt.Errorf("user: %q: Windows has no user:group: %w", s.User, errdefs.ErrInvalidArgument)
	}
	return nil
}

// target returns where the files go, relative to the drive or the root, with slashes.
func (s Spec) target() (string, error) {
	if s.linux() {
		return linuxTarget(s.Target)
	}

	t := strings.ReplaceAll(s.Target, `\`, "/")
	if len(t) >= 2 && t[1] == ':' {
		if !strings.EqualFold(t[:1], "c") {
			return "", fmt.Errorf("target: %q: want a folder on C: : %w", s.Target, errdefs.ErrInvalidArgument)
		}
		t = t[2:]
	}

	t = strings.Trim(t, "/")
	if t == "" {
		return "", nil
	}
	for part := range strings.SplitSeq(t, "/") {
		if err := CheckName(part); err != nil {
			return "", fmt.Errorf("target: %q: %w", s.Target, err)
		}
	}

	return t, nil
}
