// Package fault makes the troubles of Windows nodes that package diagnose knows, each by its real cause, and takes them
// back. A fault has the name of its probe. Which faults there are is known by the cluster alone: their objects carry a
// label, and nodes an annotation. An object that somebody else made is neither replaced nor removed.
package fault

import "mullion.dev/mullion/internal/diagnose"

const (
	// Namespace is where the objects of faults are made.
	Namespace = "mullion-faults"
	// Label names the fault of an object.
	Label = "mullion.dev/fault"
)

// Fault is a trouble that can be made.
type Fault struct {
	// ID is the probe's that finds it.
	ID string
	// Title is the probe's.
	Title string
	// Does says what is done to make it.
	Does string
}

// All returns the faults, in the order of the probes.
func All() []Fault {
	var all []Fault
	for _, p := range diagnose.Probes() {
		if does, ok := does(p.ID); ok {
			all = append(all, Fault{
				ID:    p.ID,
				Title: p.Title,
				Does:  does,
			})
		}
	}
	return all
}
