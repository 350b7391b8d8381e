package format

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
)

// Formatter prints objects as PowerShell shows them on the screen: strings as lines; files, processes and jobs as rows
// of a table with a head.
type Formatter struct {
	W       io.Writer
	Newline string
	Width   int // of a table, 0: that of Columns
	// Columns is how many columns a row may have; nil: screenWidth.
	Columns func() int
	kind    string // of the table that is being shown
	dir     string // or what else the rows of a table have in common
	grid    *Grid  // the table, if it is one of properties
	depth   int    // of lists within lists that are being shown
}

// mostNested is how deep lists are shown: one may contain itself.
const mostNested = 100

func (f *Formatter) screen() int {
	if f.Width == 0 && f.Columns != nil {
		return f.Columns()
	}
	return cmp.Or(f.Width, screenWidth)
}

func (f *Formatter) line(s string) error {
	_, err := io.WriteString(f.W, s+f.Newline)
	return err
}

// Put shows a value.
func (f *Formatter) Put(v object.Value) error {
	switch v := object.Plain(v).(type) {
	case nil:
		return nil
	case *object.Object:
		return f.row(v)
	case *Display:
		return v.put(f)
	case *object.Hashtable:
		return f.putAll(v.Entries())
	case *object.Instance:
		if v.Of.Each != nil {
			return f.putAll(v.Of.Each(v.V))
		}
		if !v.Of.ShownAsText() {
			return f.properties(v)
		}

		f.End()
		if r := object.Own[*object.ErrorRecord](v); r != nil && v.Of.Name == object.RecordName {
			return f.line(r.Lines(f.Newline, ""))
		}
		return f.line(object.Text(v))

	case object.DateTime:
		f.End()
		long, err := v.Format("F")
		if err != nil {
			return err
		}
		return f.line(long)

	case []object.Value, object.Range, *object.ArrayList:
		return f.putEach(v)
	default:
		f.End()
		return f.line(object.Text(v))
	}
}

// putEach shows the items of a list.
func (f *Formatter) putEach(list object.Value) error {
	if f.depth >= mostNested {
		return f.line(object.TypeName(list))
	}
	f.depth++
	defer func() { f.depth-- }()

	for item := range object.Each(list) {
		if err := f.Put(item); err != nil {
			return err
		}
	}

	return nil
}

func (f *Formatter) putAll(items []object.Value) error {
	for _, item := range items {
		if err := f.Put(item); err != nil {
			return err
		}
	}
	return nil
}

// properties shows an object of a class by its properties.
func (f *Formatter) properties(v *object.Instance) error {
	o := object.New(v.Of.Name)
	for _, name := range object.PropertyNames(v) {
		got, err := object.Property(v, strings.ToLower(name))
		if err != nil {
			return err
		}
		o.Set(name, got)
	}
	return f.row(o)
}

// End ends a table.
func (f *Formatter) End() {
	if f.kind == "" {
		return
	}
	if f.grid != nil {
		_ = f.grid.show(f) // the next line returns the same error
	}
	f.kind, f.dir = "", ""
	f.grid = nil
	_ = f.line("") // the same
}

// The rows of hash tables, groups, services, routes, network adapters, commands and members, with Windows PowerShell's
// widths.
const (
	entryRow       = "%-30s %s"
	groupRow       = "%5s %-25s %s"
	processRow     = "%7s %7s %8s %10s %10s %6s %3s %s"
	certificateRow = "%-40s  %s"
	serviceRow     = "%-8s %-18s %s"
	routeRow       = "%-7s %-42s %-39s %11s %s"
	connectionRow  = "%-35s %-9s %-35s %-10s %-11s %-14s %s"
	endpointRow    = "%-40s %s"
	adapterRow     = "%-25s %-39s %7s %-12s %-17s %14s"
	commandRow     = "%-15s %-50s %-10s %s"
	smbRow         = "%-6s %-10s %s"
	pingRow        = "%-13s %-15s %-16s %-40s %-8s %s"
	updateRow      = "%-13s %-16s %-13s %-20s %s"
	typeRow        = "%-8s %-8s %-40s %s"
	memberRow      = "%-25s %-13s %s"
	jobRow         = "%-6s %-15s %-15s %-13s %-15s %-20s %s"
)

// shortened returns a text of at most so many characters.
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

// entryValue returns a value as a row of a hash table shows it.
func entryValue(v object.Value) string {
	switch v := v.(type) {
	case []object.Value, object.Range, *object.ArrayList:
		var parts []string
		for item := range object.Each(v) {
			parts = append(parts, itemText(item))
		}
		if len(parts) > 4 { // $FormatEnumerationLimit
			return "{" + strings.Join(parts[:4], ", ") + "...}"
		}
		return "{" + strings.Join(parts, ", ") + "}"

	case *object.Hashtable:
		return entryValue(v.Keys)
	case *object.Instance:
		if v.Of.Each != nil && v.Of.Text == nil {
			return entryValue(v.Of.Each(v.V))
		}
	}

	return object.Text(v)
}

// itemText returns an item of a list as a list shows it: its name, if that says more than its type.
func itemText(v object.Value) string {
	if i, ok := v.(*object.Instance); ok && (i.Of.Text == nil || i.Of.ByProperties) {
		if p := object.FindField(i.Of.Props, "Name"); p != nil {
			if name, err := p.Get(nil, i); err == nil {
				return object.Text(name)
			}
		}
	}
	return object.Text(v)
}

// head returns the lines before the rows of a table.
//
//nolint:gocyclo // a row for each kind
func head(kind, dir string) []string {
	file := "%-8s%24s%15s %s"
	list := "%-24s %-28s %s"
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
	case "history":
		return []string{"", "  Id CommandLine", "  -- -----------"}
	case "certificate":
		return []string{
			"", "   PSParentPath: " + dir, "", fmt.Sprintf(certificateRow, "Thumbprint", "Subject"),
			fmt.Sprintf(certificateRow, "----------", "-------"),
		}
	case "certificate store":
		return []string{""}
	case "counters":
		return []string{
			"", fmt.Sprintf("%-25s %s", "Timestamp", "CounterSamples"), fmt.Sprintf("%-25s %s", "---------", "--------------"),
		}
	case object.TypeKind:
		return []string{
			"", fmt.Sprintf(typeRow, "IsPublic", "IsSerial", "Name", "BaseType"),
			fmt.Sprintf(typeRow, "--------", "--------", "----", "--------"),
		}

	case SMBKind:
		return []string{
			"", fmt.Sprintf(smbRow, "Status", "Local Path", "Remote Path"),
			fmt.Sprintf(smbRow, "------", "----------", "-----------"),
		}
	case "job":
		return []string{
			"", fmt.Sprintf(jobRow, "Id", "Name", "PSJobTypeName", "State", "HasMoreData", "Location", "Command"),
			fmt.Sprintf(jobRow, "--", "----", "-------------", "-----", "-----------", "--------", "-------"),
		}
	}

	return systemHead(kind, dir)
}

// systemHead does as head for what the system has: processes, services, adapters, routes, events.
func systemHead(kind, dir string) []string {
	switch kind {
	case "process":
		return []string{
			"", fmt.Sprintf(processRow, "Handles", "NPM(K)", "PM(K)", "WS(K)", "CPU(s)", "Id", "SI", "ProcessName"),
			fmt.Sprintf(processRow, "-------", "------", "-----", "-----", "------", "--", "--", "-----------"),
		}
	case "service":
		return []string{
			"", fmt.Sprintf(serviceRow, "Status", "Name", "DisplayName"), fmt.Sprintf(serviceRow, "------", "----",
				"-----------"),
		}

	case DriveKind:
		return []string{
			"", fmt.Sprintf(driveRow, "Name", "Used (GB)", "Free (GB)", "Provider", "Root", "CurrentLocation"),
			fmt.Sprintf(driveRow, "----", "---------", "---------", "--------", "----", "---------------"),
		}

	case PingKind:
		return []string{
			"", fmt.Sprintf(pingRow, "Source", "Destination", "IPV4Address", "IPV6Address", "Bytes", "Time(ms)"),
			fmt.Sprintf(pingRow, "------", "-----------", "-----------", "-----------", "-----", "--------"),
		}
	case UpdateKind:
		return []string{
			"", fmt.Sprintf(updateRow, "Source", "Description", "HotFixID", "InstalledBy", "InstalledOn"),
			fmt.Sprintf(updateRow, "------", "-----------", "--------", "-----------", "-----------"),
		}

	case "route":
		return []string{
			"", fmt.Sprintf(routeRow, "ifIndex", "DestinationPrefix", "NextHop", "RouteMetric", "PolicyStore"),
			fmt.Sprintf(routeRow, "-------", "-----------------", "-------", "-----------", "-----------"),
		}

	case "TCP connection":
		return []string{
			"", fmt.Sprintf(connectionRow, "LocalAddress", "LocalPort", "RemoteAddress", "RemotePort", "State",
				"AppliedSetting", "OwningProcess"),
			fmt.Sprintf(connectionRow, "------------", "---------", "-------------", "----------", "-----",
				"--------------", "-------------"),
		}

	case "UDP endpoint":
		return []string{
			"", fmt.Sprintf(endpointRow, "LocalAddress", "LocalPort"), fmt.Sprintf(endpointRow, "------------", "---------"),
		}

	case "DNS servers":
		return []string{
			"", fmt.Sprintf("%-28s %-9s %-7s %s", "InterfaceAlias", "Interface", "Address", "ServerAddresses"),
			fmt.Sprintf("%-28s %-9s %s", "", "Index", "Family"),
			fmt.Sprintf("%-28s %-9s %-7s %s", "--------------", "---------", "-------", "---------------"),
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
func (f *Formatter) row(o *object.Object) error {
	if o.Kind == KeyKind {
		return f.key(o)
	}

	dir := commonOf(o)
	line, hasTable := TableRow(o)
	if f.kind != o.Kind || f.dir != dir {
		f.End()
		f.kind, f.dir = o.Kind, dir
		switch n := len(o.Names); {
		case o.View != nil && o.View.Table:
			f.grid = &Grid{Names: o.View.Names}
		case !hasTable && o.View == nil && n > 0 && n <= mostColumns:
			f.grid = &Grid{Names: o.Names}
		}

		for _, l := range head(o.Kind, dir) {
			if err := f.line(l); err != nil {
				return err
			}
		}
	}

	switch {
	case hasTable:
		return f.line(line)
	case f.grid != nil:
		row := make([]object.Value, len(f.grid.Names))
		for i, name := range f.grid.Names {
			row[i] = o.Value(name)
		}
		return f.grid.add(f, row)
	}

	return f.list(o)
}

// commonOf returns what the rows of a table have in common.
func commonOf(o *object.Object) string {
	if _, own := TableRow(o); o.View != nil && !own {
		return strings.Join(o.View.Names, ",")
	}
	name := "directoryname"
	switch o.Kind {
	case "member":
		name = "typename"
	case "certificate":
		name = "psparentpath"
	case "event", WrappedEvent:
		name = "providername"
	}
	return object.Text(o.Props[name])
}

// firstLine returns a text's first line, with dots if there are more.
func firstLine(s string) string {
	first, more, _ := strings.Cut(s, "\n")
	if more != "" {
		first += "..."
	}
	return first
}

// TableRow returns an object as a row of its kind's table, if it has one.
//
//nolint:gocyclo // a row for each kind
func TableRow(o *object.Object) (line string, ok bool) {
	p := func(name string) string { return object.Text(o.Props[name]) }
	switch o.Kind {
	case "location":
		return p("path"), true
	case "history":
		return fmt.Sprintf("%4s %s", p("id"), firstLine(p("commandline"))), true
	case "certificate":
		return strings.TrimRight(fmt.Sprintf(certificateRow, p("thumbprint"), p("subject")), " "), true
	case "counters":
		d, _ := o.Props["timestamp"].(object.DateTime)
		at, _ := d.Format("G") // the format is a known one
		lines := strings.Split(p("readings"), "\n")
		return fmt.Sprintf("%-25s ", at) + strings.Join(lines, "\n"+strings.Repeat(" ", 26)), true
	case "certificate store":
		return "Name : " + p("name"), true
	case object.TypeKind:
		return fmt.Sprintf(typeRow, p("ispublic"), p("isserial"), shortened(p("name"), 40), object.Text(o.Value("basetype"))), true
	case "file":
		at, _ := o.Props["lastwritetime"].(object.DateTime)
		return fmt.Sprintf("%-8s%24s%15s %s", p("mode"), at.At.Format("1/2/2006   3:04 PM"), p("length"),
			p("name")), true

	case "acl":
		return fmt.Sprintf("%-24s %-28s %s", p("pschildname"), p("owner"), firstLine(p("accesstostring"))), true
	case "entry":
		return fmt.Sprintf(entryRow, shortened(p("name"), 30), entryValue(o.Props["value"])), true
	case "selected line":
		return o.Text(), true
	case "group":
		items, _ := o.Props["group"].([]object.Value)
		return fmt.Sprintf(groupRow, p("count"), shortened(p("name"), 25), entryValue(items)), true

	case "group without elements":
		return fmt.Sprintf("%5s %s", p("count"), p("name")), true
	case "command":
		return strings.TrimRight(fmt.Sprintf(commandRow, p("commandtype"), shortened(p("displayname"), 50),
			p("version"),
			p("source")), " "), true

	case "member":
		return fmt.Sprintf(memberRow, shortened(p("name"), 25), p("membertype"), p("definition")), true
	case SMBKind:
		return fmt.Sprintf(smbRow, p("status"), p("localpath"), p("remotepath")), true
	case "job":
		v := func(name string) string { return object.Text(o.Value(name)) }
		command := strings.Join(strings.Fields(v("command")), " ")
		return fmt.Sprintf(jobRow, v("id"), shortened(v("name"), 15), v("psjobtypename"), v("state"), v("hasmoredata"),
			v("location"), " "+shortened(command, 24)), true
	}

	return systemRow(o)
}

// systemRow does as TableRow for what the system has: processes, services, adapters, routes, events.
func systemRow(o *object.Object) (line string, ok bool) {
	p := func(name string) string { return object.Text(o.Props[name]) }
	switch o.Kind {
	case "process":
		return fmt.Sprintf(processRow, processColumns(o)...), true
	case DriveKind:
		return driveLine(o), true
	case PingKind:
		return fmt.Sprintf(pingRow, shortened(p("source"), 13), shortened(p("destination"), 15), p("ipv4address"),
			p("ipv6address"), p("bytes"), p("time(ms)")), true
	case UpdateKind:
		return strings.TrimRight(fmt.Sprintf(updateRow, shortened(p("source"), 13), shortened(p("description"), 16), p("hotfixid"),
			shortened(p("installedby"), 20), entryValue(o.Props["installedon"])), " "), true
	case "service":
		return fmt.Sprintf(serviceRow, p("status"), shortened(p("name"), 18), p("displayname")), true
	case "route":
		return fmt.Sprintf(routeRow, p("ifindex"), p("destinationprefix"), p("nexthop"), p("routemetric"),
				p("policystore")),
			true

	case "TCP connection":
		return strings.TrimRight(fmt.Sprintf(connectionRow, p("localaddress"), p("localport"), p("remoteaddress"),
			p("remoteport"), p("state"), p("appliedsetting"), p("owningprocess")), " "), true
	case "UDP endpoint":
		return fmt.Sprintf(endpointRow, p("localaddress"), p("localport")), true
	case "DNS servers":
		family := "IPv4"
		if p("addressfamily") == "23" { // AF_INET6
			family = "IPv6"
		}
		return fmt.Sprintf("%-28s %9s %-7s %s", shortened(p("interfacealias"), 28), p("interfaceindex"), family,
			entryValue(o.Props["serveraddresses"])), true

	case "network adapter":
		return fmt.Sprintf(adapterRow, shortened(p("name"), 25), shortened(p("interfacedescription"), 39), p("ifindex"),
			p("status"), p("macaddress"), p("linkspeed")), true
	}

	return eventRow(o)
}

// processColumns returns the columns of a process: sizes in KB, the time of its processors in seconds. What is not told
// of it is empty.
func processColumns(o *object.Object) []any {
	kilobytes := func(name string) string {
		if n, is := o.Value(name).(int64); is {
			return fmt.Sprint(n >> 10)
		}
		return ""
	}

	seconds := ""
	if n, is := o.Value("cpu").(float64); is {
		seconds, _ = object.FormatNumber(object.FloatDigits(n), "N") // the format is a known one
	}

	text := func(name string) string { return object.Text(o.Value(name)) }
	return []any{
		text("handles"), kilobytes("npm"), kilobytes("pm"), kilobytes("ws"), seconds, text("id"), text("si"),
		text("processname"),
	}
}

// listValue returns a value as a list of properties shows it.
func listValue(v object.Value) string {
	if i, ok := v.(*object.Instance); ok && i.V == system.Infinite {
		return "Infinite ([TimeSpan]::MaxValue)"
	}
	return entryValue(v)
}

// list shows an object's properties below each other.
func (f *Formatter) list(o *object.Object) error {
	names := o.Names
	if o.View != nil {
		names = o.View.Names
	}
	width := 0
	for _, name := range names {
		width = max(width, len(name))
	}

	lines := []string{""}
	for _, name := range names {
		parts := strings.Split(strings.ReplaceAll(listValue(o.Value(name)), "\r\n", "\n"), "\n")
		if o.View != nil && o.View.Texts[name] != nil {
			parts = o.View.Texts[name]
		}
		text := strings.Join(parts, "\n"+strings.Repeat(" ", width+len(" : ")))
		lines = append(lines, fmt.Sprintf("%-*s : %s", width, name, text))
	}

	for _, l := range lines {
		if err := f.line(l); err != nil {
			return err
		}
	}

	return nil
}

// Formatted returns the text of objects, for files and for the input of programs.
func Formatted(items []object.Value, newline string) (string, error) {
	return (&Formatter{Newline: newline}).Text(items)
}

// Text returns the text of objects, instead of writing it.
func (f *Formatter) Text(items []object.Value) (string, error) {
	var b strings.Builder
	f.W = &b
	for _, item := range items {
		if err := f.Put(item); err != nil {
			return "", err
		}
	}
	f.End()
	return b.String(), nil
}
