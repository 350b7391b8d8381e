// Package fieldtemplate carries out templates in the language of Go's text/template on data that has fields and no
// methods. It owns the evaluation; reading a template is text/template/parse.
//
// A program that has text/template's own evaluation keeps every exported method of every type that it converts to an
// interface, for a template might call it (https://pkg.go.dev/reflect#Value.MethodByName): that is nine of the command's
// fifty megabytes. In place of methods there are fields that are functions: {{.Label "a"}} calls one. Templates do not
// define or call others.
package fieldtemplate

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"text/template/parse"
)

// Funcs are functions by their names, each with one result, or two of which the last is an error.
type Funcs map[string]any

// Template is a template that was read.
type Template struct {
	root  *parse.ListNode
	funcs Funcs
	// Escape is what becomes of each value that is printed; nil: it is printed as it is.
	Escape func(string) string
	// Strict makes an error of what is not in a map, as text/template's option missingkey=error does.
	Strict bool
}

const name = "template"

// Parse reads a template that may call funcs, beside those that every template has: and, eq, ge, gt, index, le, len,
// lt, ne, not, or, print, printf, println.
func Parse(text string, funcs Funcs) (*Template, error) {
	all := builtins()
	maps.Copy(all, funcs)
	trees, err := parse.Parse(name, text, "", "", all)
	if err != nil {
		return nil, err
	}
	if len(trees) > 1 {
		return nil, errors.New(name + ": templates within this one are not taken")
	}
	return &Template{root: trees[name].Root, funcs: all}, nil
}

// Execute writes the template with the values of data.
func (t *Template) Execute(w io.Writer, data any) error {
	dot := reflect.ValueOf(data)
	r := &run{
		Template: t,
		to:       w,
		vars:     []variable{{"$", dot}},
	}
	return r.walk(dot, t.root)
}

// run is a template that is being written.
type run struct {
	*Template

	to   io.Writer
	vars []variable
}

// variable is one of the template's.
type variable struct {
	name  string
	value reflect.Value
}

// The ends of a round of range that are no errors of the template.
var (
	errBreak    = errors.New("break")
	errContinue = errors.New("continue")
)

// walk writes a node.
func (r *run) walk(dot reflect.Value, node parse.Node) error {
	switch n := node.(type) {
	case *parse.TextNode:
		_, err := r.to.Write(n.Text)
		return err

	case *parse.ListNode:
		for _, one := range n.Nodes {
			if err := r.walk(dot, one); err != nil {
				return err
			}
		}

		return nil

	case *parse.ActionNode:
		v, err := r.pipe(dot, n.Pipe)
		if err != nil || len(n.Pipe.Decl) > 0 {
			return err
		}

		return r.print(v)

	case *parse.IfNode:
		return r.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return r.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		return r.loop(dot, n)
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	case *parse.CommentNode:
		return nil
	}

	return fmt.Errorf("%s: {{%s}} is not taken", name, node)
}

// branch writes what is between if or with and their end.
func (r *run) branch(dot reflect.Value, n *parse.BranchNode, with bool) error {
	defer r.forget(len(r.vars))
	v, err := r.pipe(dot, n.Pipe)
	if err != nil {
		return err
	}
	if !truth(v) {
		return r.otherwise(dot, n)
	}
	if with {
		dot = v
	}
	return r.walk(dot, n.List)
}

func (r *run) otherwise(dot reflect.Value, n *parse.BranchNode) error {
	if n.ElseList == nil {
		return nil
	}
	return r.walk(dot, n.ElseList)
}

// forget forgets the variables of what has ended.
func (r *run) forget(kept int) { r.vars = r.vars[:kept] }

// loop writes what is between range and its end, for each element.
func (r *run) loop(dot reflect.Value, n *parse.RangeNode) error {
	defer r.forget(len(r.vars))
	over, err := r.pipe(dot, n.Pipe)
	if err != nil {
		return err
	}

	kept := len(r.vars)
	round := func(key, element reflect.Value) error {
		defer r.forget(kept)
		if err := r.named(n.Pipe, key, element); err != nil {
			return err
		}
		if err := r.walk(element, n.List); !errors.Is(err, errContinue) {
			return err
		}
		return nil
	}

	some, err := elements(over, round)
	switch {
	case errors.Is(err, errBreak):
		return nil
	case err == nil && !some:
		return r.otherwise(dot, &n.BranchNode)
	}

	return err
}

// named sets the variables of a round: of one, the element, of two, its key before it.
func (r *run) named(p *parse.PipeNode, key, element reflect.Value) error {
	values := []reflect.Value{element}
	if len(p.Decl) > 1 {
		values = []reflect.Value{key, element}
	}
	for i, d := range p.Decl {
		if err := r.set(d.Ident[0], values[i], p.IsAssign); err != nil {
			return err
		}
	}
	return nil
}

// set makes a variable, or gives one that is there another value.
func (r *run) set(of string, value reflect.Value, there bool) error {
	if !there {
		r.vars = append(r.vars, variable{of, value})
		return nil
	}
	for i := len(r.vars) - 1; i >= 0; i-- {
		if r.vars[i].name == of {
			r.vars[i].value = value
			return nil
		}
	}
	return fmt.Errorf("%s: there is no variable %s", name, of)
}

// pipe computes a pipeline, and gives its variables the result.
func (r *run) pipe(dot reflect.Value, p *parse.PipeNode) (v reflect.Value, err error) {
	var last []reflect.Value // the argument that comes of the command before
	for _, c := range p.Cmds {
		if v, err = r.command(dot, c, last); err != nil {
			return v, err
		}
		v = plain(v)
		last = []reflect.Value{v}
	}

	if len(p.Decl) == 0 {
		return v, nil
	}

	for _, d := range p.Decl {
		if len(p.Decl) > 1 {
			break // those of a range are its rounds'
		}
		if err := r.set(d.Ident[0], v, p.IsAssign); err != nil {
			return v, err
		}
	}

	return v, nil
}

// command computes a command: its first word is called with the rest, and then last.
func (r *run) command(dot reflect.Value, c *parse.CommandNode, last []reflect.Value) (reflect.Value, error) {
	first, rest := c.Args[0], c.Args[1:]
	if id, ok := first.(*parse.IdentifierNode); ok {
		return r.function(dot, id.Ident, rest, last)
	}
	if _, ok := first.(*parse.NilNode); ok {
		return reflect.Value{}, fmt.Errorf("%s: nil is no command", name)
	}

	v, err := r.value(dot, first)
	if err != nil {
		return v, err
	}

	if plain(v).Kind() == reflect.Func {
		args, err := r.values(dot, rest)
		if err != nil {
			return v, err
		}
		return call(plain(v), first.String(), append(args, last...))
	}

	if len(rest)+len(last) > 0 {
		return v, fmt.Errorf("%s: %s has arguments, and is no function", name, first)
	}
	return v, nil
}

// function calls a function. and and or compute no more arguments than they need.
func (r *run) function(
	dot reflect.Value, called string, rest []parse.Node, last []reflect.Value,
) (reflect.Value, error) {
	if called != "and" && called != "or" {
		args, err := r.values(dot, rest)
		if err != nil {
			return reflect.Value{}, err
		}
		return call(reflect.ValueOf(r.funcs[called]), called, append(args, last...))
	}

	var v reflect.Value
	for _, node := range rest {
		var err error
		if v, err = r.value(dot, node); err != nil || truth(v) == (called == "or") {
			return v, err
		}
	}

	if len(last) > 0 {
		v = last[0]
	}
	if len(rest)+len(last) == 0 {
		return v, fmt.Errorf("%s: %s has no arguments", name, called)
	}
	return v, nil
}

// values computes arguments.
func (r *run) values(dot reflect.Value, nodes []parse.Node) ([]reflect.Value, error) {
	var all []reflect.Value
	for _, node := range nodes {
		v, err := r.value(dot, node)
		if err != nil {
			return nil, err
		}
		all = append(all, plain(v))
	}
	return all, nil
}

// value computes an argument, or the first word of a command that is no function's name.
func (r *run) value(dot reflect.Value, node parse.Node) (reflect.Value, error) {
	switch n := node.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.FieldNode:
		return r.fields(dot, n.Ident)
	case *parse.VariableNode:
		for _, v := range slices.Backward(r.vars) {
			if v.name == n.Ident[0] {
				return r.fields(v.value, n.Ident[1:])
			}
		}

		return reflect.Value{}, fmt.Errorf("%s: there is no variable %s", name, n.Ident[0])

	case *parse.ChainNode:
		v, err := r.value(dot, n.Node)
		if err != nil {
			return v, err
		}

		return r.fields(v, n.Field)

	case *parse.PipeNode:
		return r.pipe(dot, n)
	case *parse.IdentifierNode:
		return r.function(dot, n.Ident, nil, nil)
	case *parse.StringNode:
		return reflect.ValueOf(n.Text), nil
	case *parse.BoolNode:
		return reflect.ValueOf(n.True), nil
	case *parse.NumberNode:
		return number(n)
	case *parse.NilNode:
		return reflect.Value{}, nil
	}

	return reflect.Value{}, fmt.Errorf("%s: %s is not taken", name, node)
}

// print writes a value as package fmt does, or what stands for none.
func (r *run) print(v reflect.Value) error {
	text := "<no value>"
	if v = pointed(v); v.IsValid() {
		if k := v.Kind(); k == reflect.Func || k == reflect.Chan {
			return fmt.Errorf("%s: a %s cannot be printed", name, v.Type())
		}
		text = fmt.Sprint(v.Interface())
	}
	if r.Escape != nil {
		text = r.Escape(text)
	}
	_, err := io.WriteString(r.to, text)
	return err
}
