package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"  // md5sum is what it is
	"crypto/sha1" // sha1sum is what it is
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// echo is /bin/echo; the shell has its own.
func echo(_ context.Context, c *call) int {
	args, end := c.args[1:], "\n"
	if len(args) > 0 && args[0] == "-n" {
		args, end = args[1:], ""
	}
	if _, err := fmt.Fprint(c.stdout, strings.Join(args, " ")+end); err != nil {
		return c.fail(err)
	}
	return 0
}

func uniq(_ context.Context, c *call) int {
	o, err := c.parse("c", "")
	if err != nil {
		return c.usage("%v", err)
	}

	lines, code := readLines(c, o.args())
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && lines[n] == lines[0] {
			n++
		}

		if o.has("c") {
			fmt.Fprintf(c.stdout, "%7d ", n)
		}
		fmt.Fprintln(c.stdout, lines[0])
		lines = lines[n:]
	}

	return code
}

// cut knows -d with -f, and -c, with lists such as 1,3-5 and 2-.
func cut(_ context.Context, c *call) int {
	o, err := c.parse("s", "d f c")
	if err != nil {
		return c.usage("%v", err)
	}
	separator, wanted := "\t", o.get("f")
	if o.has("d") {
		separator = o.get("d")
	}

	if o.has("c") {
		separator, wanted = "", o.get("c")
	}
	pick, err := fieldList(wanted)
	if err != nil {
		return c.usage("%v", err)
	}

	lines, code := readLines(c, o.args())
	for _, l := range lines {
		fields := strings.Split(l, separator)
		if len(fields) == 1 && !o.has("c") {
			if !o.has("s") {
				fmt.Fprintln(c.stdout, l)
			}
			continue
		}

		var out []string
		for i, f := range fields {
			if pick(i + 1) {
				out = append(out, f)
			}
		}

		fmt.Fprintln(c.stdout, strings.Join(out, separator))
	}

	return code
}

func fieldList(list string) (func(int) bool, error) {
	type span struct{ from, to int }
	var spans []span
	for part := range strings.SplitSeq(list, ",") {
		a, b, ranged := strings.Cut(part, "-")
		s := span{1, 1 << 30}
		var err error
		if a != "" {
			if s.from, err = strconv.Atoi(a); err != nil {
				return nil, fmt.Errorf("bad list '%s'", list)
			}
		}

		if !ranged {
			s.to = s.from
		} else if b != "" {
			if s.to, err = strconv.Atoi(b); err != nil {
				return nil, fmt.Errorf("bad list '%s'", list)
			}
		}

		if part == "" || part == "-" {
			return nil, fmt.Errorf("bad list '%s'", list)
		}
		spans = append(spans, s)
	}

	return func(n int) bool {
		return slices.ContainsFunc(spans, func(s span) bool { return s.from <= n && n <= s.to })
	}, nil
}

// tr knows two sets, or -d with one; a set may have ranges and \n, \r, \t.
func tr(_ context.Context, c *call) int {
	o, err := c.parse("d", "")
	if err != nil {
		return c.usage("%v", err)
	}
	args := o.args()
	if (o.has("d") && len(args) != 1) || (!o.has("d") && len(args) != 2) {
		return c.usage("wrong number of sets")
	}

	from := charSet(args[0])
	var to []rune
	if !o.has("d") {
		if to = charSet(args[1]); len(to) == 0 {
			return c.usage("the second set is empty")
		}
	}

	data, err := io.ReadAll(c.stdin)
	if err != nil {
		return c.fail(err)
	}

	fmt.Fprint(c.stdout, strings.Map(func(r rune) rune {
		i := slices.Index(from, r)
		switch {
		case i < 0:
			return r
		case to == nil:
			return -1
		}
		return to[min(i, len(to)-1)]
	}, string(data)))

	return 0
}

func charSet(s string) []rune {
	s = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", "[:upper:]", "A-Z", "[:lower:]", "a-z", "[:space:]",
		" \t\n\r", "[:digit:]", "0-9").Replace(s)
	in := []rune(s)
	var out []rune
	for i := 0; i < len(in); i++ {
		if i+2 < len(in) && in[i+1] == '-' && in[i] <= in[i+2] {
			for r := in[i]; r <= in[i+2]; r++ {
				out = append(out, r)
			}
			i += 2
			continue
		}
		out = append(out, in[i])
	}

	return out
}

// hexdump knows -C: 16 bytes a line, as numbers and as characters; lines like the one before are one star.
func hexdump(_ context.Context, c *call) int {
	o, err := c.parse("C", "")
	if err != nil {
		return c.usage("%v", err)
	}
	if !o.has("C") {
		return c.usage("only -C is there")
	}
	return c.each(o.args(), func(_ string, r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		_, err = io.WriteString(c.stdout, hexDump(data))
		return err
	})
}

func hexDump(data []byte) string {
	var out strings.Builder
	var before []byte
	starred := false
	for at := 0; at < len(data); at += 16 {
		line := data[at:min(at+16, len(data))]
		if bytes.Equal(line, before) {
			if !starred {
				out.WriteString("*\n")
			}
			starred = true
			continue
		}

		before, starred = line, false
		fmt.Fprintf(&out, "%08x ", at)
		text := make([]byte, len(line))
		for i := range 16 {
			if i%8 == 0 {
				out.WriteByte(' ')
			}
			if i >= len(line) {
				out.WriteString("   ")
				continue
			}

			fmt.Fprintf(&out, "%02x ", line[i])
			if text[i] = line[i]; line[i] < ' ' || line[i] > '~' {
				text[i] = '.'
			}
		}

		fmt.Fprintf(&out, " |%s|\n", text)
	}

	fmt.Fprintf(&out, "%08x\n", len(data))
	return out.String()
}

// seq knows seq LAST, seq FIRST LAST and seq FIRST STEP LAST, with integers.
func seq(ctx context.Context, c *call) int {
	numbers := []int{}
	for _, a := range c.args[1:] {
		n, err := strconv.Atoi(a)
		if err != nil {
			return c.usage("invalid number '%s'", a)
		}
		numbers = append(numbers, n)
	}

	first, step := 1, 1
	last := 0
	switch len(numbers) {
	case 1:
		last = numbers[0]
	case 2:
		first, last = numbers[0], numbers[1]
	case 3:
		first, last = numbers[0], numbers[2]
		step = numbers[1]
	default:
		return c.usage("want one, two or three numbers")
	}
	if step == 0 {
		return c.usage("the step is 0")
	}

	out := bufio.NewWriter(c.stdout)
	for n := first; ((step > 0 && n <= last) || (step < 0 && n >= last)) && ctx.Err() == nil; n += step {
		fmt.Fprintln(out, n)
	}

	if err := out.Flush(); err != nil {
		return c.fail(err)
	}
	return 0
}

func base64Coder(_ context.Context, c *call) int {
	o, err := c.parse("d", "w")
	if err != nil {
		return c.usage("%v", err)
	}
	return c.each(o.args(), func(_ string, r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}

		if o.has("d") {
			text := strings.Join(strings.Fields(string(data)), "")
			if data, err = base64.StdEncoding.DecodeString(text); err == nil {
				_, err = c.stdout.Write(data)
			}
			return err
		}
		_, err = fmt.Fprintln(c.stdout, base64.StdEncoding.EncodeToString(data))
		return err
	})
}

func sum(_ context.Context, c *call) int {
	kinds := map[string]func() hash.Hash{"md5sum": md5.New, "sha1sum": sha1.New, "sha256sum": sha256.New}
	return c.each(c.args[1:], func(name string, r io.Reader) error {
		h := kinds[appletName(c.args[0])]()
		if _, err := io.Copy(h, r); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.stdout, "%x  %s\n", h.Sum(nil), name)
		return err
	})
}

// xargs runs a command once, with the words of standard input as further arguments; with -n N for each N of them, with
// -I X for each line, in the place of X.
func xargs(ctx context.Context, c *call) int {
	o := &options{set: map[string]string{}, all: map[string][]string{}}
	args := c.args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		used, err := o.letters(args[0][1:], args[1:], set("r t"), set("n I"))
		if err != nil {
			return c.usage("%v", err)
		}
		args = args[1+used:]
	}
	if len(args) == 0 {
		args = []string{"echo"}
	}

	data, err := io.ReadAll(c.stdin)
	if err != nil {
		return c.fail(err)
	}

	var runs [][]string
	words := strings.Fields(string(data))
	switch {
	case o.has("I"):
		for line := range strings.Lines(string(data)) {
			one := make([]string, len(args))
			for i, a := range args {
				one[i] = strings.ReplaceAll(a, o.get("I"), strings.TrimRight(line, "\r\n"))
			}
			runs = append(runs, one)
		}

	case o.number("n") > 0:
		for part := range slices.Chunk(words, o.number("n")) {
			runs = append(runs, append(slices.Clone(args), part...))
		}
	case len(words) > 0 || !o.has("r"):
		runs = append(runs, append(slices.Clone(args), words...))
	}

	code := 0
	for _, r := range runs {
		if c.program(ctx, r) != 0 {
			code = 123
		}
	}

	return code
}

func basename(_ context.Context, c *call) int {
	if len(c.args) < 2 {
		return c.usage("missing operand")
	}
	name := filepath.Base(c.args[1])
	if len(c.args) > 2 {
		name = strings.TrimSuffix(name, c.args[2])
	}
	fmt.Fprintln(c.stdout, name)
	return 0
}

func dirname(_ context.Context, c *call) int {
	if len(c.args) < 2 {
		return c.usage("missing operand")
	}
	fmt.Fprintln(c.stdout, filepath.ToSlash(filepath.Dir(c.args[1])))
	return 0
}
