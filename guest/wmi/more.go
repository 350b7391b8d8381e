package wmi

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/guest/winproc"
	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/windows/wire/services"
)

// Facts are what the other calls of Windows say of services and processes, which Wine's WMI says less of.
type Facts struct {
	Computer string
	Service  func(name string) (Service, bool)
	Process  func(id uint32) (winproc.Detail, bool)
	// Processes is how many run.
	Processes func() int
}

// Service is how a service is configured, and how it runs.
type Service struct {
	Config      services.Config
	Status      services.Status
	Description string
	Delayed     bool
}

// property is one that Wine's classes lack, or say less in than is known.
type property struct {
	name  string
	value any
}

// more returns the properties of an object that are known without WMI, by the names of Microsoft's pages
// (https://learn.microsoft.com/windows/win32/cimwin32prov/computer-system-hardware-classes and its neighbours).
func (f Facts) more(o Object) []property {
	switch strings.ToLower(o.Class) {
	case "win32_service":
		return f.service(o)
	case "win32_process":
		return f.process(o)
	case "win32_computersystem":
		name := o.Value("Name")
		return []property{
			{"Caption", name},
			{"DNSHostName", name},
			{"PartOfDomain", false},
			{"Workgroup", o.Value("Domain")},
			{"PrimaryOwnerName", nil},
			{"Status", "OK"},
			{"BootupState", "Normal boot"},
		}

	case "win32_operatingsystem":
		return []property{
			{"Description", ""},
			{"NumberOfProcesses", int64(f.Processes())},
			{"PortableOperatingSystem", false},
			{"CSCreationClassName", "Win32_ComputerSystem"},
		}
	case "win32_logicaldisk":
		kind, _ := o.Value("DriveType").(int64)
		return []property{
			{"Description", driveKind(kind)},
			{"ProviderName", nil},
			{"Compressed", false},
			{"SystemName", f.Computer},
		}

	case "win32_networkadapterconfiguration":
		index, _ := o.Value("Index").(int64)
		description, _ := o.Value("Description").(string)
		number := strconv.FormatInt(index, 10)
		return []property{
			{"InterfaceIndex", index},
			{"DHCPServer", nil},
			{"ServiceName", nil},
			{"Caption", "[" + strings.Repeat("0", max(0, 8-len(number))) + number + "] " + description},
		}
	case "win32_processor":
		return []property{{"SocketDesignation", nil}, {"Status", "OK"}, {"Role", "CPU"}, {"SystemName", f.Computer}}
	case "win32_bios":
		return []property{{"Caption", o.Value("Name")}, {"SMBIOSPresent", true}, {"PrimaryBIOS", true}, {"Status", "OK"}}
	case "win32_quickfixengineering":
		return []property{{"CSName", f.Computer}, {"FixComments", ""}, {"ServicePackInEffect", ""}}
	}
	return nil
}

// driveKind is what Win32_LogicalDisk says of a kind of drives.
func driveKind(kind int64) string {
	names := []string{
		"Unknown", "No Root Directory", "Removable Disk", "Local Fixed Disk", "Network Connection", "CD-ROM Disc", "RAM Disk",
	}
	if kind < 0 || int(kind) >= len(names) {
		return names[0]
	}
	return names[kind]
}

// service returns the properties of Win32_Service that the manager knows.
func (f Facts) service(o Object) []property {
	name, _ := o.Value("Name").(string)
	s, known := f.Service(name)
	if !known {
		return nil
	}
	severity := []string{"Ignore", "Normal", "Severe", "Critical"}
	return []property{
		{"Caption", o.Value("DisplayName")},
		{"CreationClassName", "Win32_Service"},
		{"DelayedAutoStart", s.Delayed},
		{"Description", s.Description},
		{"DesktopInteract", false},
		{"ErrorControl", severity[min(int(s.Config.ErrorControl), len(severity)-1)]},
		{"ExitCode", int64(s.Status.Exit)},
		{"PathName", s.Config.Binary},
		{"ServiceSpecificExitCode", int64(s.Status.ServiceExit)},
		{"Started", s.Status.State != services.Stopped},
		{"StartName", s.Config.Account},
		{"Status", "OK"},
		{"TagId", int64(s.Config.Tag)},
	}
}

// process returns the properties of Win32_Process that the process itself tells. Of one that may not be opened, as of
// another user's, they are nothing.
func (f Facts) process(o Object) []property {
	id, _ := o.Value("ProcessId").(int64)
	d, known := f.Process(uint32(id)) //nolint:gosec // it has 32 bits
	if !known {
		d = winproc.Detail{}
	}
	var path, since any
	if d.Path != "" {
		path = d.Path
	}
	if !d.Start.IsZero() {
		since = d.Start
	}

	ticks := func(t time.Duration) int64 { return int64(t / 100) } // of 100 ns
	kilo := func(n uint64) int64 { return int64(n >> 10) }         //nolint:gosec // so much memory there is not
	return []property{
		{"CreationDate", since},
		{"CSName", f.Computer},
		{"ExecutablePath", path},
		{"HandleCount", int64(d.Handles)},
		{"KernelModeTime", ticks(d.Kernel)},
		{"PageFileUsage", kilo(d.Paged)},
		{"PeakPageFileUsage", kilo(d.PeakPaged)},
		{"PeakVirtualSize", int64(d.PeakVirtual)},
		{"PeakWorkingSetSize", kilo(d.PeakWorkingSet)}, //nolint:gosec // the same
		{"SessionId", int64(d.Session)},
		{"UserModeTime", ticks(d.User)},
		{"VirtualSize", int64(d.Virtual)},
		{"WorkingSetSize", int64(d.WorkingSet)}, //nolint:gosec // the same
	}
}

// renamed are the names that Wine's classes spell in another way.
func renamed() map[string]string {
	return map[string]string{
		"ProcessID": "ProcessId", "ParentProcessID": "ParentProcessId", "DeviceId": "DeviceID",
	}
}

// Complete adds to an object what is known without WMI.
func (f Facts) Complete(o Object) Object {
	for i, name := range o.Names {
		if right, wrong := renamed()[name]; wrong {
			o.Names[i] = right
		}
	}

	for _, p := range f.more(o) {
		i := slices.IndexFunc(o.Names, func(name string) bool { return strings.EqualFold(name, p.name) })
		if i < 0 {
			o.Names, o.Props = append(o.Names, p.name), append(o.Props, p.value)
		} else if p.value != nil {
			o.Props[i] = p.value
		}
	}
	return o
}

// Only returns the object with some of its properties; nil: with all.
func (o Object) Only(wanted []string) Object {
	if wanted == nil {
		return o
	}
	only := Object{Class: o.Class}
	for _, name := range wanted {
		i := slices.IndexFunc(o.Names, func(n string) bool { return strings.EqualFold(n, name) })
		if i >= 0 {
			only.Names, only.Props = append(only.Names, o.Names[i]), append(only.Props, o.Props[i])
		}
	}
	return only
}

// selection matches a query of properties by their names.
var selection = lazyregexp.New(`(?is)^\s*SELECT\s+(.*?)(\s+FROM\s+([A-Z_0-9]+)\b.*)$`)

// Question is what Wine is asked in place of a query, and what becomes of its answer.
type Question struct {
	Ask    string
	Wanted []string // the properties; nil: all of them
	Adds   bool     // what Facts knows is added
	where  *comparison
}

// comparison is a condition of one property, which only the whole object meets or does not.
type comparison struct {
	name, operator, value string
}

// compared matches a query whose condition is one comparison.
var compared = lazyregexp.New(`(?is)^(\s+FROM\s+[A-Z_0-9]+)\s+WHERE\s+([A-Z_0-9]+)\s*(=|<>|!=|\s+LIKE\s+)\s*('[^']*'|"[^"]*"|[A-Z0-9_.-]+)\s*$`)

// corrected are the properties of which Wine says another thing than the machine, and which conditions are made of.
func corrected() []string { return []string{"IPEnabled", "DHCPEnabled"} }

// Whole returns what Wine is asked in place of a query. One that asks for a property that only Facts knows is one for
// all; a condition that is one comparison of such a property is looked at here.
func Whole(query string) Question {
	m := selection.FindStringSubmatch(query)
	if m == nil {
		return Question{Ask: query}
	}

	nothing := Facts{
		Service:   func(string) (Service, bool) { return Service{}, true },
		Process:   func(uint32) (winproc.Detail, bool) { return winproc.Detail{}, true },
		Processes: func() int { return 0 },
	}
	known := corrected()
	for _, p := range nothing.more(Object{Class: m[3]}) {
		known = append(known, p.name)
	}
	ours := func(name string) bool {
		return slices.ContainsFunc(known, func(n string) bool { return strings.EqualFold(n, name) })
	}

	q := Question{Adds: strings.TrimSpace(m[1]) == "*"}
	rest := m[2]
	if c := compared.FindStringSubmatch(rest); c != nil && ours(c[2]) {
		value := strings.ReplaceAll(strings.Trim(c[4], `'"`), `\\`, `\`)
		q.where = &comparison{c[2], strings.ToLower(strings.TrimSpace(c[3])), value}
		rest = c[1]
	}
	if !q.Adds {
		for name := range strings.SplitSeq(m[1], ",") {
			name = strings.TrimSpace(name)
			q.Wanted = append(q.Wanted, name)
			q.Adds = q.Adds || ours(name)
		}
	}
	if !q.Adds && q.where == nil {
		return Question{Ask: query}
	}
	q.Ask, q.Adds = "SELECT *"+rest, true
	return q
}

// Meets reports whether an object with all its properties is one that is asked for.
func (q Question) Meets(o Object) bool {
	if q.where == nil {
		return true
	}
	text := ""
	if v := o.Value(q.where.name); v != nil {
		text = fmt.Sprint(v)
	}
	switch q.where.operator {
	case "=":
		return strings.EqualFold(text, q.where.value)
	case "like":
		return likeForm(q.where.value).MatchString(text)
	}
	return !strings.EqualFold(text, q.where.value)
}

// likeForm returns the pattern of LIKE: % is any text, _ any character
// (https://learn.microsoft.com/windows/win32/wmisdk/like-operator); its sets in brackets are texts here.
func likeForm(pattern string) *regexp.Regexp {
	form := strings.NewReplacer("%", ".*", "_", ".").Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile("(?is)^" + form + "$")
}
