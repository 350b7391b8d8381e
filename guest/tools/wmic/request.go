package wmic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// errOther is of a line that Wine's program is to carry out.
var errOther = errors.New("not get and not list")

// request is what a line asks for.
type request struct {
	namespace, class, where string
	// properties are those that are asked for; none are all. format is table, list or csv.
	properties []string
	format     string
	// brief are the properties that are shown of all, in the order of their names; nil: each one.
	brief []string
}

// aliases returns the classes that have a name of wmic's.
func aliases() map[string]string {
	return map[string]string{
		"baseboard": "Win32_BaseBoard", "bios": "Win32_BIOS", "cdrom": "Win32_CDROMDrive", "computersystem": "Win32_ComputerSystem",
		"cpu": "Win32_Processor", "csproduct": "Win32_ComputerSystemProduct", "diskdrive": "Win32_DiskDrive",
		"logicaldisk": "Win32_LogicalDisk", "memorychip": "Win32_PhysicalMemory", "nic": "Win32_NetworkAdapter",
		"nicconfig": "Win32_NetworkAdapterConfiguration", "os": "Win32_OperatingSystem", "pagefile": "Win32_PageFileUsage",
		"partition": "Win32_DiskPartition", "path": "", "printer": "Win32_Printer", "process": "Win32_Process", "qfe": "Win32_QuickFixEngineering",
		"service": "Win32_Service", "systemenclosure": "Win32_SystemEnclosure", "sysdriver": "Win32_SystemDriver", "timezone": "Win32_TimeZone",
		"useraccount": "Win32_UserAccount", "volume": "Win32_Volume",
	}
}

// parse reads a line: [/NAMESPACE:x] (alias | PATH class) [WHERE condition] (GET [properties] | LIST [FULL]) [/VALUE |
// /FORMAT:x].
func parse(args []string) (request, error) {
	r := request{namespace: `root\cimv2`, format: "table"}
	for len(args) > 0 && strings.HasPrefix(args[0], "/") {
		name, value, _ := strings.Cut(args[0], ":")
		if !strings.EqualFold(name, "/namespace") || value == "" {
			return r, errOther
		}
		r.namespace = strings.TrimLeft(value, `\`)
		args = args[1:]
	}
	if len(args) == 0 {
		return r, errOther
	}

	class, known := aliases()[strings.ToLower(args[0])]
	switch {
	case !known:
		return r, fmt.Errorf("%s - Alias not found.", args[0]) //nolint:staticcheck,revive // in Windows' words
	case class == "" && len(args) < 2:
		return r, errOther
	case class == "":
		class, args = args[1], args[1:]
	}

	r.class, args = class, args[1:]
	if !className.MatchString(class) {
		return r, errOther
	}
	if len(args) > 1 && strings.EqualFold(args[0], "where") {
		r.where, args = condition(args[1]), args[2:]
	}
	return r.verb(args)
}

// className matches the name of a class or a property.
var className = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// bare matches a comparison whose value has lost its quotes on the command line: name="cmd.exe".
var bare = lazyregexp.New(`^\s*([A-Za-z_][A-Za-z0-9_]*)\s*(=|!=|<>|(?i:\slike)\s)\s*([^'"()]*[^'"()\s])\s*$`)

// plain matches a value that WQL has without quotes.
var plain = lazyregexp.New(`^(?i:-?[0-9]+|true|false|null)$`)

// condition returns a condition in WQL.
func condition(text string) string {
	m := bare.FindStringSubmatch(text)
	if m == nil || plain.MatchString(m[3]) {
		return text
	}
	return m[1] + " " + strings.TrimSpace(m[2]) + ` "` + strings.ReplaceAll(m[3], `\`, `\\`) + `"`
}

// verb reads the line from the verb on.
func (r request) verb(args []string) (request, error) {
	if len(args) == 0 {
		return r, errOther
	}
	list := strings.EqualFold(args[0], "list")
	if !list && !strings.EqualFold(args[0], "get") {
		return r, errOther
	}

	rest := args[1:]
	if list {
		r.format = "list"
		if len(rest) > 0 && strings.EqualFold(rest[0], "brief") {
			r.brief, rest = briefs()[strings.ToLower(r.class)], rest[1:]
			if r.brief == nil {
				return r, errNoFormat
			}
			r.format = "table"
		}
	}

	for _, arg := range rest {
		if format, is := formatOf(arg); is {
			r.format = format
			continue
		}
		if list && strings.EqualFold(arg, "full") {
			continue
		}

		names, ok := properties(arg)
		if list || !ok {
			return r, errOther
		}
		r.properties = append(r.properties, names...)
	}

	return r, nil
}

// formatOf returns the format that a switch behind the verb asks for.
func formatOf(arg string) (string, bool) {
	name, value, _ := strings.Cut(strings.ToLower(arg), ":")
	value = strings.TrimSuffix(value, ".xsl")
	switch {
	case name == "/value", name == "/format" && value == "value":
		return "list", true
	case name == "/format":
		return value, slices.Contains([]string{"table", "list", "csv"}, value)
	}
	return "", false
}

// properties returns the names in one argument; * is none of them, which is all. ok is false for what is no list of
// names.
func properties(arg string) (names []string, ok bool) {
	for one := range strings.SplitSeq(arg, ",") {
		one = strings.TrimSpace(one)
		switch {
		case one == "", one == "*":
		case className.MatchString(one):
			names = append(names, one)
		default:
			return nil, false
		}
	}
	return names, true
}

// query returns the request in WQL.
func (r request) query() string {
	what := "*"
	if r.properties != nil {
		what = strings.Join(r.properties, ", ")
	}
	query := "SELECT " + what + " FROM " + r.class
	if r.where != "" {
		query += " WHERE " + r.where
	}
	return query
}
