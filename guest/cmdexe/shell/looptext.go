package shell

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/switches"
	"mullion.dev/mullion/guest/cmdexe/syntax"
)

// textOptions are the options of FOR /F.
type textOptions struct {
	eol      byte // 0: none
	skip     int
	delims   string
	tokens   []int // sorted
	rest     bool  // a last variable for what is left of the line
	backward bool  // usebackq
}

// parseTextOptions reads the options. wrong is what cannot be read.
func parseTextOptions(text string) (o textOptions, wrong string) {
	o = textOptions{
		eol:    ';',
		delims: " \t",
		tokens: []int{1},
	}

	for {
		text = strings.TrimLeft(text, " \t,;")

		lower := strings.ToLower(text)
		switch {
		case text == "":
			return o, ""
		case strings.HasPrefix(lower, "usebackq"):
			o.backward = true
			text = text[len("usebackq"):]

		case strings.HasPrefix(lower, "eol="):
			text = text[len("eol="):]
			o.eol = 0
			if text != "" {
				o.eol, text = text[0], text[1:]
			}

		case strings.HasPrefix(lower, "skip="):
			value, rest := option(text[len("skip="):])
			n, err := strconv.ParseInt(value, 0, 32)
			if err != nil || n <= 0 {
				return o, text
			}
			o.skip, text = int(n), rest

		case strings.HasPrefix(lower, "delims="):
			text = text[len("delims="):]
			o.delims, text = option(text)
			if text == " " || text == "\t" { // a blank at the very end is meant
				o.delims += text
				text = ""
			}

		case strings.HasPrefix(lower, "tokens="):
			var value string
			value, rest := option(text[len("tokens="):])
			if !o.parseTokens(value) {
				return o, text
			}
			text = rest
		default:
			return o, text
		}
	}
}

// option takes the value of an option off a text.
func option(text string) (value, rest string) {
	if end := strings.IndexAny(text, " \t"); end >= 0 {
		return text[:end], text[end:]
	}
	return text, ""
}

// parseTokens reads numbers such as 1,3-5*.
func (o *textOptions) parseTokens(text string) bool {
	const most = 31
	if text, o.rest = strings.CutSuffix(text, "*"); text == "" {
		o.tokens = nil
		return o.rest
	}

	var numbers []int
	for part := range strings.SplitSeq(strings.TrimSuffix(text, ","), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || from < 1 || to > most || from > to {
			return false
		}

		for n := from; n <= to; n++ {
			numbers = append(numbers, n)
		}
	}

	slices.Sort(numbers)
	o.tokens = slices.Compact(numbers)
	return true
}

// loopText carries FOR /F out.
func (s *Shell) loopText(run *iteration, set string) (int32, flow) {
	option := s.late(run.n.Option)
	if strings.HasPrefix(option, `"`) {
		option = trimQuotes(option)
	}
	o, wrong := parseTextOptions(option)
	if wrong != "" {
		return s.fail(&syntax.Error{Message: wrong + `" was unexpected at this time.`})
	}

	texts, err := s.texts(run, o, strings.Trim(set, " \t"))
	if err != nil {
		return s.fail(err)
	}
	count := len(o.tokens)
	if o.rest {
		count++
	}

	defer run.keep(run.n.Variable, count)()
	for _, text := range texts {
		if !run.lines(o, text) {
			break
		}
	}

	return run.code, run.how
}

// texts returns what FOR /F reads: files, a string or the output of a command.
func (s *Shell) texts(run *iteration, o textOptions, set string) ([][]byte, error) {
	quote := func(q string) bool { return len(set) > 1 && strings.HasPrefix(set, q) && strings.HasSuffix(set, q) }
	text, command := `"`, "'"
	if o.backward {
		text, command = "'", "`"
	}

	switch {
	case quote(command):
		return [][]byte{s.output(run, set[1:len(set)-1])}, nil
	case quote(text):
		return [][]byte{[]byte(set[1 : len(set)-1])}, nil
	}

	var texts [][]byte
	for _, name := range words(set) {
		f, err := s.o.Disk.Open(s.full(unquoted(name)), disk.Read)
		if err != nil {
			if errors.Is(err, disk.FileNotFound) {
				return nil, errors.New("The system cannot find the file " + unquoted(name) + ".")
			}
			return nil, err
		}

		content, err := io.ReadAll(f)
		_ = f.Close() // it was only read
		if err != nil {
			return nil, err
		}
		texts = append(texts, content)
	}

	return texts, nil
}

// output returns what a command prints. It runs in a shell of its own, as after cmd /c.
func (s *Shell) output(run *iteration, line string) []byte {
	r, w, err := os.Pipe()
	if err != nil {
		s.say(err.Error())
		return nil
	}

	var text []byte
	var wg sync.WaitGroup
	wg.Go(func() {
		text, _ = io.ReadAll(r) // up to an error: there is no more
		_ = r.Close()
	})

	c := s.clone()
	c.frame = nil
	c.loops = 0
	c.echo = false
	c.delayed = s.o.Delayed
	c.files[1] = w
	_, how := c.line(run.ctx, switches.Unquote(line, c.isProgram))
	_ = w.Close() // the reader sees the end
	wg.Wait()

	switch {
	case how == abort && c.code == interruptedCode:
		s.pressed = true
	case how == abort:
		run.how = abort
	}

	return text
}

// lines runs the body for each line of a text; false: no further one.
func (r *iteration) lines(o textOptions, text []byte) bool {
	for number := 0; len(text) > 0; number++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		if number < o.skip {
			continue
		}
		if !r.line(o, strings.TrimSuffix(string(line), "\r")) {
			return false
		}
	}
	return r.how == next
}

// line takes a line apart and runs the body, unless the line is empty or a remark.
func (r *iteration) line(o textOptions, line string) bool {
	values, ok := o.split(line)
	if !ok {
		return true
	}
	for i, value := range values {
		r.s.vars[r.n.Variable+byte(i)] = value
	}
	return r.run()
}

// split gives the tokens that are asked for; false if the line has none of them.
func (o textOptions) split(line string) ([]string, bool) {
	delimits := func(c byte) bool { return strings.IndexByte(o.delims, c) >= 0 }
	at := 0
	skip := func() {
		for at < len(line) && delimits(line[at]) {
			at++
		}
	}

	skip()
	if at == len(line) || (o.eol != 0 && line[at] == o.eol) {
		return nil, false
	}

	var values []string
	found := false
	number := 1
	for _, wanted := range o.tokens {
		value := ""
		for ; number <= wanted && at < len(line); number++ {
			start := at
			for at < len(line) && !delimits(line[at]) {
				at++
			}

			value = line[start:at]
			if number < wanted {
				value = ""
			}
			skip()
		}

		if number <= wanted {
			value = ""
		} else {
			found = true
		}
		values = append(values, value)
	}

	if o.rest {
		values = append(values, line[at:])
		found = found || at < len(line)
	}

	return values, found
}
