package powershell

import (
	"fmt"
	"io"
	"strings"
)

// formatter prints objects as PowerShell shows them on the screen: strings as lines; files, processes and jobs as rows
// of a table with a head.
type formatter struct {
	w       io.Writer
	newline string
	kind    string // of the table that is being shown
	dir     string
}

func (f *formatter) line(s string) error {
	_, err := io.WriteString(f.w, s+f.newline)
	return err
}

func (f *formatter) put(v value) error {
	switch v := plain(v).(type) {
	case nil:
		return nil
	case *object:
		return f.row(v)
	case []value, span:
		for item := range each(v) {
			if err := f.put(item); err != nil {
				return err
			}
		}
		return nil
	default:
		f.end()
		return f.line(text(v))
	}
}

// end ends a table.
func (f *formatter) end() {
	if f.kind != "" {
		f.kind, f.dir = "", ""
		_ = f.line("") // the next line returns the same error
	}
}

// head are the lines before the rows of a table.
func head(kind, dir string) []string {
	file := "%-8s%24s%15s %s"
	list := "%-24s %-28s %s"
	job := "%-6s %-15s %s"
	switch kind {
	case "file":
		return []string{
			"", "    Directory: " + dir, "",
			fmt.Sprintf(file, "Mode", "LastWriteTime", "Length", "Name"),
			fmt.Sprintf(file, "----", "-------------", "------", "----"),
		}
	case "process":
		return []string{"", fmt.Sprintf("%8s %s", "Id", "ProcessName"), fmt.Sprintf("%8s %s", "--", "-----------")}
	case "acl":
		return []string{
			"", "    Directory: " + dir, "",
			fmt.Sprintf(list, "Path", "Owner", "Access"), fmt.Sprintf(list, "----", "-----", "------"),
		}
	case "location":
		return []string{"", "Path", "----"}
	case "job":
		return []string{"", fmt.Sprintf(job, "Id", "Name", "State"), fmt.Sprintf(job, "--", "----", "-----")}
	}
	return nil
}

// row shows an object.
func (f *formatter) row(o *object) error {
	dir := text(o.props["directoryname"])
	if f.kind != o.kind || f.dir != dir {
		f.end()
		f.kind, f.dir = o.kind, dir
		for _, l := range head(o.kind, dir) {
			if err := f.line(l); err != nil {
				return err
			}
		}
	}
	p := func(name string) string { return text(o.props[name]) }
	switch o.kind {
	case "location":
		return f.line(p("path"))
	case "file":
		at, _ := o.props["lastwritetime"].(moment)
		return f.line(fmt.Sprintf("%-8s%24s%15s %s", p("mode"), at.at.Format("1/2/2006   3:04 PM"), p("length"),
			p("name")))
	case "process":
		return f.line(fmt.Sprintf("%8s %s", p("id"), p("processname")))
	case "acl":
		access, more, _ := strings.Cut(p("accesstostring"), "\n")
		if more != "" {
			access += "..."
		}
		return f.line(fmt.Sprintf("%-24s %-28s %s", p("pschildname"), p("owner"), access))
	case "rule", "identity", custom:
		return f.list(o)
	}
	return f.line(fmt.Sprintf("%-6s %-15s %s", p("id"), p("name"), p("state")))
}

// list shows an object's properties below each other.
func (f *formatter) list(o *object) error {
	width := 0
	for _, name := range o.names {
		width = max(width, len(name))
	}
	lines := []string{""}
	for _, name := range o.names {
		lines = append(lines, fmt.Sprintf("%-*s : %s", width, name, text(o.props[lower(name)])))
	}
	for _, l := range lines {
		if err := f.line(l); err != nil {
			return err
		}
	}
	return nil
}

// formatted returns the text of objects, for files and for the input of programs.
func formatted(items []value, newline string) (string, error) {
	var b strings.Builder
	f := &formatter{w: &b, newline: newline}
	for _, item := range items {
		if err := f.put(item); err != nil {
			return "", err
		}
	}
	f.end()
	return b.String(), nil
}
