package check

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"mullion.dev/mullion/internal/check/manifest"
	"mullion.dev/mullion/internal/winver"
)

// Options choose what is judged.
type Options struct {
	// Kubernetes is the minor version of 1.x.
	Kubernetes int
	// Windows are the builds of the nodes; a rule counts if it holds on one of them.
	Windows []winver.Build
}

// Finding is a rule that holds at a place.
type Finding struct {
	Rule     *Rule
	Severity Severity // the rule's, or Error where the API server refuses the field
	Object   Object
	File     string
	Message  string
	Snippet  string // the line of the file
	Edits    []Edit // what removes the finding, if the rule knows
	Hit
}

// Result is what one document gave.
type Result struct {
	File     string
	Findings []Finding
	Faults   []manifest.Fault
	Pods     map[OS]int
	Passed   map[string]int // objects of other kinds, by kind; "" is what is no object
}

type ready struct {
	*Rule
	kubernetes  int
	when, match []compiled
}

// Checker applies rules.
type Checker struct{ rules []ready }

// New validates the rules and keeps those that hold for the versions.
func New(rules []Rule, o Options) (*Checker, error) {
	if err := Validate(rules); err != nil {
		return nil, err
	}
	c := &Checker{}
	for i := range rules {
		r := &rules[i]
		if o.Kubernetes < r.Since || r.Until != 0 && o.Kubernetes >= r.Until {
			continue
		}
		for _, b := range o.Windows {
			if b.Version.Build >= r.SinceBuild && (r.UntilBuild == 0 || b.Version.Build < r.UntilBuild) {
				c.rules = append(c.rules, ready{Rule: r, kubernetes: o.Kubernetes, when: compile(r.When), match: compile(r.Match)})
				break
			}
		}
	}
	return c, nil
}

// Run checks a stream. Documents are judged in parallel; emit gets the results one by one in the order of the stream.
// The error is the reader's or emit's.
func (c *Checker) Run(ctx context.Context, file string, in io.Reader, emit func(Result) error) error {
	type job struct {
		chunk manifest.Chunk
		done  chan Result
	}
	workers := runtime.GOMAXPROCS(0)
	jobs, order := make(chan job), make(chan job, 4*workers)
	g, ctx := errgroup.WithContext(ctx)
	var unread error
	g.Go(func() error {
		defer close(jobs)
		defer close(order)
		for chunk, err := range manifest.Split(in) {
			if err != nil {
				unread = fmt.Errorf("read %q: %w", file, err) // what came before is still judged
				return nil
			}
			j := job{chunk, make(chan Result, 1)}
			for _, to := range []chan job{order, jobs} {
				select {
				case to <- j:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		return nil
	})
	for range workers {
		g.Go(func() error {
			for j := range jobs {
				j.done <- c.document(file, j.chunk)
			}
			return nil
		})
	}
	g.Go(func() error {
		for j := range order {
			select {
			case r := <-j.done:
				if err := emit(r); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return unread
}

// document judges one chunk.
func (c *Checker) document(file string, chunk manifest.Chunk) Result {
	nodes, faults := manifest.Parse(chunk)
	r := Result{File: file, Faults: faults, Pods: map[OS]int{}, Passed: map[string]int{}}
	for _, n := range nodes {
		c.object(&r, n, "")
	}
	if len(r.Findings) > 0 {
		lines := bytes.Split(chunk.Text, []byte("\n"))
		for i := range r.Findings {
			if at := r.Findings[i].Line - chunk.Line; at >= 0 && at < len(lines) && len(lines[at]) < 1000 {
				r.Findings[i].Snippet = strings.TrimRight(string(lines[at]), " \t\r")
			}
		}
	}
	return r
}

// object judges an object, or each object of a List. listed is the kind of a typed list's items.
func (c *Checker) object(r *Result, n *manifest.Node, listed string) {
	obj := Object{Kind: n.Get("kind").Text(), Namespace: n.Get("metadata", "namespace").Text(), Name: n.Get("metadata", "name").Text()}
	if obj.Name == "" {
		obj.Name = n.Get("metadata", "generateName").Text()
	}
	if obj.Kind == "" {
		obj.Kind = listed
	}
	if items := n.Get("items"); strings.HasSuffix(obj.Kind, "List") && items != nil && items.Kind == manifest.List {
		for _, item := range items.Items {
			if item.Kind == manifest.Map && item.Get("apiVersion") == nil { // typed lists leave these out
				item.Fields = append(item.Fields, manifest.Field{Key: "apiVersion", Value: n.Get("apiVersion")})
			}
			c.object(r, item, strings.TrimSuffix(obj.Kind, "List"))
		}
		return
	}
	p := podOf(n, obj)
	if p == nil {
		r.Passed[obj.Kind]++
		return
	}
	r.Pods[p.OS]++
	if p.OS != Linux {
		for i := range c.rules {
			c.rules[i].judge(r, p)
		}
	}
}

// judge applies a rule to a pod.
func (c *ready) judge(r *Result, p *Pod) {
	var hits []Hit
	switch {
	case c.Func != nil:
		hits = c.Func(p)
	case c.Target == OnPod:
		hits = c.at(p.Node, p.At)
	default:
		for _, k := range p.Containers() {
			hits = append(hits, c.at(k.Node, k.At)...)
		}
	}
	for _, h := range hits {
		f := Finding{Rule: c.Rule, Object: p.Object, File: r.File, Hit: h, Message: c.Title, Severity: c.Severity}
		if c.Rule.Refused != 0 && c.kubernetes >= c.Rule.Refused && p.By == "spec.os.name" {
			f.Severity = Error
			f.Message += " (the API server refuses it in a pod whose os.name is windows)"
		}
		if h.Note != "" {
			f.Message += ": " + h.Note
		}
		if c.Fix != nil && p.OS == Windows {
			f.Edits = c.Fix(p, h)
		}
		r.Findings = append(r.Findings, f)
	}
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
