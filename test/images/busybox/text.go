package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// countArg turns the old form "head -5" into "head -n 5".
func countArg(c *call) {
	if len(c.args) > 1 && len(c.args[1]) > 1 && c.args[1][0] == '-' {
		if _, err := strconv.Atoi(c.args[1][1:]); err == nil {
			c.args = append([]string{c.args[0], "-n", c.args[1][1:]}, c.args[2:]...)
		}
	}
}

func head(_ context.Context, c *call) int {
	countArg(c)
	o, err := c.parse("q", "n c")
	if err != nil {
		return c.usage("%v", err)
	}
	n := 10
	if o.has("n") {
		n = o.number("n")
	}

	return c.each(o.args(), func(_ string, r io.Reader) error {
		if o.has("c") {
			_, err := io.CopyN(c.stdout, r, int64(o.number("c")))
			if err == io.EOF { //nolint:errorlint // CopyN gives it as it is
				err = nil
			}
			return err
		}

		in := bufio.NewReader(r)
		for range n {
			line, err := in.ReadString('\n')
			fmt.Fprint(c.stdout, line)
			if err != nil {
				break
			}
		}

		return nil
	})
}

// tail knows -n, also from a line on (+N), and -f.
func tail(ctx context.Context, c *call) int {
	countArg(c)
	o, err := c.parse("f F q", "n c")
	if err != nil {
		return c.usage("%v", err)
	}
	count := o.get("n")
	if count == "" {
		count = "10"
	}

	n, err := strconv.Atoi(count)
	if err != nil {
		return c.usage("invalid number '%s'", count)
	}
	return c.each(o.args(), func(name string, r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		lines := bytes.SplitAfter(data, []byte("\n"))
		if len(lines[len(lines)-1]) == 0 {
			lines = lines[:len(lines)-1]
		}

		from := max(0, len(lines)-max(n, -n))
		if strings.HasPrefix(count, "+") {
			from = min(max(n-1, 0), len(lines))
		}
		if _, err := c.stdout.Write(bytes.Join(lines[from:], nil)); err != nil || (!o.has("f") && !o.has("F")) {
			return err
		}

		for wait(ctx, 200*time.Millisecond) {
			if name == "/dev/null" {
				continue
			}
			if _, err := io.Copy(c.stdout, r); err != nil {
				return err
			}
		}

		return nil
	})
}

func grep(_ context.Context, c *call) int {
	o, err := c.parse("E F i v q c o n w x s r", "e m")
	if err != nil {
		return c.usage("%v", err)
	}

	args := o.args()
	if !o.has("e") {
		if len(args) == 0 {
			return c.usage("no pattern")
		}
		o.put("e", args[0])
		args = args[1:]
	}

	re, err := grepPattern(o)
	if err != nil {
		return c.usage("bad regex: %v", err)
	}

	found := false
	code := c.each(args, func(name string, r io.Reader) error {
		count := 0
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 16<<20)
		for number := 1; lines.Scan(); number++ {
			if re.MatchString(lines.Text()) == o.has("v") {
				continue
			}
			found = true
			count++
			if o.has("q") || o.has("c") {
				continue
			}

			text := lines.Text()
			if o.has("o") {
				text = strings.Join(re.FindAllString(text, -1), "\n")
			}
			if o.has("n") {
				text = strconv.Itoa(number) + ":" + text
			}

			if len(args) > 1 {
				text = name + ":" + text
			}
			fmt.Fprintln(c.stdout, text)
		}

		if o.has("c") {
			fmt.Fprintln(c.stdout, count)
		}
		return lines.Err()
	})
	switch {
	case found:
		return 0
	case code != 0:
		return 2
	}

	return 1
}

func grepPattern(o *options) (*regexp.Regexp, error) {
	var parts []string
	for _, p := range o.all["e"] {
		if o.has("F") {
			p = regexp.QuoteMeta(p)
		}
		parts = append(parts, p)
	}

	expr := "(?:" + strings.Join(parts, "|") + ")"
	if o.has("w") {
		expr = `\b` + expr + `\b`
	}
	if o.has("x") {
		expr = "^" + expr + "$"
	}

	if o.has("i") {
		expr = "(?i)" + expr
	}
	return regexp.Compile(expr)
}

func wc(_ context.Context, c *call) int {
	o, err := c.parse("l w c", "")
	if err != nil {
		return c.usage("%v", err)
	}
	return c.each(o.args(), func(name string, r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}

		var counts []string
		add := func(flag string, n int) {
			if o.has(flag) || len(o.set) == 0 {
				counts = append(counts, strconv.Itoa(n))
			}
		}
		add("l", bytes.Count(data, []byte("\n")))
		add("w", len(bytes.Fields(data)))
		add("c", len(data))
		line := strings.Join(counts, " ")
		if name != "-" {
			line += " " + name
		}

		fmt.Fprintln(c.stdout, line)
		return nil
	})
}

// readLines reads all lines of all files.
func readLines(c *call, names []string) (lines []string, code int) {
	code = c.each(names, func(_ string, r io.Reader) error {
		s := bufio.NewScanner(r)
		s.Buffer(nil, 16<<20)
		for s.Scan() {
			lines = append(lines, s.Text())
		}
		return s.Err()
	})
	return lines, code
}

func sortLines(_ context.Context, c *call) int {
	o, err := c.parse("u r n", "")
	if err != nil {
		return c.usage("%v", err)
	}

	lines, code := readLines(c, o.args())
	slices.SortStableFunc(lines, func(a, b string) int {
		if o.has("n") {
			x, _ := strconv.ParseFloat(strings.TrimSpace(a), 64)
			y, _ := strconv.ParseFloat(strings.TrimSpace(b), 64)
			if x != y {
				return map[bool]int{true: -1, false: 1}[x < y]
			}
		}
		return strings.Compare(a, b)
	})

	if o.has("r") {
		slices.Reverse(lines)
	}
	if o.has("u") {
		lines = slices.Compact(lines)
	}
	for _, l := range lines {
		fmt.Fprintln(c.stdout, l)
	}

	return code
}

func tee(_ context.Context, c *call) int {
	o, err := c.parse("a", "")
	if err != nil {
		return c.usage("%v", err)
	}
	writers := []io.Writer{c.stdout}
	flag := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if o.has("a") {
		flag = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}

	for _, name := range o.args() {
		f, err := os.OpenFile(c.path(name), flag, 0o666)
		if err != nil {
			return c.fail(err)
		}
		defer f.Close()
		writers = append(writers, f)
	}

	if _, err := io.Copy(io.MultiWriter(writers...), c.stdin); err != nil {
		return c.fail(err)
	}
	return 0
}
