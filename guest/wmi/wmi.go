// Package wmi asks Windows Management Instrumentation, for the programs of guest/ that show what it says: PowerShell's
// cmdlets and wmic.exe. It owns the query, the values of its answer, and what is corrected in it: where Wine's WMI says
// another thing of the machine than the registry and the other calls of Windows. Programs that ask WMI themselves get
// Wine's own answer.
package wmi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Object is an instance of a class: its properties, in order. A value is nil, bool, int64, float64, string, time.Time
// or a list of those.
type Object struct {
	Class string
	Names []string
	Props []any
}

// Errors of WMI, in its words (https://learn.microsoft.com/en-us/windows/win32/wmisdk/wmi-error-constants).
var (
	ErrClass     = errors.New("Invalid class")     //nolint:staticcheck // as WMI has it
	ErrNamespace = errors.New("Invalid namespace") //nolint:staticcheck // the same
	ErrQuery     = errors.New("Invalid query")     //nolint:staticcheck // the same
)

// ParseTime reads a time in WMI's form. ok is false for what is none, such as a time with wild cards.
func ParseTime(s string) (t time.Time, ok bool) {
	const sign = len("yyyymmddHHMMSS.mmmmmm")
	if len(s) < sign+2 || (s[sign] != '+' && s[sign] != '-') {
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

// TimeText returns a time in WMI's form: yyyymmddHHMMSS.mmmmmmsUUU, with the minutes from UTC at the end
// (https://learn.microsoft.com/en-us/windows/win32/wmisdk/cim-datetime).
func TimeText(t time.Time) string {
	_, seconds := t.Zone()
	return fmt.Sprintf("%s%+04d", t.Format("20060102150405.000000"), seconds/60)
}

// Machine is what is known of the machine without WMI.
type Machine struct {
	// Product is the value ProductName of the registry, UUID the machine's number there, in braces or without.
	Product, UUID string
	// User is the user with its domain.
	User string
	// Cores is how many cores all processors have together, Adapters are those with an address, by their index.
	Cores    int
	Adapters map[int64]Adapter
}

// Adapter is what is known of a network adapter without WMI.
type Adapter struct{ DHCP, Addressed bool }

// Correct replaces what Wine's WMI says of another machine than the other calls of Windows. What is not known stays.
func Correct(o Object, m Machine) {
	right := map[string]any{}
	switch strings.ToLower(o.Class) {
	case "win32_operatingsystem":
		right = m.system()
	case "win32_computersystem":
		const standaloneServer = 2
		right["domainrole"] = int64(standaloneServer)
		if m.User != "" {
			right["username"] = m.User
		}

	case "win32_computersystemproduct":
		if m.UUID != "" {
			right["uuid"] = strings.ToUpper(strings.Trim(m.UUID, "{}"))
		}
	case "win32_processor":
		n, is := o.Value("NumberOfCores").(int64)
		if all := int64(m.Cores); is && all > 0 && (n < 1 || n > all) {
			right["numberofcores"] = all
		}

	case "win32_networkadapterconfiguration":
		index, _ := o.Value("Index").(int64)
		if a, ok := m.Adapters[index]; ok {
			right["dhcpenabled"], right["ipenabled"] = a.DHCP, a.Addressed
		}
	}

	for i, name := range o.Names {
		if v, wrong := right[strings.ToLower(name)]; wrong {
			o.Props[i] = v
		}
	}
}

// system returns the properties of Win32_OperatingSystem that are known.
func (m Machine) system() map[string]any {
	if m.Product == "" {
		return nil
	}
	const server, datacenter = 3, 8
	name := "Microsoft " + m.Product
	return map[string]any{
		"caption": name, "name": name + `|C:\Windows|\Device\Harddisk0\Partition1`, "csdversion": nil,
		"servicepackmajorversion": int64(0), "producttype": int64(server), "operatingsystemsku": int64(datacenter),
		"buildtype": "Multiprocessor Free", "manufacturer": "Microsoft Corporation",
	}
}

// Value returns a property by its name, nil if the object does not have it.
func (o Object) Value(name string) any {
	for i, n := range o.Names {
		if strings.EqualFold(n, name) {
			return o.Props[i]
		}
	}
	return nil
}
