package powershell

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// formatter prints objects as PowerShell shows them on the screen: strings as lines; files, processes and jobs as rows
// of a table with a head.
type formatter struct {
	w       io.Writer
	newline string
	width   int    // of a table, 0: screenWidth
	kind    string // of the table that is being shown
	dir     string // or what else the rows of a table have in common
	grid    *grid  // the table, if it is one of properties
}

func (f *formatter) screen() int { return cmp.Or(f.width, screenWidth) }

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
	case *display:
		return v.put(f)
	case *table:
		return f.putAll(v.entries())
	case *instance:
		if v.of.each != nil {
			return f.putAll(v.of.each(v.v))
		}
		if !v.of.shownAsText() {
			return f.properties(v)
		}
		f.end()
		if v.of.line != nil {
			return f.line(v.of.line(v.v))
		}
		return f.line(text(v))
	case moment:
		f.end()
		long, err := v.format("F")
		if err != nil {
			return err
		}
		return f.line(long)
	case []value, span, *arrayList:
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

func (f *formatter) putAll(items []value) error {
	for _, item := range items {
		if err := f.put(item); err != nil {
			return err
		}
	}
	return nil
}

// properties shows an object of a class by its properties.
func (f *formatter) properties(v *instance) error {
	o := newObject(v.of.name)
	for _, p := range v.of.props {
		got, err := p.get(nil, v)
		if err != nil {
			return err
		}
		o.set(p.name, got)
	}
	return f.row(o)
}

// end ends a table.
func (f *formatter) end() {
	if f.kind == "" {
		return
	}
	if f.grid != nil {
		_ = f.grid.show(f) // the next line returns the same error
	}
	f.kind, f.dir, f.grid = "", "", nil
	_ = f.line("") // the same
}

// The rows of hash tables, groups, services, routes, network adapters, commands and members, with Windows PowerShell's
// widths.
const (
	entryRow   = "%-30s %s"
	groupRow   = "%5s %-25s %s"
	serviceRow = "%-8s %-18s %s"
	routeRow   = "%-7s %-42s %-39s %11s %s"
	adapterRow = "%-25s %-39s %7s %-12s %-17s %14s"
	commandRow = "%-15s %-50s %-10s %s"
	smbRow     = "%-6s %-10s %s"
	memberRow  = "%-25s %-13s %s"
)

// shortened is a text of at most so many characters.
func shortened(s string, most int) string {
	r := []rune(s)
	switch {
	case len(r) <= most:
		return s
	case most <= 3:
		return string(r[:most])
	}
	return string(r[:most-3]) + "..."
}

// entryValue is a value as a row of a hash table shows it.
func entryValue(v value) string {
	switch v := v.(type) {
	case []value, span, *arrayList:
		var parts []string
		for item := range each(v) {
			parts = append(parts, text(item))
		}
		if len(parts) > 4 { // $FormatEnumerationLimit
			return "{" + strings.Join(parts[:4], ", ") + "...}"
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *table:
		return entryValue(v.keys)
	}
	return text(v)
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
	case "acl":
		return []string{
			"", "    Directory: " + dir, "",
			fmt.Sprintf(list, "Path", "Owner", "Access"), fmt.Sprintf(list, "----", "-----", "------"),
		}
	case "entry":
		return []string{"", fmt.Sprintf(entryRow, "Name", "Value"), fmt.Sprintf(entryRow, "----", "-----")}
	case "selected line":
		return []string{""}
	case "group":
		return []string{
			"", fmt.Sprintf(groupRow, "Count", "Name", "Group"), fmt.Sprintf(groupRow, "-----", "----", "-----"),
		}
	case "group without elements":
		return []string{"", fmt.Sprintf("%5s %s", "Count", "Name"), fmt.Sprintf("%5s %s", "-----", "----")}
	case "command":
		return []string{
			"", fmt.Sprintf(commandRow, "CommandType", "Name", "Version", "Source"),
			fmt.Sprintf(commandRow, "-----------", "----", "-------", "------"),
		}
	case "member":
		return []string{
			"", "   TypeName: " + dir, "", fmt.Sprintf(memberRow, "Name", "MemberType", "Definition"),
			fmt.Sprintf(memberRow, "----", "----------", "----------"),
		}
	case "location":
		return []string{"", "Path", "----"}
	case smbKind:
		return []string{
			"", fmt.Sprintf(smbRow, "Status", "Local Path", "Remote Path"),
			fmt.Sprintf(smbRow, "------", "----------", "-----------"),
		}
	case "job":
		return []string{"", fmt.Sprintf(job, "Id", "Name", "State"), fmt.Sprintf(job, "--", "----", "-----")}
	}
	return systemHead(kind, dir)
}

// systemHead is head for what the system has: processes, services, adapters, routes, events.
func systemHead(kind, dir string) []string {
	switch kind {
	case "process":
		return []string{"", fmt.Sprintf("%8s %s", "Id", "ProcessName"), fmt.Sprintf("%8s %s", "--", "-----------")}
	case "service":
		return []string{
			"", fmt.Sprintf(serviceRow, "Status", "Name", "DisplayName"), fmt.Sprintf(serviceRow, "------", "----", "-----------"),
		}
	case "route":
		return []string{
			"", fmt.Sprintf(routeRow, "ifIndex", "DestinationPrefix", "NextHop", "RouteMetric", "PolicyStore"),
			fmt.Sprintf(routeRow, "-------", "-----------------", "-------", "-----------", "-----------"),
		}
	case "network adapter":
		return []string{
			"", fmt.Sprintf(adapterRow, "Name", "InterfaceDescription", "ifIndex", "Status", "MacAddress", "LinkSpeed"),
			fmt.Sprintf(adapterRow, "----", "--------------------", "-------", "------", "----------", "---------"),
		}
	}
	return eventHead(kind, dir)
}

// mostColumns is how many properties an object may have to be shown as a row of a table if its kind has none of its
// own.
const mostColumns = 4

// row shows an object.
func (f *formatter) row(o *object) error {
	if o.kind == keyKind {
		return f.key(o)
	}
	dir := text(o.props["directoryname"])
	if o.kind == "member" {
		dir = text(o.props["typename"])
	}
	if o.kind == "event" || o.kind == wrappedEvent {
		dir = text(o.props["providername"])
	}
	line, hasTable := tableRow(o)
	if f.kind != o.kind || f.dir != dir {
		f.end()
		f.kind, f.dir = o.kind, dir
		if n := len(o.names); !hasTable && n > 0 && n <= mostColumns {
			f.grid = &grid{names: o.names}
		}
		for _, l := range head(o.kind, dir) {
			if err := f.line(l); err != nil {
				return err
			}
		}
	}
	switch {
	case hasTable:
		return f.line(line)
	case f.grid != nil:
		row := make([]value, len(f.grid.names))
		for i, name := range f.grid.names {
			row[i] = o.props[lower(name)]
		}
		return f.grid.add(f, row)
	}
	return f.list(o)
}

// firstLine is a text's first line, with dots if there are more.
func firstLine(s string) string {
	first, more, _ := strings.Cut(s, "\n")
	if more != "" {
		first += "..."
	}
	return first
}

// tableRow is an object as a row of its kind's table, if it has one.
func tableRow(o *object) (line string, ok bool) {
	p := func(name string) string { return text(o.props[name]) }
	switch o.kind {
	case "location":
		return p("path"), true
	case "file":
		at, _ := o.props["lastwritetime"].(moment)
		return fmt.Sprintf("%-8s%24s%15s %s", p("mode"), at.at.Format("1/2/2006   3:04 PM"), p("length"),
			p("name")), true
	case "acl":
		return fmt.Sprintf("%-24s %-28s %s", p("pschildname"), p("owner"), firstLine(p("accesstostring"))), true
	case "entry":
		return fmt.Sprintf(entryRow, shortened(p("name"), 30), entryValue(o.props["value"])), true
	case "selected line":
		return selectedText(o), true
	case "group":
		items, _ := o.props["group"].([]value)
		return fmt.Sprintf(groupRow, p("count"), shortened(p("name"), 25), entryValue(items)), true
	case "group without elements":
		return fmt.Sprintf("%5s %s", p("count"), p("name")), true
	case "command":
		return strings.TrimRight(fmt.Sprintf(commandRow, p("commandtype"), shortened(p("displayname"), 50), p("version"),
			p("source")), " "), true
	case "member":
		return fmt.Sprintf(memberRow, shortened(p("name"), 25), p("membertype"), p("definition")), true
	case smbKind:
		return fmt.Sprintf(smbRow, p("status"), p("localpath"), p("remotepath")), true
	case "job":
		return fmt.Sprintf("%-6s %-15s %s", p("id"), p("name"), p("state")), true
	}
	return systemRow(o)
}

// systemRow is tableRow for what the system has: processes, services, adapters, routes, events.
func systemRow(o *object) (line string, ok bool) {
	p := func(name string) string { return text(o.props[name]) }
	switch o.kind {
	case "process":
		return fmt.Sprintf("%8s %s", p("id"), p("processname")), true
	case "service":
		return fmt.Sprintf(serviceRow, p("status"), shortened(p("name"), 18), p("displayname")), true
	case "route":
		return fmt.Sprintf(routeRow, p("ifindex"), p("destinationprefix"), p("nexthop"), p("routemetric"), p("policystore")),
			true
	case "network adapter":
		return fmt.Sprintf(adapterRow, shortened(p("name"), 25), shortened(p("interfacedescription"), 39), p("ifindex"),
			p("status"), p("macaddress"), p("linkspeed")), true
	}
	return eventRow(o)
}

// listValue is a value as a list of properties shows it.
func listValue(v value) string {
	if i, ok := v.(*instance); ok && i.v == infinite {
		return "Infinite ([TimeSpan]::MaxValue)"
	}
	if _, ok := v.([]value); ok {
		return entryValue(v)
	}
	return text(v)
}

// list shows an object's properties below each other.
func (f *formatter) list(o *object) error {
	width := 0
	for _, name := range o.names {
		width = max(width, len(name))
	}
	lines := []string{""}
	for _, name := range o.names {
		lines = append(lines, fmt.Sprintf("%-*s : %s", width, name, listValue(o.props[lower(name)])))
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
	return (&formatter{newline: newline}).text(items)
}

// text returns the text of objects, instead of writing it.
func (f *formatter) text(items []value) (string, error) {
	var b strings.Builder
	f.w = &b
	for _, item := range items {
		if err := f.put(item); err != nil {
			return "", err
		}
	}
	f.end()
	return b.String(), nil
}
