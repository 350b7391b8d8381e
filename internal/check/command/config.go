package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/check"
)

// ConfigName is the name of the configuration file, which is looked for in the working directory and the folders above
// it.
const ConfigName = ".mullion-check.yaml"

// off is the severity of a rule that is not applied.
const off = "off"

// config is the configuration file. Flags override it.
type config struct {
	KubernetesVersion string   `yaml:"kubernetesVersion"`
	WindowsVersions   []string `yaml:"windowsVersions"`
	FailOn            string   `yaml:"failOn"`
	// Offline asks no registry.
	Offline bool `yaml:"offline"`
	// Rules sets the severity of rules, by id: error, warning, info or off.
	Rules map[string]string `yaml:"rules"`
	// IgnorePaths are patterns of path.Match for paths from the file's folder. A folder that matches is not entered.
	IgnorePaths []string `yaml:"ignorePaths"`

	dir string
}

// mostOfConfig bounds a configuration file, in bytes.
const mostOfConfig = 1 << 20

// readConfig reads the named file, or the nearest one in dir or above it. Without a file the configuration is empty.
func readConfig(named, dir string) (*config, error) {
	file := named
	for at := dir; file == ""; at = filepath.Dir(at) {
		_, err := os.Stat(filepath.Join(at, ConfigName))
		switch {
		case err == nil:
			file = filepath.Join(at, ConfigName)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("look for %s: %w", ConfigName, err)
		case at == filepath.Dir(at):
			return &config{}, nil
		}
	}

	read := beneath.ReadPath
	if named == "" { // whoever wrote the checkout does not lead it to another file
		read = func(file string, most int64) ([]byte, error) {
			return beneath.ReadIn(filepath.Dir(file), filepath.Base(file), most)
		}
	}

	text, err := read(file, mostOfConfig)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}

	c := &config{}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read configuration %q: %w", file, err)
	}
	if c.dir, err = filepath.Abs(filepath.Dir(file)); err != nil {
		return nil, err
	}

	for _, pattern := range c.IgnorePaths {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("configuration %q: ignorePaths %q: %w", file, pattern, err)
		}
	}

	return c, nil
}

// apply gives the rules their severities. Rules that are off are left out.
func (c *config) apply(all []check.Rule) ([]check.Rule, error) {
	var out []check.Rule
	known := map[string]bool{}
	for _, r := range all {
		known[r.ID] = true
		switch s := c.Rules[r.ID]; s {
		case off:
			continue
		case "":
		case string(check.Error), string(check.Warning), string(check.Info):
			r.Severity = check.Severity(s)
		default:
			return nil, fmt.Errorf("configuration: rule %s: severity %q: want error, warning, info or off", r.ID, s)
		}

		out = append(out, r)
	}

	for id := range c.Rules {
		if !known[id] {
			return nil, fmt.Errorf("configuration: there is no rule %q; `mullion check rules` lists them", id)
		}
	}

	return out, nil
}

// ignores reports whether a path is left out.
func (c *config) ignores(file string) bool {
	if len(c.IgnorePaths) == 0 {
		return false
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return false
	}

	rel, err := filepath.Rel(c.dir, abs)
	if err != nil || strings.HasPrefix(rel, "..") {
		return false
	}
	rel = filepath.ToSlash(rel)
	return slices.ContainsFunc(c.IgnorePaths, func(pattern string) bool {
		for at := rel; at != "."; at = path.Dir(at) {
			if ok, _ := path.Match(strings.TrimSuffix(pattern, "/"), at); ok { // readConfig has tried the pattern
				return true
			}
		}
		return false
	})
}
