package health

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
)

// Room that a file system should have, in bytes and as a part of its size. Below both, etcd and containerd soon run
// into a full disk.
const (
	roomLeast = 512 << 20
	roomPart  = 0.05
)

// judge makes one picture.
type judge struct {
	Observed
	picture Picture
	// parts are by unit, with those of nodes; after is what each of them waits for.
	parts map[component.ID]Part
	after map[component.ID][]component.ID
}

// Judge makes the picture of a cluster from what was observed.
func Judge(o Observed) Picture {
	j := &judge{
		Observed: o,
		parts:    map[component.ID]Part{},
		after:    map[component.ID][]component.ID{},
	}

	j.picture = Picture{
		Name:     o.Spec.Name,
		Findings: []Finding{},
		Parts:    []Part{},
		Nodes:    []Node{},
		Unknown:  o.APIError,
	}
	j.supervisor()
	j.units()
	if o.Supervisor != nil && o.Supervisor.Phase == supervisor.PhaseReady {
		j.api()
	}

	j.nodes()
	j.hns()
	j.disks()
	j.policies()
	j.ipv6()
	j.pods()
	slices.SortStableFunc(j.picture.Findings,
		func(a, b Finding) int { return strings.Compare(string(a.Severity), string(b.Severity)) })
	j.picture.State = j.state()

	return j.picture
}

func (j *judge) find(s Severity, object, what, do string) {
	j.picture.Findings = append(j.picture.Findings, Finding{
		Severity: s,
		Object:   object,
		What:     what,
		Do:       do,
	})
}

// policies says who carries NetworkPolicies out, and finds those that nothing carries out.
func (j *judge) policies() {
	switch n := j.Spec.Networking; {
	case j.Spec.Foreign():
	case !n.Policies():
		j.picture.NetworkPolicies = "not carried out by Mullion"
	case !n.WindowsPolicies():
		j.picture.NetworkPolicies = "carried out by Mullion on Linux nodes, left to a program of yours on Windows nodes (windowsNetworkPolicy: external)"
	default:
		j.picture.NetworkPolicies = "carried out by Mullion"
	}

	if j.Policies == 0 {
		return
	}

	remedy := "set networking.networkPolicy to true in a new cluster"
	switch n := j.Spec.Networking; {
	case n.DisableDefaultCNI:
		remedy = "deploy a CNI plugin that carries them out; if yours does, this is no trouble"
	case !n.Mode.Services():
		remedy = fmt.Sprintf("they cannot be in mode %s; choose another mode for a new cluster", n.Mode)
	}

	j.find(Warning, "network policies", fmt.Sprintf("Mullion does not carry them out, and there are %d", j.Policies),
		remedy)
}

// ipv6 says what pods of a dual-stack cluster reach. That the machine has no IPv6 is no trouble of the cluster's.
func (j *judge) ipv6() {
	switch {
	case !j.Spec.Networking.DualStack():
	case j.WayOut6Error != "":
		j.picture.IPv6 = "it is not known what pods reach beyond the cluster: " + j.WayOut6Error
	case j.WayOut6:
		j.picture.IPv6 = "pods reach what this machine reaches, behind its address"
	default:
		j.picture.IPv6 = "pods reach nothing beyond the cluster: this machine has no IPv6 routes"
	}
}

func (j *judge) state() State {
	switch {
	case j.Supervisor == nil && !j.Locked:
		return Down
	case j.Supervisor != nil && j.Supervisor.Phase == supervisor.PhaseStarting:
		return Starting
	case j.Supervisor != nil && j.Supervisor.Phase == supervisor.PhaseStopping:
		return Stopping
	case slices.ContainsFunc(j.picture.Findings, func(f Finding) bool { return f.Severity == Problem }):
		return Unhealthy
	}
	return Healthy
}

func (j *judge) supervisor() {
	switch {
	case j.Supervisor == nil && j.Locked:
		j.find(Problem, "supervisor", "it runs, but it does not answer: "+j.SupervisorError,
			"wait a moment; if it still does not answer, `mullion stop` and `mullion up` start it again and keep the cluster's state")
	case j.Supervisor == nil:
		j.find(Problem, "cluster", "it is not up: "+j.SupervisorError,
			"`mullion up` brings it back, `mullion down` removes it")
	case j.Supervisor.Phase == supervisor.PhaseFailed:
		j.find(Problem, "cluster", "it did not come up: "+firstLine(j.Supervisor.Error),
			"read the part's log with `mullion logs`, correct what it says, then run `mullion up`")
	}
}

// units sorts the parts and finds those that do not work.
func (j *judge) units() {
	if j.Supervisor == nil {
		return
	}

	for _, u := range j.Supervisor.Units {
		p := part(u)
		j.parts[u.ID], j.after[u.ID] = p, u.After
		if u.ID.Node == "" {
			j.picture.Parts = append(j.picture.Parts, p)
		}
	}

	if j.Supervisor.Phase != supervisor.PhaseReady {
		return // that parts wait for one another is how a cluster starts and stops
	}

	for _, u := range j.Supervisor.Units {
		p, node := j.parts[u.ID], u.ID.Node
		if j.off(node) {
			if u.ID.Part == "host" {
				j.find(Problem, "node "+node, "it is switched off",
					fmt.Sprintf("`mullion node start %s` switches it on", node))
			}
			continue
		}

		if p.OK || u.ID.Part == "node" || j.follows(u.ID) {
			continue
		}
		remedy := remedyOfPart(p)
		if j.Spec.Networking.DisableDefaultCNI && p.reason == component.NoCNI {
			remedy = "Mullion installs no CNI plugin in this cluster (networking.disableDefaultCNI): deploy one, for example the one in examples/windows-network"
		}
		j.find(Problem, u.ID.String(), string(p.State)+": "+p.Why, remedy)
	}
}

// off reports whether a node's host was switched off.
func (j *judge) off(node string) bool {
	return j.parts[component.OfNode("host", node)].State == component.Stopped
}

func part(u supervisor.UnitStatus) Part {
	p := Part{
		ID:       u.ID,
		State:    u.State,
		OK:       u.State == component.Ready && u.Problem == "",
		Note:     firstLine(u.Note),
		PID:      u.PID,
		Restarts: u.Restarts,
		Seconds:  u.Seconds,
		reason:   u.Reason,
	}

	switch {
	case u.Error != "":
		p.Why = lastLine(u.Error)
	case u.Problem != "":
		p.State, p.Why = NotAnswering, firstLine(u.Problem)
	}

	return p
}

// follows reports whether a unit waits for a part that does not work, directly or by way of other units. Then that part
// is the one to look at first. If the supervisor does not tell After, follows returns false.
func (j *judge) follows(unit component.ID) bool {
	seen := map[component.ID]bool{unit: true}
	for ahead := j.after[unit]; len(ahead) > 0; ahead = ahead[1:] {
		cause := ahead[0]
		if seen[cause] {
			continue
		}
		seen[cause] = true
		if p, ok := j.parts[cause]; ok && !p.OK {
			return true
		}
		ahead = slices.Concat(ahead, j.after[cause])
	}
	return false
}

func remedyOfPart(p Part) string {
	unit := p.ID
	name := p.ID.Part
	node := p.ID.Node

	switch {
	case name == "network":
		return fmt.Sprintf(
			"look at eth0 with `mullion node exec %s`; `mullion stop` and `mullion up` make the network anew and keep state and images", node)

	case name == "serving-certificate":
		return "an administrator of the cluster has to run that command; a certificate is usually valid for a year, and the kubelet asks for the next one before that (docs/several-machines.md)"
	case p.reason == component.Halted:
		return fmt.Sprintf("`mullion node start %s` starts it again, and so does `Start-Service %s` on the host", node, name)
	case p.State == NotAnswering:
		return fmt.Sprintf(
			"see `mullion logs %s --tail 50`; if it still does not answer, end its process %d: the supervisor starts it again at once, and pods go on", unit, p.PID)

	case p.State == supervisor.Restarting:
		remedy := fmt.Sprintf(
			"the supervisor starts it again, after growing pauses of up to 15 s; `mullion logs %s --tail 50` shows why it ended", unit)
		if node != "" {
			remedy += fmt.Sprintf("; if that does not help, `mullion node restart %s` starts the whole host anew", node)
		}
		return remedy
	}

	return fmt.Sprintf("see `mullion logs %s --tail 50`, then `mullion up`", unit)
}

// api finds that this machine does not reach the API although the API server works.
func (j *judge) api() {
	apiServer := component.Sole("kube-apiserver")
	if j.APIError == "" || !j.parts[apiServer].OK || j.follows(apiServer) {
		return
	}
	j.find(Problem, "API", "the API server works, but this machine does not reach it: "+firstLine(j.APIError),
		fmt.Sprintf(
			"check that nothing else listens on %s:%d and that no firewall of this machine is in the way; `mullion logs supervisor` says more",
			j.Spec.Networking.APIServerAddress, j.Spec.Networking.APIServerPort))
}

// hns returns what is said of a node's HNS, which the agent carries: it is no unit of its own.
func hns(node string) component.ID { return component.OfNode("hns", node) }

// hns finds networks that are not as HNS wants them to be.
func (j *judge) hns() {
	for _, n := range j.Spec.Nodes {
		h, ok := j.HNS[n.Name]
		object := hns(n.Name).String()
		if !ok || (h.Error != "" && !j.parts[component.OfNode("agent", n.Name)].OK) {
			continue // follows from the agent
		}
		for _, what := range h.Withheld {
			j.find(Warning, object, what,
				"take the node's address out of the Service's externalIPs, or choose another hostPort or nodePort")
		}

		switch {
		case h.Error != "":
			j.find(Problem, object, firstLine(h.Error),
				fmt.Sprintf("see `mullion logs agent/%s --tail 50`", n.Name))
		case len(h.Differences) > 0:
			j.find(Warning, object,
				fmt.Sprintf("the node's network differs from HNS' plan in %d thing(s): %s", len(h.Differences),
					h.Differences[0]),
				fmt.Sprintf("the node's agent corrects it within seconds; if the difference stays, see `mullion hns diag %s`",
					n.Name))
		}
	}
}

func (j *judge) disks() {
	for _, d := range j.Disks {
		if d.Free >= roomLeast || float64(d.Free) >= roomPart*float64(d.Size) {
			continue
		}
		j.find(
			Problem, "disk "+d.Path, fmt.Sprintf(
				"%s of %s are free: when the disk is full, images are not pulled and etcd stops writing", size(d.Free),
				size(d.Size)),
			"free some space there, for example with `mullion image rm`; nothing has to be restarted afterwards")
	}
}

func size(n uint64) string {
	const unit = 1024
	value, suffix := float64(n), "B"
	for _, s := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value < unit {
			break
		}
		value, suffix = value/unit, s
	}
	return fmt.Sprintf("%.0f %s", value, suffix)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return shorten(line)
}

// lastLine shortens a message that ends with a program's output to its first line and its last: the last line says
// most.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	first, last := shorten(lines[0]), strings.TrimSpace(lines[len(lines)-1])
	if len(lines) == 1 || last == "" {
		return first
	}
	return shorten(strings.TrimSuffix(strings.TrimSuffix(lines[0], "its last lines:"),
		"; ")) + "; its last line: " + shorten(last)
}

// longest is how much of a message is shown, in bytes; the log has all of it.
const longest = 300

func shorten(s string) string {
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
