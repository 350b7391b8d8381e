package powershell

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// enumType is an enumeration of .NET.
type enumType struct {
	name   string
	flags  bool // its values are sums of named values
	values []enumName
}

// enumName is a named value. If a value has several names, the first is shown.
type enumName struct {
	name string
	n    int64
}

// enum is a value of an enumeration.
type enum struct {
	of *enumType
	n  int64
}

// enumTypes are the implemented enumerations.
func enumTypes() []*enumType {
	return append(accessTypes(), []*enumType{
		{name: familyName, values: []enumName{{"Unspecified", 0}, {"InterNetwork", 2}, {"InterNetworkV6", 23}}},
		{name: "DayOfWeek", values: []enumName{
			{"Sunday", 0},
			{"Monday", 1},
			{"Tuesday", 2},
			{"Wednesday", 3},
			{"Thursday", 4},
			{"Friday", 5},
			{"Saturday", 6},
		}},
		{name: comparisonName, values: []enumName{
			{"CurrentCulture", 0},
			{"CurrentCultureIgnoreCase", 1},
			{"InvariantCulture", 2},
			{"InvariantCultureIgnoreCase", 3},
			{"Ordinal", 4},
			{"OrdinalIgnoreCase", 5},
		}},
		{name: protocolName, flags: true, values: []enumName{
			{"SystemDefault", 0}, {"Ssl3", 48}, {"Tls", 192}, {"Tls11", 768}, {"Tls12", 3072}, {"Tls13", 12288},
		}},
		{name: "StringSplitOptions", flags: true, values: []enumName{{"None", 0}, {"RemoveEmptyEntries", 1}}},
		preferenceType(),
		statusType(),
		{name: "EnvironmentVariableTarget", values: []enumName{{"Process", 0}, {"User", 1}, {"Machine", 2}}},
	}...)
}

// accessTypes are the enumerations in the rules of an access list
// (https://learn.microsoft.com/en-us/dotnet/api/system.security.accesscontrol.filesystemrights).
func accessTypes() []*enumType {
	const space = "Security.AccessControl."
	return []*enumType{
		{name: space + "AccessControlType", values: []enumName{{"Allow", 0}, {"Deny", 1}}},
		{
			name:   space + "InheritanceFlags",
			flags:  true,
			values: []enumName{{"None", 0}, {"ContainerInherit", 1}, {"ObjectInherit", 2}},
		},
		{
			name:   space + "PropagationFlags",
			flags:  true,
			values: []enumName{{"None", 0}, {"NoPropagateInherit", 1}, {"InheritOnly", 2}},
		},
		{
			name:  space + "FileSystemRights",
			flags: true,
			values: []enumName{
				{"ListDirectory", 0x1},
				{"ReadData", 0x1},
				{"CreateFiles", 0x2},
				{"WriteData", 0x2},
				{"AppendData", 0x4},
				{"CreateDirectories", 0x4},
				{"ReadExtendedAttributes", 0x8},
				{"WriteExtendedAttributes", 0x10},
				{"ExecuteFile", 0x20},
				{"Traverse", 0x20},
				{"DeleteSubdirectoriesAndFiles", 0x40},
				{"ReadAttributes", 0x80},
				{"WriteAttributes", 0x100},
				{"Write", 0x116},
				{"Delete", 0x10000},
				{"ReadPermissions", 0x20000},
				{"Read", 0x20089},
				{"ReadAndExecute", 0x200a9},
				{"Modify", 0x301bf},
				{"ChangePermissions", 0x40000},
				{"TakeOwnership", 0x80000},
				{"Synchronize", 0x100000},
				{"FullControl", 0x1f01ff},
			},
		},
	}
}

// enumOf finds an enumeration by its name, with or without System.
func enumOf(name string) *enumType {
	name = strings.TrimPrefix(lower(name), "system.")
	for _, t := range enumTypes() {
		if lower(t.name) == name {
			return t
		}
	}
	return nil
}

// named returns the value with a name.
func (t *enumType) named(name string) (enum, bool) {
	for _, v := range t.values {
		if strings.EqualFold(v.name, name) {
			return enum{t, v.n}, true
		}
	}
	return enum{}, false
}

// text is the value as .NET shows it: a name, the fewest names whose sum it is, or the number.
func (e enum) text() string {
	if i := slices.IndexFunc(e.of.values, func(v enumName) bool { return v.n == e.n }); i >= 0 {
		return e.of.values[i].name
	}
	rest := e.n
	var names []string
	for _, v := range slices.Backward(e.of.values) {
		if e.of.flags && v.n != 0 && rest&v.n == v.n && !e.hasAnother(v) {
			names = append([]string{v.name}, names...)
			rest &^= v.n
		}
	}
	if rest != 0 || len(names) == 0 {
		return strconv.FormatInt(e.n, 10)
	}
	return strings.Join(names, ", ")
}

// hasAnother reports whether the value of v has a name before v.
func (e enum) hasAnother(v enumName) bool {
	i := slices.IndexFunc(e.of.values, func(other enumName) bool { return other.n == v.n })
	return e.of.values[i].name != v.name
}

// order compares with a value of the same enumeration, a name or a number. A name of no value is unequal, and cannot be
// compared otherwise.
func (e enum) order(equality bool, b value) (int, error) {
	var n int64
	switch b := b.(type) {
	case enum:
		if b.of.name != e.of.name {
			return 1, nil
		}
		n = b.n
	case string:
		named, ok := e.of.named(b)
		if !ok && equality {
			return 1, nil
		}
		if !ok {
			return 0, thrown("%q is not a value of %s.", b, e.of.name)
		}
		n = named.n
	default:
		var err error
		if n, err = integer(b); err != nil {
			return 0, err
		}
	}
	return cmp.Compare(e.n, n), nil
}

// parsed is the value that a name, the beginning of one name only, a number or a value means.
func (t *enumType) parsed(v value) (e enum, known bool) {
	if e, ok := v.(enum); ok {
		return e, e.of.name == t.name
	}
	if s, ok := v.(string); ok && s != "" {
		if e, ok := t.named(s); ok {
			return e, true
		}
		var found []enumName
		for _, one := range t.values {
			if strings.HasPrefix(lower(one.name), lower(s)) {
				found = append(found, one)
			}
		}
		if len(found) == 1 {
			return enum{t, found[0].n}, true
		}
	}
	n, err := integer(v)
	is := func(one enumName) bool { return one.n == n }
	return enum{t, n}, err == nil && v != nil && v != "" && slices.ContainsFunc(t.values, is)
}

func (e enum) property(name string) (value, error) {
	if name != "value__" {
		return nil, thrown("The property %q of %s is not part of Mullion's PowerShell.", name, e.of.name)
	}
	return e.n, nil
}
