// Package check judges Kubernetes manifests for Windows nodes. It owns the shape of a rule, the model of a pod, the
// decision on its operating system, and the run over documents. The rules are data in internal/check/rules;
// internal/check/manifest reads, and internal/check/report prints.
package check

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/check/manifest"
	"mullion.dev/mullion/internal/windows/winver"
)

// Severity says how bad a finding is.
type Severity string

// The severities, worst first.
const (
	Error   Severity = "error"   // the pod will not run, or the API server or the kubelet refuses it
	Warning Severity = "warning" // a field is silently ignored, or does something else than on Linux
	Info    Severity = "info"
)

// AtLeast reports whether s is as bad as t or worse.
func (s Severity) AtLeast(t Severity) bool {
	order := []Severity{Info, Warning, Error}
	return slices.Index(order, s) >= slices.Index(order, t)
}

// Target says where a rule's paths begin.
type Target string

// The targets.
const (
	OnPod       Target = "pod"       // paths begin at the pod or its template: spec.hostNetwork
	OnContainer Target = "container" // paths begin at each container, also init and ephemeral ones
	OnObject    Target = "object"    // paths begin at the object itself, whatever its kind; Func's Pod is that object
	OnInput     Target = "input"     // Cross looks at several objects; Fields begin at the pod or at Kind
	OnProgram   Target = "program"   // package programs judges programs; the rule has no form of its own
)

// Op is a condition on a value.
type Op string

// The conditions, each of which has a form in CEL: has(x); !has(x); size(x) > 0; x in [...]; x.matches(...).
const (
	Present  Op = "present"  // it is there and not null
	Absent   Op = "absent"   // it is not there
	NonEmpty Op = "nonempty" // a list or map with something in it
	In       Op = "in"       // a scalar whose text is one of Values
	NotIn    Op = "notin"    // a scalar whose text is none of Values
	Matches  Op = "matches"  // a scalar that the RE2 expression Values[0] matches
)

// Match is a condition on a field. Path is keys with dots between them; "[*]" after a key stands for each item of its
// list, "[key]" for a key that users choose: spec.nodeSelector[kubernetes.io/os].
type Match struct {
	Path   string
	Op     Op
	Values []string
}

// Source is a page that documents a fact.
type Source struct{ Title, URL string }

// Rule is one thing that does not work on Windows nodes.
type Rule struct {
	// ID is the stable name, in kebab case, and the name of the fixtures' folder.
	ID                 string
	Severity           Severity
	Category           string
	Title, Why, Remedy string
	Source             Source
	// Since and Until bound the Kubernetes minor versions (of 1.x) with the problem: Since <= version < Until. 0: no
	// bound.
	Since, Until int
	// Refused is the minor version from which the API server refuses what Match finds in a pod whose spec.os.name is
	// windows; then the finding is an Error. 0: the API server accepts it.
	Refused int
	// SinceBuild and UntilBuild do the same for Windows builds.
	SinceBuild, UntilBuild uint32
	Target                 Target
	// When are conditions that must all hold at the target before Match is tried.
	When []Match
	// Match is the field rule: a finding for each place of each Match that holds.
	Match []Match
	// Func is the rule if field matches cannot express it. Exactly one of Match, Func and Cross is set. Func must not
	// keep p.
	Func func(p *Pod) []Hit
	// Cross is a rule about objects that belong together; it is called once, at the end of the input.
	Cross func(in *Input) []CrossHit
	// Systems are the systems of pods to which the rule applies; none: Windows and Either. A Cross has to check the
	// systems itself.
	Systems []OS
	// Unplaced says that the rule is only about pods that nothing keeps off the nodes of either system.
	Unplaced bool
	// Fields are the paths that Func or Cross reads, for the documentation and for the test that they exist.
	Fields []string
	// Fix returns the edits that remove a finding, nil if no edit is safe. It is called only for pods for Windows
	// (other pods may need the field on Linux), and for objects if that is the target. Edits that depend on others
	// come in a later call: after edits the text is judged again. Optional.
	Fix func(p *Pod, h Hit) []Edit
}

// Hit is a place at which a rule holds; Note is added to the message.
type Hit struct {
	manifest.Pos
	Path, Note string
}

// Validate returns an error for the first rule that breaks the table's rules.
func Validate(rules []Rule) error {
	seen := map[string]bool{}
	id := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)
	for i := range rules {
		r := &rules[i]
		if !id.MatchString(r.ID) || seen[r.ID] {
			return fmt.Errorf("check rule %q: the id has to be unique and in kebab case", r.ID)
		}
		seen[r.ID] = true
		if fault := r.fault(); fault != "" {
			return fmt.Errorf("check rule %q: %s", r.ID, fault)
		}

		for _, m := range slices.Concat(r.When, r.Match) {
			if err := m.validate(); err != nil {
				return fmt.Errorf("check rule %q: %w", r.ID, err)
			}
		}
	}

	return nil
}

// fault returns what is wrong with a rule, "" if nothing is.
func (r *Rule) fault() string {
	if slices.Contains([]string{r.Category, r.Title, r.Why, r.Remedy, r.Source.Title}, "") ||
		!strings.HasPrefix(r.Source.URL, "https://") {
		return "category, title, why, remedy and source are needed"
	}

	switch {
	case !slices.Contains([]Severity{Error, Warning, Info}, r.Severity):
		return "severity " + string(r.Severity)
	case !slices.Contains([]Target{OnPod, OnContainer, OnObject, OnInput, OnProgram}, r.Target) || !r.oneForm():
		return "a target, and one of Match, Func and Cross, are needed"
	case (len(r.Match) == 0) != (len(r.Fields) > 0) && r.Target != OnProgram:
		return "Fields goes with Func and Cross"
	case (r.Until != 0 && r.Until <= r.Since) || (r.UntilBuild != 0 && r.UntilBuild <= r.SinceBuild):
		return "no version is in its range"
	}

	return ""
}

// oneForm reports whether exactly one of Match, Func and Cross is set, and fits the target.
func (r *Rule) oneForm() bool {
	n := 0
	for _, is := range []bool{len(r.Match) > 0, r.Func != nil, r.Cross != nil} {
		if is {
			n++
		}
	}
	if r.Target == OnProgram {
		return n == 0
	}
	return n == 1 && (r.Cross != nil) == (r.Target == OnInput)
}

// concerns reports whether the rule applies to pods with this decision.
func (r *Rule) concerns(system OS, by By) bool {
	if r.Unplaced && by.Places() {
		return false
	}
	if len(r.Systems) == 0 {
		return system != Linux
	}
	return slices.Contains(r.Systems, system)
}

// Range says for which versions the rule holds, "" for all: "before Windows ltsc2022 (build 20348)".
func (r *Rule) Range() string {
	var parts []string
	kubernetes := func(n int) string { return "Kubernetes 1." + strconv.Itoa(n) }
	windows := func(n uint32) string {
		if b, err := winver.Lookup(strconv.FormatUint(uint64(n), 10)); err == nil {
			return "Windows " + b.Name
		}
		return "Windows build " + strconv.FormatUint(uint64(n), 10)
	}

	if r.Since > firstKubernetes {
		parts = append(parts, "from "+kubernetes(r.Since)+" on")
	}
	if r.Until != 0 {
		parts = append(parts, "before "+kubernetes(r.Until))
	}
	if r.SinceBuild != 0 {
		parts = append(parts, "from "+windows(r.SinceBuild)+" on")
	}

	if r.UntilBuild != 0 {
		parts = append(parts, "before "+windows(r.UntilBuild))
	}
	return strings.Join(parts, ", ")
}

// firstKubernetes is the oldest minor version that is judged: the first with Windows nodes.
const firstKubernetes = 14

func (m Match) validate() error {
	wants := 0
	switch m.Op {
	case Present, Absent, NonEmpty:
	case In, NotIn:
		wants = max(1, len(m.Values))
	case Matches:
		wants = 1
		if len(m.Values) == 1 {
			if _, err := regexp.Compile(m.Values[0]); err != nil {
				return err
			}
		}

	default:
		return fmt.Errorf("path %q: unknown condition %q", m.Path, m.Op)
	}

	if _, err := parsePath(m.Path); err != nil {
		return err
	}
	if len(m.Values) != wants {
		return fmt.Errorf("path %q, condition %s: %d values", m.Path, m.Op, len(m.Values))
	}
	return nil
}

// compiled is a Match with its path parsed and its expression compiled.
type compiled struct {
	Match
	steps []step
	re    *regexp.Regexp
}

func compile(ms []Match) []compiled {
	var out []compiled
	for _, m := range ms {
		steps, _ := parsePath(m.Path) // Validate has parsed it
		c := compiled{Match: m, steps: steps}
		if m.Op == Matches {
			c.re = regexp.MustCompile(m.Values[0]) // Validate has compiled it
		}
		out = append(out, c)
	}
	return out
}

// holds reports whether the condition is true for a value.
func (c *compiled) holds(n *manifest.Node) bool {
	scalar := n.Set() && n.Kind != manifest.Map && n.Kind != manifest.List
	switch c.Op {
	case Present:
		return n.Set()
	case Absent:
		return !n.Set()
	case NonEmpty:
		return n.Set() && len(n.Items)+len(n.Fields) > 0
	case In:
		return scalar && slices.Contains(c.Values, n.Value)
	case NotIn:
		return scalar && !slices.Contains(c.Values, n.Value)
	default:
		return scalar && c.re.MatchString(n.Value)
	}
}

// find returns every place below n at which the condition holds. at is the place and path of n itself.
func (c *compiled) find(n *manifest.Node, at Hit) []Hit { return c.walk(n, c.steps, at) }
