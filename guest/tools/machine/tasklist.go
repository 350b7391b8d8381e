package machine

import (
	"fmt"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/wildcard"
)

// tasks holds tasklist's arguments
// (https://learn.microsoft.com/windows-server/administration/windows-commands/tasklist).
type tasks struct {
	format   string
	noHeader bool
	filters  []func(Task) bool
}

// Tasklist prints the running processes.
func Tasklist(e program.Env, sys System, args []string) int {
	t, code := parseTasklist(e, args)
	if code >= 0 {
		return code
	}
	all, err := sys.Tasks()
	if err != nil {
		e.Complain("ERROR: %v", err)
		return 1
	}

	var some []Task
next:
	for _, one := range all {
		for _, filter := range t.filters {
			if !filter(one) {
				continue next
			}
		}
		some = append(some, one)
	}
	if len(some) == 0 {
		e.Print("INFO: No tasks are running which match the specified criteria.")
		return 0
	}

	t.print(e, some)
	return 0
}

// parseTasklist reads the arguments. The code is negative if there is something to list.
func parseTasklist(e program.Env, args []string) (t tasks, code int) {
	t.format = "table"
	for i := 0; i < len(args); i++ {
		name, _ := program.Option(args[i])
		valued := name == "fo" || name == "fi"
		if valued && i+1 == len(args) {
			e.Invalid("tasklist", fmt.Sprintf("Value expected for '%s'.", args[i]))
			return t, 1
		}

		switch name {
		case "?":
			e.Print("TASKLIST [/FI filter] [/FO format] [/NH]")
			return t, 0

		case "nh":
			t.noHeader = true
		case "fo":
			i++
			t.format = strings.ToLower(args[i])
			if t.format != "table" && t.format != "list" && t.format != "csv" {
				e.Invalid("tasklist", fmt.Sprintf("'%s' value is not allowed for '%s' option.", args[i], args[i-1]))
				return t, 1
			}

		case "fi":
			i++
			filter := newFilter(args[i])
			if filter == nil {
				e.Complain("ERROR: The search filter cannot be recognized.")
				return t, 1
			}
			t.filters = append(t.filters, filter)

		default:
			e.Unknown("tasklist", args[i])
			return t, 1
		}
	}

	if t.noHeader && t.format == "list" {
		e.Invalid("tasklist", `/NH option is allowed only for "TABLE" and "CSV" formats.`)
		return t, 1
	}
	return t, -1
}

// newFilter makes a filter from its text, for example "IMAGENAME eq cmd.exe"; nil if there is no such filter.
func newFilter(text string) func(Task) bool {
	words := strings.Fields(text)
	if len(words) < 3 {
		return nil
	}

	name := strings.ToLower(words[0])
	op := strings.ToLower(words[1])
	value := strings.Join(words[2:], " ")
	switch name {
	case "imagename", "sessionname":
		if op != "eq" && op != "ne" {
			return nil
		}
		return func(t Task) bool {
			of := t.Image
			if name == "sessionname" {
				of = t.session()
			}
			return wildcard.Match(value, of) == (op == "eq")
		}

	case "pid", "session", "memusage":
		want, err := strconv.ParseUint(value, 10, 64)
		compare := comparisons()[op]
		if err != nil || compare == nil {
			return nil
		}

		return func(t Task) bool {
			of := map[string]uint64{"pid": uint64(t.PID), "session": uint64(t.Session), "memusage": t.kilobytes()}[name]
			return compare(of, want)
		}
	}

	return nil
}

func comparisons() map[string]func(a, b uint64) bool {
	return map[string]func(a, b uint64) bool{
		"eq": func(a, b uint64) bool { return a == b }, "ne": func(a, b uint64) bool { return a != b },
		"gt": func(a, b uint64) bool { return a > b }, "lt": func(a, b uint64) bool { return a < b },
		"ge": func(a, b uint64) bool { return a >= b }, "le": func(a, b uint64) bool { return a <= b },
	}
}

// session returns the name of a task's session; the first session is that of services.
func (t Task) session() string {
	if t.Session == 0 {
		return "Services"
	}
	return "Console"
}

func (t Task) kilobytes() uint64 { return t.Memory >> 10 }

// fields returns a task's columns.
func (t Task) fields() []string {
	return []string{
		t.Image, strconv.FormatUint(uint64(t.PID), 10), t.session(),
		strconv.FormatUint(uint64(t.Session), 10), thousands(t.kilobytes()) + " K",
	}
}

func (t tasks) print(e program.Env, some []Task) {
	columns := []string{"Image Name", "PID", "Session Name", "Session#", "Mem Usage"}
	switch t.format {
	case "csv":
		if !t.noHeader {
			e.Print("%s", program.Quoted(columns))
		}
		for _, one := range some {
			e.Print("%s", program.Quoted(one.fields()))
		}

	case "list":
		for _, one := range some {
			e.Print("")
			for i, field := range one.fields() {
				e.Print("%-13s %s", columns[i]+":", field)
			}
		}

	default:
		e.Print("")
		if !t.noHeader {
			e.Print("%-25s %8s %-16s %11s %12s", columns[0], columns[1], columns[2], columns[3], columns[4])
			e.Print("%s %s %s %s %s", strings.Repeat("=", 25), strings.Repeat("=", 8), strings.Repeat("=", 16),
				strings.Repeat("=", 11), strings.Repeat("=", 12))
		}

		for _, one := range some {
			f := one.fields()
			e.Print("%-25.25s %8s %-16s %11s %12s", f[0], f[1], f[2], f[3], f[4])
		}
	}
}

// thousands writes a number as en-US does.
func thousands(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
