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
	services bool // /svc: what services are in each
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

	if !t.services {
		t.print(e, some)
		return 0
	}
	in, err := sys.Services()
	if err != nil {
		e.Complain("ERROR: %v", err)
		return 1
	}
	t.printServices(e, some, in)
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
			e.Print("TASKLIST [/SVC] [/FI filter] [/FO format] [/NH]")
			return t, 0

		case "nh":
			t.noHeader = true
		case "svc":
			t.services = true
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

	return t, t.fits(e)
}

// fits returns the exit code if the arguments do not go together, and -1 if they do.
func (t *tasks) fits(e program.Env) int {
	if t.noHeader && t.format == "list" {
		e.Invalid("tasklist", `/NH option is allowed only for "TABLE" and "CSV" formats.`)
		return 1
	}
	return -1
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

// widest is the width of a row's services; the others are in rows of their own.
const widest = 44

// printServices prints the services in each process. Those of one that has none are N/A.
func (t tasks) printServices(e program.Env, some []Task, in map[uint32][]string) {
	columns := []string{"Image Name", "PID", "Services"}
	if t.format == "csv" && !t.noHeader {
		e.Print("%s", program.Quoted(columns))
	}
	if t.format == "table" {
		if e.Print(""); !t.noHeader {
			e.Print("%-25s %8s %s", columns[0], columns[1], columns[2])
			e.Print("%s %s %s", strings.Repeat("=", 25), strings.Repeat("=", 8), strings.Repeat("=", widest))
		}
	}

	for _, one := range some {
		pid, names := strconv.FormatUint(uint64(one.PID), 10), in[one.PID]
		if len(names) == 0 {
			names = []string{"N/A"}
		}
		switch t.format {
		case "csv":
			e.Print("%s", program.Quoted([]string{one.Image, pid, strings.Join(names, ",")}))
		case "list":
			e.Print("")
			e.Print("%-13s %s", "Image Name:", one.Image)
			e.Print("%-13s %s", "PID:", pid)
			e.Print("%-13s %s", "Services:", strings.Join(names, ", "))
		default:
			image := one.Image
			for _, line := range servicesLines(names) {
				e.Print("%-25.25s %8s %s", image, pid, line)
				image, pid = "", ""
			}
		}
	}
}

// servicesLines returns names with commas between them, in lines of the column's width.
func servicesLines(names []string) []string {
	var lines []string
	line := ""
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		if line != "" && len(line)+1+len(name) > widest {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += name
	}
	return append(lines, line)
}

// thousands writes a number as en-US does.
func thousands(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
