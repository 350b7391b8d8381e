package single

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/single/nat"
)

// Container is what the engine knows of a container: one that runs, or one that has ended and is kept. The last is also
// on disk, as a checkpoint.
type Container struct {
	ID, Name string
	// Run is what was asked for.
	Run Run
	// Args are the program and its arguments, Env, Dir and User its own, of the image where they were not asked for.
	Args, Env []string
	Dir, User string
	// Windows is the version of Windows that it was at its last run.
	Windows string `json:",omitempty"`
	// ImageID is the ID of the image of its last run, whose name another image may have by now. ImageTarget is the
	// digest that the name then stood for: an index, whose builds are removed as one, or the image's manifest. Both are
	// "" for one that has no image, that has never begun, or that was begun by an engine that did not note them.
	ImageID     string `json:",omitempty"`
	ImageTarget string `json:",omitempty"`
	// Ports are those that are published, of its last run. Labels are its own and the image's.
	Ports []nat.Port `json:",omitempty"`
	// Sources are what its mounts were at its last run, in their order.
	Sources []Source          `json:",omitempty"`
	Labels  map[string]string `json:",omitempty"`
	// Created, Started and Finished are zero as long as that has not been.
	Created, Started, Finished time.Time
	// End is how its program ended, Why says more: that the engine has ended with it. Both are said when Finished is.
	End End
	Why string
	// Stopped says that a person has ended it, Restarts how often it has begun anew by itself, or
	// tried to, since a person began it.
	Stopped  bool `json:",omitempty"`
	Restarts int  `json:",omitempty"`
	// Address is its own in its network, of its last run; of one that has none it is not valid.
	Address netip.Addr `json:",omitzero"`
	// Waits says that the engine has it begin anew: of those that it lists, and not in records.
	Waits bool `json:",omitempty"`
	// Check is how it is asked for its health, and Health what that has said; nil: nobody asks. In records it is that
	// of its end.
	Check  *HealthCheck `json:",omitempty"`
	Health *Health      `json:",omitempty"`
	// Log is the file of its log, beside which may be earlier ones.
	Log string
}

// The states of a container, Docker's.
const (
	Created = "created"
	Running = "running"
	Exited  = "exited"
	// Restarting is one that has ended and begins anew by itself, of those that an engine lists.
	Restarting = "restarting"
)

// Source is a folder or a file of the machine, whatever it is called.
type Source struct{ Device, Inode uint64 }

// Published returns its ports: those that were asked for, where an engine does not say which it has opened.
func (c Container) Published() []nat.Port {
	if c.Ports == nil {
		return c.Run.Ports
	}
	return c.Ports
}

// State is derived from the container's times.
func (c Container) State() string {
	switch {
	case !c.Finished.IsZero():
		return Exited
	case !c.Started.IsZero():
		return Running
	}
	return Created
}

// Status is the State that people see.
func (c Container) Status() string {
	if c.State() == Exited && c.Waits {
		return Restarting
	}
	return c.State()
}

// Image returns what was run, as it was asked for.
func (c Container) Image() string { return cmp.Or(c.Run.From, c.Run.Image) }

// MadeOf reports whether an image, or another build of its index, is the one of the container's last run.
func (c Container) MadeOf(img image.Info) bool {
	if c.ImageID == "" {
		return false
	}
	return c.ImageID == img.ID || (c.ImageTarget != "" && c.ImageTarget == img.Target.Digest.String())
}

// AllLabels returns a container's labels: of one that has never begun, those that it was given.
func (c Container) AllLabels() map[string]string {
	if c.Labels == nil {
		return c.Run.Labels
	}
	return c.Labels
}

// HasLabel reports whether a container has a label, NAME or NAME=VALUE.
func (c Container) HasLabel(label string) bool {
	name, want, given := strings.Cut(label, "=")
	got, has := c.AllLabels()[name]
	return has && (!given || got == want)
}

// all reports whether all containers are meant.
func (p Pruned) all() bool { return p.Until.IsZero() && len(p.Labels)+len(p.NotLabels) == 0 }

// fits reports whether a container is meant.
func (p Pruned) fits(c Container) bool {
	lacks := func(label string) bool { return !c.HasLabel(label) }
	return (p.Until.IsZero() || c.Created.Before(p.Until)) && !slices.ContainsFunc(p.Labels, lacks) &&
		!slices.ContainsFunc(p.NotLabels, c.HasLabel)
}

// ShortID returns the beginning of the id, as Docker shows it.
func (c Container) ShortID() string { return c.ID[:min(len(c.ID), 12)] }

// Hostname returns what the container's Windows calls itself: Docker's choice is the beginning of the id.
func (c Container) Hostname() string { return cmp.Or(c.Run.Hostname, c.ShortID()) }

// codeOther is the exit code of Docker's commands that do not run a program.
const codeOther = 1

func refuse(format string, args ...any) *Refusal {
	return &Refusal{Code: codeOther, Message: fmt.Sprintf(format, args...)}
}

// Find finds the container that is meant: by its id, its name or the beginning of its id, in this order, as Docker
// does. The error is a *Refusal with Docker's words.
func Find(all []Container, text string) (Container, error) {
	name := strings.TrimPrefix(text, "/")
	var found []Container
	for _, c := range all {
		switch {
		case c.ID == text, c.Name == name:
			return c, nil
		case text != "" && strings.HasPrefix(c.ID, text):
			found = append(found, c)
		}
	}
	switch len(found) {
	case 0:
		return Container{}, refuse("No such container: %s", text)
	case 1:
		return found[0], nil
	}

	return Container{}, refuse("multiple IDs found with provided prefix: %s", text)
}

// nameForm is what a name of a container is, as Docker has it.
var nameForm = lazyregexp.New(`^/?[a-zA-Z0-9][a-zA-Z0-9_.-]+$`)

// mostOfName bounds a name, in bytes: Windows has no longer one in a path.
const mostOfName = 255

// CheckName refuses what is no name of a container; "" is none, and right.
func CheckName(name string) error {
	if name == "" || (len(name) <= mostOfName && nameForm.MatchString(name)) {
		return nil
	}
	return &Refusal{
		Code:    CodeFailed,
		Message: fmt.Sprintf("Invalid container name (%s), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed", name),
	}
}

// taken returns the refusal of a name that another container has, in Docker's words.
func taken(name string, by Container) *Refusal {
	return &Refusal{
		Code: CodeFailed,
		Message: fmt.Sprintf("Conflict. The container name %q is already in use by container %q. You have to remove that "+
			"container to be able to reuse that name.", "/"+name, by.ID),
		Remedy: "`mullion container rm " + name + "` removes it",
	}
}

// freeName returns a name that no container has, for one that is given none: of two words, as Docker makes them up.
// choose returns a number below n.
func freeName(all []Container, choose func(n int) int) string {
	used := map[string]bool{}
	for _, c := range all {
		used[c.Name] = true
	}

	kinds, parts := strings.Fields(nameKinds), strings.Fields(nameParts)
	for i := 0; ; i++ {
		name := kinds[choose(len(kinds))] + "_" + parts[choose(len(parts))]
		if i > 0 {
			name = fmt.Sprintf("%s%d", name, i)
		}
		if !used[name] {
			return name
		}
	}
}

// The words of names: what a window's parts are like, and those parts.
const (
	nameKinds = "airy amber arched bevelled bright broad calm carved clear cool double fluted gilded glazed gothic " +
		"high leaded light lofty moonlit narrow oaken open painted plain polished quiet round shady slender sunny tall " +
		"tinted wide wooden"
	nameParts = "alcove architrave balcony casement cornice dormer fanlight frame gable glazing hinge jamb lattice " +
		"latch ledge lintel louvre muntin oriel pane pediment pilaster plinth portico quarrel rosette sash shutter sill " +
		"skylight spandrel tracery transom vault veranda"
)
