// Package addon owns what the servers that run beside the control plane have in common: where one runs, the files that
// are written before it starts, and the word that the API gets when it answers. What a server reads, what it may do on
// the machine and how it is known to be ready is the business of the package that has the server.
//
//	folder ─▶ files ─▶ process ─▶ ready ─▶ told ─▶ … ─▶ process ends ─▶ folder is gone
package addon

import (
	"fmt"
	"path/filepath"
)

// Place is where an add-on runs, and by which program.
type Place struct {
	// Program is the path of upstream's program.
	Program string
	// RunDir gets a folder with the files that it reads. Everybody must be able to traverse RunDir.
	RunDir string
	// LogDir gets the log file.
	LogDir string
	// Marker is put into the child's environment.
	Marker string
	// Netns is the path of the fabric's pinned network namespace.
	Netns string
	// Cgroup is that by whose weight it runs; "" is the caller's.
	Cgroup string
}

// Required is a setting that an add-on cannot do without.
type Required struct{ Name, Value string }

// Validate returns an error that names what is missing: of the place, or of what else the add-on requires.
func (p Place) Validate(addon string, more ...Required) error {
	all := append([]Required{
		{Name: "Program", Value: p.Program},
		{Name: "RunDir", Value: p.RunDir},
		{Name: "LogDir", Value: p.LogDir},
		{Name: "Netns", Value: p.Netns},
	}, more...)

	for _, r := range all {
		if r.Value == "" {
			return fmt.Errorf("check %s: %s is not set", addon, r.Name)
		}
	}

	return nil
}

// Dir is the folder of an add-on's files.
func (p Place) Dir(addon string) string { return filepath.Join(p.RunDir, addon) }
