package check

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/check/manifest"
	"mullion.dev/mullion/internal/windows/winver"
)

// Options say for which versions manifests are judged.
type Options struct {
	// Kubernetes is the minor version of 1.x.
	Kubernetes int
	// Windows are the builds of the nodes; a rule counts if it holds on one of them.
	Windows []winver.Build
	// Chosen says that the user named these builds, so they are those of a cluster; otherwise they are all likely ones.
	Chosen bool
	// Images looks images up; nil: images are judged by their names.
	Images Images
}

// Finding is a rule that holds at a place.
type Finding struct {
	Rule     *Rule
	Severity Severity // the rule's, or Error if the API server refuses the field
	Object   Object
	File     string
	Message  string
	Snippet  string // the line of the file
	Edits    []Edit // the edits that remove the finding, if the rule has any
	// Suppressed is the reason why the object's annotation ignores the rule, "" if it does not.
	Suppressed string
	// Windows names the chosen builds on which the rule holds.
	Windows []string
	Hit
}

// Result is the result of one document, or of the end of the input.
type Result struct {
	File     string
	Findings []Finding
	Faults   []manifest.Fault
	Pods     map[OS]int
	Passed   map[string]int // objects of other kinds, by kind; "": no object
	// Unlisted counts what is left out of Findings and Faults because nobody reads so many.
	Unlisted Unlisted

	facts   []*Fact
	held    []held
	unasked []unasked
	err     error // ends the run
}

type ready struct {
	*Rule
	options     *Options
	windows     []string // names of the chosen builds on which the rule holds
	note        string   // the range of versions, for the message
	when, match []compiled
}

// Checker applies rules to one input, which may have any number of streams.
type Checker struct {
	rules   []ready
	options Options
	memory  memory
}

// New validates the rules and keeps those that hold for the versions.
func New(rules []Rule, o Options) (*Checker, error) {
	if err := Validate(rules); err != nil {
		return nil, err
	}

	c := &Checker{options: o}
	c.memory.input.Options = o
	for i := range rules {
		r := &rules[i]
		if r.Target == OnProgram || o.Kubernetes < r.Since || (r.Until != 0 && o.Kubernetes >= r.Until) {
			continue
		}

		one := ready{
			Rule:    r,
			options: &c.options,
			when:    compile(r.When),
			match:   compile(r.Match),
			note:    r.Range(),
		}

		for _, b := range o.Windows {
			if b.Version.Build >= r.SinceBuild && (r.UntilBuild == 0 || b.Version.Build < r.UntilBuild) {
				one.windows = append(one.windows, b.Name)
			}
		}

		if len(one.windows) > 0 {
			c.rules = append(c.rules, one)
		}
	}

	return c, nil
}

// parallelLookups is how many documents at once wait for answers about images.
const parallelLookups = 8

// job is a document to be judged; done gets the one result.
type job struct {
	chunk manifest.Chunk
	done  chan Result
}

// Run checks a stream. Documents are judged in parallel; emit gets the results one by one in the order of the stream.
// The error is the reader's or emit's. Call Run for the streams of one input one after the other, and then Finish.
func (c *Checker) Run(ctx context.Context, file string, in io.Reader, emit func(Result) error) error {
	workers := runtime.GOMAXPROCS(0)
	if c.options.Images != nil {
		workers = max(workers, parallelLookups)
	}

	jobs, order := make(chan job), make(chan job, 4*workers)
	g, ctx := errgroup.WithContext(ctx)
	var unread error
	g.Go(func() (err error) {
		defer close(jobs)
		defer close(order)
		unread, err = split(ctx, file, in, jobs, order)
		return err
	})

	for range workers {
		g.Go(func() error {
			for j := range jobs {
				j.done <- c.document(ctx, file, j.chunk)
			}
			return nil
		})
	}

	g.Go(func() error { return c.collect(ctx, order, emit) })
	if err := g.Wait(); err != nil {
		return err
	}
	return unread
}

// split sends the documents of a stream to order, and to jobs but for those that are too many. unread is the reader's
// error, err that of ctx.
func split(ctx context.Context, file string, in io.Reader, jobs, order chan<- job) (unread, err error) {
	documents := 0
	for chunk, err := range manifest.Split(in) {
		if err != nil {
			return fmt.Errorf("read %q: %w", file, err), nil // the documents before the error are still judged
		}
		j, to := job{chunk, make(chan Result, 1)}, []chan<- job{order, jobs}
		if documents++; documents > mostDocuments {
			j.done <- tooManyDocuments(file, chunk.Line)
			to = to[:1]
		}

		for _, to := range to {
			select {
			case to <- j:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}

		if documents > mostDocuments {
			break
		}
	}

	return nil, nil
}

// collect passes the results on to emit, in their order.
func (c *Checker) collect(ctx context.Context, order <-chan job, emit func(Result) error) error {
	for j := range order {
		select {
		case r := <-j.done:
			c.keep(&r)
			r.limit()
			if r.err != nil {
				return r.err
			}
			if err := emit(r); err != nil {
				return err
			}

		case <-ctx.Done():
			return ctx.Err()
		}
	}

	return nil
}

// keep stores the facts of a result by which other objects are judged, and decides on the pods whose RuntimeClass is
// known by now.
func (c *Checker) keep(r *Result) {
	m := &c.memory
	var kept map[*Fact]bool
	for _, f := range r.facts {
		if m.add(f) {
			if kept == nil {
				kept = map[*Fact]bool{}
			}
			kept[f] = true
		}
	}

	for _, h := range r.held {
		findings, done := m.settle(h, !kept[h.fact])
		if !done {
			if m.hold(h) {
				continue
			}
			findings, _ = m.settle(h, true)
		}
		r.Pods[h.fact.OS]++
		r.Findings = append(r.Findings, findings...)
	}

	if len(r.held) > 0 {
		sortFindings(r.Findings)
	}
	for _, u := range r.unasked {
		if !m.told[u.about] {
			m.tell(u.about)
			r.Faults = append(r.Faults, u.fault)
		}
	}

	r.facts = nil
	r.held = nil
	r.unasked = nil
}

// Finish judges what depends on the whole input: pods whose RuntimeClass was not read before them, and objects that
// belong together. emit gets a result for each file.
func (c *Checker) Finish(emit func(Result) error) error {
	var files []string
	results := map[string]*Result{}
	of := func(file string) *Result {
		if results[file] == nil {
			files = append(files, file)
			results[file] = &Result{
				File:   file,
				Pods:   map[OS]int{},
				Passed: map[string]int{},
			}
		}

		return results[file]
	}

	m := &c.memory
	for _, h := range m.held {
		r := of(h.fact.File)
		findings, _ := m.settle(h, true)
		r.Pods[h.fact.OS]++
		r.Findings = append(r.Findings, findings...)
	}

	for i := range c.rules {
		rule := &c.rules[i]
		if rule.Cross == nil {
			continue
		}

		for _, hit := range rule.Cross(&m.input) {
			r := of(hit.Fact.File)
			f := rule.finding(hit.Fact.Object, hit.Fact.File, hit.Hit)
			f.Snippet = hit.Fact.line(hit.Line)
			r.Findings = append(r.Findings, f)
		}
	}

	if m.full {
		of(m.file).Faults = []manifest.Fault{tooMuch()}
	}

	c.memory = memory{input: Input{Options: c.options}}
	for _, file := range files {
		sortFindings(results[file].Findings)
		if err := emit(*results[file]); err != nil {
			return err
		}
	}

	return nil
}

// sortFindings puts findings in the order of the text.
func sortFindings(fs []Finding) {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// document judges one chunk.
func (c *Checker) document(ctx context.Context, file string, chunk manifest.Chunk) Result {
	nodes, faults := manifest.Parse(chunk)
	r := Result{
		File:   file,
		Faults: faults,
		Pods:   map[OS]int{},
		Passed: map[string]int{},
	}

	for _, n := range nodes {
		c.object(ctx, &r, n, "")
	}

	sortFindings(r.Findings)
	if len(r.Findings)+len(r.facts) == 0 {
		return r
	}

	lines := bytes.Split(chunk.Text, []byte("\n"))
	line := func(n int) string {
		if at := n - chunk.Line; at >= 0 && at < len(lines) && len(lines[at]) < 1000 {
			return strings.TrimRight(string(lines[at]), " \t\r")
		}
		return ""
	}

	show := func(fs []Finding) {
		for i := range fs {
			fs[i].Snippet = line(fs[i].Line)
		}
	}
	show(r.Findings)
	for _, h := range r.held {
		show(h.findings)
	}

	for _, f := range r.facts {
		f.File = file
		f.remember(line)
	}

	return r
}

// object judges an object, or each object of a List. listed is the kind of a typed list's items.
func (c *Checker) object(ctx context.Context, r *Result, n *manifest.Node, listed string) {
	obj := Object{
		Kind:      n.Get("kind").Text(),
		Namespace: n.Get("metadata", "namespace").Text(),
		Name:      n.Get("metadata", "name").Text(),
	}
	if obj.Name == "" {
		obj.Name = n.Get("metadata", "generateName").Text()
	}

	if obj.Kind == "" {
		obj.Kind = listed
	}

	if items := n.Get("items"); strings.HasSuffix(obj.Kind, "List") && items != nil && items.Kind == manifest.List {
		seen := map[*manifest.Node]bool{} // aliases of YAML make one item many
		for _, item := range items.Items {
			if seen[item] {
				continue
			}
			seen[item] = true
			r.limit()
			if item.Kind == manifest.Map && item.Get("apiVersion") == nil { // typed lists leave these out
				item.Fields = append(item.Fields, manifest.Field{Key: "apiVersion", Value: n.Get("apiVersion")})
			}
			c.object(ctx, r, item, strings.TrimSuffix(obj.Kind, "List"))
		}

		return
	}

	p := podOf(n, obj)
	if p != nil {
		r.err = cmp.Or(r.err, c.lookUp(ctx, r, p))
	}
	taken, faults := ignored(n, p)
	obj.Ignored, r.Faults = taken, append(r.Faults, faults...)
	if p != nil {
		p.Object = obj
	}

	c.whole(r, n, obj)
	fact := factOf(n, obj, p)
	if fact != nil {
		r.facts = append(r.facts, fact)
	}
	if p == nil {
		r.err = cmp.Or(r.err, c.custom(ctx, r, n, obj))
		return
	}

	p.Options = &c.options
	c.pod(r, p, fact)
}

// custom judges what makes pods for Windows in an object of a kind that is not known.
func (c *Checker) custom(ctx context.Context, r *Result, n *manifest.Node, obj Object) error {
	pods := customPods(n, obj)
	if len(pods) == 0 {
		r.Passed[obj.Kind]++
		return nil
	}

	var findings []Finding
	for _, p := range pods {
		if err := c.lookUp(ctx, r, p); err != nil {
			return err
		}

		p.Options = &c.options
		for i := range c.rules {
			rule := &c.rules[i]
			if rule.Cross == nil && rule.Target != OnObject && rule.concerns(p.OS, p.By) {
				findings = rule.judge(findings, r.File, p, false)
			}
		}

		r.Pods[p.OS]++
	}

	findings = bounded(r, obj, findings)
	placed(n, findings)
	r.Findings = append(r.Findings, findings...)
	return nil
}

// whole judges an object by the rules about objects of whatever kind.
func (c *Checker) whole(r *Result, n *manifest.Node, obj Object) {
	p := &Pod{
		Object:  obj,
		Owner:   n,
		Node:    n,
		At:      Hit{Pos: n.Pos},
		Options: &c.options,
	}
	for i := range c.rules {
		if rule := &c.rules[i]; rule.Target == OnObject {
			r.Findings = rule.judge(r.Findings, r.File, p, true)
		}
	}
}

// pod judges a pod, or makes it wait for its RuntimeClass.
func (c *Checker) pod(r *Result, p *Pod, fact *Fact) {
	waits := fact.needsClass()
	var findings []Finding
	for i := range c.rules {
		if rule := &c.rules[i]; rule.Cross == nil && rule.Target != OnObject && (waits || rule.concerns(p.OS, p.By)) {
			findings = rule.judge(findings, r.File, p, waits || p.OS == Windows)
		}
	}

	findings = bounded(r, p.Object, findings)
	if p.more {
		r.Faults = append(r.Faults, manifest.Fault{
			Pos:     p.At.Pos,
			Message: fmt.Sprintf("the pod has more than %d containers, of which no more are judged", mostContainers),
			Remedy:  "make several of it",
		})
	}

	if waits {
		sortFindings(findings)
		r.held = append(r.held, held{fact, findings})
		return
	}
	r.Pods[p.OS]++
	r.Findings = append(r.Findings, findings...)
}

// mostFindings is how many findings of one object are kept.
const mostFindings = 1000

// bounded leaves out findings that say the same of the same place, which aliases of YAML make, and those of an object
// that has too many, which it says.
func bounded(r *Result, obj Object, findings []Finding) []Finding {
	type place struct {
		rule    *Rule
		pos     manifest.Pos
		message string
	}

	seen := map[place]bool{}
	kept := findings[:0]
	for i := range findings {
		f := &findings[i]
		at := place{f.Rule, f.Pos, f.Message}
		if seen[at] {
			continue
		}

		if len(kept) == mostFindings {
			r.Faults = append(r.Faults, manifest.Fault{
				Pos: f.Pos,
				Message: fmt.Sprintf("%s %s has more than %d findings, of which no more are listed", obj.Kind,
					obj.Name, mostFindings),
				Remedy:   remedyUnlisted,
				Unlisted: true,
			})
			break
		}

		seen[at] = true
		kept = append(kept, *f)
	}

	return kept
}

// judge applies a rule to a pod; with fix its findings get edits.
func (c *ready) judge(to []Finding, file string, p *Pod, fix bool) []Finding {
	var hits []Hit
	switch {
	case c.Func != nil:
		hits = c.Func(p)
	case c.Target == OnPod, c.Target == OnObject:
		hits = c.at(p.Node, p.At)
	default:
		for _, k := range p.Containers() {
			hits = append(hits, c.at(k.Node, k.At)...)
		}
	}

	for _, h := range hits {
		f := c.finding(p.Object, file, h)
		if c.Refused != 0 && c.options.Kubernetes >= c.Refused && p.By == ByOSName {
			f.Severity = Error
			f.Message += " (the API server refuses it in a pod whose os.name is windows)"
		}
		if c.Fix != nil && fix {
			f.Edits = c.Fix(p, h)
		}
		to = append(to, f)
	}

	return to
}

// finding makes a finding from a hit.
func (c *ready) finding(obj Object, file string, h Hit) Finding {
	f := Finding{
		Rule:       c.Rule,
		Object:     obj,
		File:       file,
		Hit:        h,
		Message:    c.Title,
		Severity:   c.Severity,
		Windows:    c.windows,
		Suppressed: obj.Ignored.Reason(c.ID),
	}

	if h.Note != "" {
		f.Message += ": " + h.Note
	}
	if c.note != "" {
		f.Message += " (" + c.note + ")"
	}
	f.Message = plaintext.Shortened(f.Message, mostOfMessage)
	return f
}

func (c *ready) at(n *manifest.Node, at Hit) []Hit {
	for i := range c.when {
		if len(c.when[i].find(n, at)) == 0 {
			return nil
		}
	}
	var hits []Hit
	for i := range c.match {
		hits = append(hits, c.match[i].find(n, at)...)
	}
	return hits
}
