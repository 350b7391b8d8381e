package shell

import (
	"context"
	"strings"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/syntax"
	"mullion.dev/mullion/guest/cmdexe/wild"
)

// loop carries FOR out.
func (s *Shell) loop(ctx context.Context, n *syntax.For) (int32, flow) {
	set := s.late(n.Set)
	s.loops++
	defer func() { s.loops-- }()
	run := &iteration{
		s:   s,
		ctx: ctx,
		n:   n,
	}
	defer run.keep(n.Variable, 1)()

	switch n.Kind {
	case 'l':
		run.count(set)
	case 'f':
		return s.loopText(run, set)
	case 'r':
		root := s.dir
		if option := unquoted(s.late(n.Option)); option != "" {
			root = s.full(option)
		}
		run.tree(root, words(set), 0)

	default:
		for _, word := range words(set) {
			if !run.word(word) {
				break
			}
		}
	}

	return run.code, run.how
}

// iteration is a FOR while it runs.
type iteration struct {
	s    *Shell
	ctx  context.Context //nolint:containedctx // it lives as long as the FOR
	n    *syntax.For
	code int32
	how  flow
}

// keep keeps the values of variables; the function that it returns brings them back.
func (r *iteration) keep(first byte, count int) func() {
	old := map[byte]string{}
	had := map[byte]bool{}
	for i := range count {
		name := first + byte(i)
		old[name], had[name] = r.s.vars[name], false
		if _, ok := r.s.vars[name]; ok {
			had[name] = true
		}
	}

	return func() {
		for name, value := range old {
			if had[name] {
				r.s.vars[name] = value
			} else {
				delete(r.s.vars, name)
			}
		}
	}
}

// body runs the body with a value of the variable; false: no further one.
func (r *iteration) body(value string) bool {
	r.s.vars[r.n.Variable] = value
	return r.run()
}

func (r *iteration) run() bool {
	r.s.show(r.n.Body)
	r.code, r.how = r.s.exec(r.ctx, r.n.Body)
	return r.how == next
}

// count counts: START,STEP,END.
func (r *iteration) count(set string) {
	var numbers [3]int64
	for i, word := range words(set) {
		if i < len(numbers) {
			if n, ok := whole(word); ok {
				numbers[i] = n
			} else {
				numbers[i], _ = leading(word)
			}
		}
	}

	start := numbers[0]
	step := numbers[1]
	end := numbers[2]
	for i := start; (step >= 0 && i <= end) || (step < 0 && i >= end); i += step {
		if !r.body(itoa(int(i))) {
			return
		}
	}
}

// word runs the body for a word of the set, or for each file that it means.
func (r *iteration) word(word string) bool {
	if !wild.Has(word) {
		return r.body(word)
	}
	pattern := unquoted(word)
	at := strings.LastIndexAny(pattern, `\/:`) + 1
	return r.files(r.s.full(pattern[:at]+"."), pattern[at:], pattern[:at])
}

// files runs the body for the files, or the folders, that a pattern matches.
func (r *iteration) files(folder, pattern, prefix string) bool {
	entries, err := r.s.o.Disk.List(folder)
	if err != nil {
		return true // as for a pattern that matches nothing
	}

	for _, e := range entries {
		isFolder := e.Folder() || (e.Attributes&disk.Link != 0 && r.s.o.Disk.IsFolder(folder+`\`+e.Name))
		if isFolder != r.n.Folders || e.Attributes&(disk.Hidden|disk.System) != 0 || !wild.Match(pattern, e.Name) {
			continue
		}
		if !r.body(prefix + e.Name) {
			return false
		}
	}

	return true
}

// deepestTree is how deep folders are followed.
const deepestTree = 256

// tree runs the body for the words of the set in a folder, and in those below it.
func (r *iteration) tree(folder string, set []string, depth int) bool {
	at := strings.TrimRight(folder, `\`)
	for _, word := range set {
		plain := unquoted(word)
		switch {
		case wild.Has(plain):
			if !r.files(folder, plain, at+`\`) {
				return false
			}
		case !r.body(at + `\` + plain):
			return false
		}
	}

	entries, err := r.s.o.Disk.List(folder)
	if err != nil || depth >= deepestTree {
		return true
	}
	for _, e := range entries {
		if e.Folder() && e.Attributes&disk.Link == 0 && !r.tree(at+`\`+e.Name, set, depth+1) {
			return false
		}
	}

	return true
}
