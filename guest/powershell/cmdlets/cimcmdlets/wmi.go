package cimcmdlets

import (
	"context"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/wmi"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

// defaultNamespace is where queries go that name none.
const defaultNamespace = `root\cimv2`

// wmiName matches the name of a class or property.
var wmiName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// wmiQuery returns the query in WQL that a call's parameters mean
// (https://learn.microsoft.com/en-us/windows/win32/wmisdk/wql-sql-for-wmi).
func wmiQuery(c *cmdlet.Call) (string, error) {
	class, query := c.Text("classname"), c.Text("query")
	if (class == "") == (query == "") {
		return "", object.Thrown("%s : either -ClassName or -Query is needed.", c.Name)
	}
	if query != "" {
		return query, nil
	}

	if !wmiName.MatchString(class) {
		return "", object.Thrown("%s : a class of the name %q is not part of Mullion's PowerShell.", c.Name, class)
	}

	columns := "*"
	var names []string
	for v := range object.Each(c.Values["property"]) {
		if !wmiName.MatchString(object.Text(v)) {
			return "", object.Thrown("%s : -Property %s is not part of Mullion's PowerShell.", c.Name, object.Text(v))
		}
		names = append(names, object.Text(v))
	}
	if names != nil {
		columns = strings.Join(names, ", ")
	}

	query = "SELECT " + columns + " FROM " + class
	if filter := c.Text("filter"); filter != "" {
		query += " WHERE " + filter
	}
	return query, nil
}

// getInstances outputs instances of a class of WMI. Get-WmiObject leaves times as texts, Get-CimInstance does not.
func getInstances(c *cmdlet.Call) error {
	query, err := wmiQuery(c)
	if err != nil {
		return err
	}
	namespace := strings.ReplaceAll(c.Text("namespace"), "/", `\`)
	if namespace == "" {
		namespace = defaultNamespace
	}

	query, added := withNumbers(query)
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(c.State.Context, patience)
	defer cancel()
	found, err := c.State.System.WMI(ctx, namespace, query)
	if err != nil {
		return c.Fail(err)
	}

	for _, one := range found {
		correct(c, one)
		o := object.New(object.Custom)
		for i, name := range one.Names {
			if !added || !strings.EqualFold(name, processNumber) {
				o.Set(name, wmiValue(c, one.Props[i]))
			}
		}

		o.Props["pscomputername"] = c.State.Env["COMPUTERNAME"]
		o.Props["cimclassname"], o.Props["__class"] = one.Class, one.Class
		o.View = viewOf(o, one.Class, c.Name == "Get-WmiObject")
		if err := c.Out.Put(o); err != nil {
			return err
		}
	}

	return nil
}

const processNumber = "ProcessId"

// ofProcesses matches a query of some properties of processes.
var ofProcesses = lazyregexp.New(`(?is)^\s*SELECT\s+(.*?)(\s+FROM\s+Win32_Process\b.*)$`)

// withNumbers returns a query that asks for the numbers of processes too if it asks for their command lines: without
// them it is not known whose line is asked for.
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

// correct replaces what Wine's WMI says of another Windows than the registry, and fills in what it does not know: the
// command lines of other processes.
func correct(c *cmdlet.Call, o system.WMIObject) {
	const current = `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion`
	wmi.Correct(o, wmi.Machine{
		Product: registryText(c, current, "ProductName"),
		UUID:    registryText(c, `HKEY_LOCAL_MACHINE\SYSTEM\HardwareConfig`, "LastConfig"),
	})
	id, is := o.Value(processNumber).(int64)
	if !is || !strings.EqualFold(o.Class, "Win32_Process") {
		return
	}

	line, err := c.State.System.CommandLine(id)
	if err != nil { // as for a process that may not be opened
		return
	}
	for i, name := range o.Names {
		if strings.EqualFold(name, "CommandLine") {
			o.Props[i] = line
		}
	}
}

// registryText returns a value of the registry as text, "" if it is not there.
func registryText(c *cmdlet.Call, key, name string) string {
	_, values, err := c.State.System.Registry.Read(key)
	if err != nil {
		return ""
	}
	v, _ := provider.FindValue(values, name)
	return v.Text()
}

// wmiValue returns a property's value in the form that the cmdlet has it.
func wmiValue(c *cmdlet.Call, v any) object.Value {
	switch v := v.(type) {
	case time.Time:
		if c.Name == "Get-WmiObject" {
			return wmi.TimeText(v)
		}
		return object.DateTime{At: v}

	case []any:
		list := []object.Value{}
		for _, item := range v {
			list = append(list, wmiValue(c, item))
		}
		return list
	}

	return v
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	of := func(c cmdlet.Cmdlet) cmdlet.Cmdlet {
		c.Run = getInstances
		c.Values = []string{"classname", "query", "filter", "property", "namespace"}
		c.Positions = []string{"classname"}
		return c
	}

	return []cmdlet.Cmdlet{
		of(cmdlet.Cmdlet{
			Name:    "Get-CimInstance",
			Aliases: []string{"gcim"},
			About:   "instances of the classes of WMI that Wine has, of services, processes and others with what else is known; no methods, no other computers",
		}),
		of(cmdlet.Cmdlet{
			Name:    "Get-WmiObject",
			Aliases: []string{"gwmi"},
			Also:    map[string]string{"class": "classname"},
			About:   "the same, with times as texts",
		}),
	}
}
