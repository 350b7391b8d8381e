package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/cli/screen"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
)

// row is a line of the picture: a group of the cluster's parts, a part, or a step of the command.
type row struct {
	name    string
	state   component.State
	seconds float64
	text    string
}

// picture is what is known of the units of a cluster on its way.
type picture struct {
	now func() time.Time
	// nodes say what the nodes are, in the order of their rows; version is Kubernetes'.
	nodes   []Node
	version string

	// begun is when the cluster began to be brought up.
	begun time.Time
	units []supervisor.UnitStatus
	// since is when a unit was first seen to be starting; known are the states that were told of; failed is why units
	// failed, which are stopped then.
	since  map[component.ID]time.Time
	known  map[component.ID]component.State
	failed map[component.ID]string
}

func (p *picture) elapsed() time.Duration { return p.now().Sub(p.begun) }

// Groups of units that belong to no node.
const (
	groupMachine = "machine"
	groupControl = "control plane"
	groupAddons  = "addons"
)

// saidOf returns what a unit is called where it has no name of its own that says what it does.
func saidOf(what string) string {
	switch what {
	case "wine":
		return "wine (makes Windows' folder once)"
	case "node":
		return "Ready"
	}
	return what
}

// groupOf returns the group of a unit. What is none of a node's, the machine's or the control plane's is an addon.
func groupOf(unit component.ID) string {
	if unit.Node != "" {
		return unit.Node
	}
	switch unit.Part {
	case "fabric", "containerd", "wine", "claim", "machines", "ipv6-way-out", "own-addresses":
		return groupMachine
	case "certificates", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "bootstrap",
		"serving-approver", "api-forwarder", "control-plane-endpoint":
		return groupControl
	}
	return groupAddons
}

// unitRows returns a row for each group of units, in the order machine, control plane, nodes, addons.
func (p *picture) unitRows() []row {
	order := []string{groupMachine, groupControl}
	for _, n := range p.nodes {
		order = append(order, n.Name)
	}

	groups := map[string][]supervisor.UnitStatus{}
	for _, u := range p.units {
		name := groupOf(u.ID)
		if !slices.Contains(order, name) && name != groupAddons {
			order = append(order, name)
		}
		groups[name] = append(groups[name], u)
	}

	ready := p.readyAfter()
	var rows []row
	for _, name := range append(order, groupAddons) {
		if units := groups[name]; len(units) > 0 {
			rows = append(rows, p.groupRow(name, units, ready))
		}
	}

	return rows
}

// readyAfter returns how long after the beginning each unit that is ready was so: a unit begins as soon as those that
// it waits for are ready.
func (p *picture) readyAfter() map[component.ID]float64 {
	units := map[component.ID]supervisor.UnitStatus{}
	for _, u := range p.units {
		units[u.ID] = u
	}

	after := map[component.ID]float64{}
	var of func(unit component.ID) float64
	of = func(unit component.ID) float64 {
		if seconds, ok := after[unit]; ok {
			return seconds
		}
		after[unit] = 0 // a circle, which there is not, would end here
		begun := 0.0
		for _, before := range units[unit].After {
			begun = max(begun, of(before))
		}

		after[unit] = begun + units[unit].Seconds
		return after[unit]
	}

	for _, u := range p.units {
		of(u.ID)
	}

	return after
}

// groupRow returns the row of a group.
func (p *picture) groupRow(name string, units []supervisor.UnitStatus, readyAfter map[component.ID]float64) row {
	w := row{name: name, state: component.Waiting}
	var ready, busy, broken []string
	for _, u := range units {
		what := u.ID.Part
		why, failed := p.failed[u.ID]
		switch {
		case failed && u.State != component.Ready:
			broken = append(broken, what+": "+why)
		case u.State == component.Ready:
			ready = append(ready, what)
			w.seconds = max(w.seconds, readyAfter[u.ID])
		case u.State == component.Starting:
			busy = append(busy, saidOf(what)+p.long(u.ID))
		}
	}

	counted := fmt.Sprintf("%d of %d  ", len(ready), len(units))
	switch {
	case len(broken) > 0:
		w.state, w.text = component.Failed, strings.Join(broken, "; ")
	case len(ready) == len(units):
		w.state, w.text = component.Ready, p.what(name, ready)
		return w
	case len(busy) > 0:
		w.state, w.text = component.Starting, counted+strings.Join(busy, ", ")
	default:
		w.text = counted + p.blockers(name, units)
	}

	w.seconds = p.elapsed().Seconds()
	return w
}

// long returns how long a unit has been starting, if that is worth a word.
func (p *picture) long(unit component.ID) string {
	const worth = 10 * time.Second
	begun, ok := p.since[unit]
	if took := p.now().Sub(begun); ok && took >= worth {
		return fmt.Sprintf(" (%.0fs)", took.Seconds())
	}
	return ""
}

// what says what a group is that is ready.
func (p *picture) what(name string, units []string) string {
	for _, n := range p.nodes {
		if n.Name == name {
			return n.text()
		}
	}
	if name == groupControl && p.version != "" {
		return "Kubernetes " + p.version
	}
	return strings.Join(units, ", ")
}

// blockers says which units of other groups keep a group waiting.
func (p *picture) blockers(group string, units []supervisor.UnitStatus) string {
	var blocking []component.ID
	for _, u := range units {
		switch u.State {
		case component.Stopping, component.Stopped, component.Failed:
			return "stopped"
		case component.Waiting:
		default:
			continue
		}

		for _, before := range u.After {
			if p.known[before] != component.Ready && groupOf(before) != group && !slices.Contains(blocking, before) {
				blocking = append(blocking, before)
			}
		}
	}
	if len(blocking) == 0 {
		return "waits"
	}

	return "waits for " + strings.Join(component.Texts(blocking), ", ")
}

// fold makes rows fewer, if there are more than so many: what is ready first, then the last ones.
func (p *picture) fold(rows []row, most int) []row {
	if len(rows) <= most {
		return rows
	}

	rows = foldReady(rows)
	if len(rows) <= most {
		return rows
	}
	slices.SortStableFunc(rows, func(a, b row) int { return rank(a.state) - rank(b.state) })
	var names []string
	for _, w := range rows[most-1:] {
		names = append(names, w.name)
	}

	last := row{
		name:    fmt.Sprintf("%d more", len(names)),
		state:   component.Starting,
		seconds: p.elapsed().Seconds(),
		text:    strings.Join(names, ", "),
	}

	return append(rows[:most-1:most-1], last)
}

// rank is in which order rows are kept.
func rank(state component.State) int {
	switch state {
	case component.Failed:
		return 0
	case component.Ready: // a single row by now
		return 1
	case component.Starting:
		return 2
	}
	return 3
}

// foldReady makes one row of those that are ready.
func foldReady(rows []row) []row {
	all := row{state: component.Ready}
	var names []string
	var rest []row
	for _, w := range rows {
		if w.state != component.Ready {
			rest = append(rest, w)
			continue
		}
		names = append(names, w.name)
		all.seconds = max(all.seconds, w.seconds)
	}

	if len(names) < 2 {
		return rows
	}
	all.name, all.text = fmt.Sprintf("%d ready", len(names)), strings.Join(names, ", ")
	return append([]row{all}, rest...)
}

// longestName is as much of a row's name as is shown beside others.
const longestName = 24

// lines are rows as they are printed, their columns below each other.
func lines(rows []row) []screen.Line {
	widest := len(groupControl) // most blocks have it, and rows that are printed alone are below each other too
	for _, w := range rows {
		widest = max(widest, min(screen.Width(w.name), longestName))
	}

	var all []screen.Line
	for _, w := range rows {
		l := marked(w.state)
		seconds := fmt.Sprintf("%6.1fs", w.seconds)
		if w.state == component.Waiting {
			seconds = ""
		}
		l.Row = true
		l.Text = fmt.Sprintf("%s %7s  %s", screen.Pad(w.name, widest), seconds, w.text)
		all = append(all, l)
	}

	return all
}

// marked returns a line with the mark of a state, and no text.
func marked(state component.State) screen.Line {
	switch state {
	case component.Ready:
		return screen.Line{Mark: "ok", Tone: screen.Good}
	case component.Failed:
		return screen.Line{Mark: "FAIL", Tone: screen.Bad}
	case component.Starting:
		return screen.Line{Mark: "…"}
	}
	return screen.Line{Mark: "·"}
}

// unitLine returns the line of a single part, as --verbose prints it.
func unitLine(u supervisor.UnitStatus, message string) screen.Line {
	l := marked(u.State)
	l.Text = fmt.Sprintf("%-44s %7.1fs", u.ID, u.Seconds)
	if message != "" {
		l.Text += "  " + message
	}
	return l
}
