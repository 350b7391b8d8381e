package powershell

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// wmiObject is an instance of a class of Windows Management Instrumentation: its properties, in order. A value is nil,
// bool, int64, float64, string, time.Time or a list of those.
type wmiObject struct {
	class string
	names []string
	props []any
}

// Errors of WMI, in its words (https://learn.microsoft.com/en-us/windows/win32/wmisdk/wmi-error-constants).
var (
	errWMIClass     = itsWords("Invalid class")
	errWMINamespace = itsWords("Invalid namespace")
	errWMIQuery     = itsWords("Invalid query")
)

// defaultNamespace is where queries go that name none.
const defaultNamespace = `root\cimv2`

// wmiName matches the name of a class or property.
var wmiName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// wmiQuery is the query in WQL that a call's parameters mean
// (https://learn.microsoft.com/en-us/windows/win32/wmisdk/wql-sql-for-wmi).
func (c *call) wmiQuery() (string, error) {
	class, query := c.text("classname"), c.text("query")
	if (class == "") == (query == "") {
		return "", thrown("%s : either -ClassName or -Query is needed.", c.name)
	}
	if query != "" {
		return query, nil
	}
	if !wmiName.MatchString(class) {
		return "", thrown("%s : a class of the name %q is not part of Mullion's PowerShell.", c.name, class)
	}
	columns := "*"
	var names []string
	for v := range each(c.values["property"]) {
		if !wmiName.MatchString(text(v)) {
			return "", thrown("%s : -Property %s is not part of Mullion's PowerShell.", c.name, text(v))
		}
		names = append(names, text(v))
	}
	if names != nil {
		columns = strings.Join(names, ", ")
	}
	query = "SELECT " + columns + " FROM " + class
	if filter := c.text("filter"); filter != "" {
		query += " WHERE " + filter
	}
	return query, nil
}

// getInstances outputs instances of a class of WMI. Get-WmiObject leaves times as texts, Get-CimInstance does not.
func getInstances(c *call) error {
	query, err := c.wmiQuery()
	if err != nil {
		return err
	}
	namespace := strings.ReplaceAll(c.text("namespace"), "/", `\`)
	if namespace == "" {
		namespace = defaultNamespace
	}
	query, added := withNumbers(query)
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(c.f.in.ctx, patience)
	defer cancel()
	found, err := c.f.in.session.system().wmi(ctx, namespace, query)
	if err != nil {
		return c.fail(err)
	}
	for _, one := range found {
		c.correct(one)
		o := newObject(custom)
		for i, name := range one.names {
			if !added || !strings.EqualFold(name, processNumber) {
				o.set(name, c.wmiValue(one.props[i]))
			}
		}
		o.props["pscomputername"] = c.f.in.env["COMPUTERNAME"]
		o.props["cimclassname"], o.props["__class"] = one.class, one.class
		if err := c.out.put(o); err != nil {
			return err
		}
	}
	return nil
}

const processNumber = "ProcessId"

// ofProcesses matches a query of some properties of processes.
var ofProcesses = lazyregexp.New(`(?is)^\s*SELECT\s+(.*?)(\s+FROM\s+Win32_Process\b.*)$`)

// withNumbers is a query that asks for the numbers of processes too if it asks for their command lines: without them it
// is not known whose line is asked for.
func withNumbers(query string) (with string, added bool) {
	m := ofProcesses.FindStringSubmatch(query)
	if m == nil {
		return query, false
	}
	line, number := false, false
	for name := range strings.SplitSeq(m[1], ",") {
		line = line || strings.EqualFold(strings.TrimSpace(name), "CommandLine")
		number = number || strings.EqualFold(strings.TrimSpace(name), processNumber)
	}
	if !line || number {
		return query, false
	}
	return "SELECT " + m[1] + ", " + processNumber + m[2], true
}

// correct replaces what Wine's WMI says of another Windows than the registry, the edition and the machine's number, and
// fills in what it does not know: the command lines of other processes.
func (c *call) correct(o wmiObject) {
	const current = `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion`
	var right map[string]any
	switch lower(o.class) {
	case "win32_operatingsystem":
		name := c.registryText(current, "ProductName")
		if name == "" {
			return
		}
		const server, datacenter = 3, 8
		name = "Microsoft " + name
		right = map[string]any{
			"caption": name, "name": name + `|C:\Windows|\Device\Harddisk0\Partition1`, "csdversion": nil,
			"servicepackmajorversion": int64(0), "producttype": int64(server), "operatingsystemsku": int64(datacenter),
		}
	case "win32_process":
		at := slices.IndexFunc(o.names, func(name string) bool { return strings.EqualFold(name, processNumber) })
		if at < 0 {
			return
		}
		id, _ := o.props[at].(int64)
		line, err := c.f.in.session.system().commandLine(id)
		if err != nil { // as for a process that may not be opened
			return
		}
		right = map[string]any{"commandline": line}
	case "win32_computersystemproduct":
		id := c.registryText(`HKEY_LOCAL_MACHINE\SYSTEM\HardwareConfig`, "LastConfig")
		if id == "" {
			return
		}
		right = map[string]any{"uuid": strings.ToUpper(strings.Trim(id, "{}"))}
	}
	for i, name := range o.names {
		if v, wrong := right[lower(name)]; wrong {
			o.props[i] = v
		}
	}
}

// registryText is a value of the registry as text, "" if it is not there.
func (c *call) registryText(key, name string) string {
	_, values, err := c.f.in.session.system().registry.read(key)
	if err != nil {
		return ""
	}
	v, _ := findValue(values, name)
	return v.text()
}

// wmiValue is a property's value in the form that the cmdlet has it.
func (c *call) wmiValue(v any) value {
	switch v := v.(type) {
	case time.Time:
		if c.name == "Get-WmiObject" {
			return cimTime(v)
		}
		return moment{v}
	case []any:
		list := []value{}
		for _, item := range v {
			list = append(list, c.wmiValue(item))
		}
		return list
	}
	return v
}

// cimTime is a time in WMI's form: yyyymmddHHMMSS.mmmmmmsUUU, with the minutes from UTC at the end
// (https://learn.microsoft.com/en-us/windows/win32/wmisdk/cim-datetime).
func cimTime(t time.Time) string {
	_, seconds := t.Zone()
	return fmt.Sprintf("%s%+04d", t.Format("20060102150405.000000"), seconds/60)
}

// parseCIMTime reads a time in WMI's form. ok is false for what is none, such as a time with wild cards.
func parseCIMTime(s string) (t time.Time, ok bool) {
	const sign = len("yyyymmddHHMMSS.mmmmmm")
	if len(s) < sign+2 || s[sign] != '+' && s[sign] != '-' {
		return time.Time{}, false
	}
	minutes, err := strconv.Atoi(s[sign:])
	if err != nil {
		return time.Time{}, false
	}
	zone := time.FixedZone("", minutes*60)
	t, err = time.ParseInLocation("20060102150405.000000", s[:sign], zone)
	return t.Local(), err == nil
}

func wmiCmdlets() []cmdlet {
	of := func(c cmdlet) cmdlet {
		c.run = getInstances
		c.values = []string{"classname", "query", "filter", "property", "namespace"}
		c.positions = []string{"classname"}
		return c
	}
	return []cmdlet{
		of(cmdlet{
			name:    "Get-CimInstance",
			aliases: []string{"gcim"},
			about:   "instances of the classes of WMI that Wine has; no methods, no other computers",
		}),
		of(cmdlet{
			name:    "Get-WmiObject",
			aliases: []string{"gwmi"},
			also:    map[string]string{"class": "classname"},
			about:   "the same, with times as texts",
		}),
	}
}
