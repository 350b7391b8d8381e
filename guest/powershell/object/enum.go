package object

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// EnumType is an enumeration of .NET.
type EnumType struct {
	Name   string
	Flags  bool // its values are sums of named values
	Own    bool // a script defines it: it is in no namespace
	Values []EnumName
}

// EnumName is a named value. If a value has several names, the first is shown.
type EnumName struct {
	Name string
	N    int64
}

// Enum is a value of an enumeration.
type Enum struct {
	Of *EnumType
	N  int64
}

// AddressFamily is the enumeration of the kinds of addresses.
const AddressFamily = "Net.Sockets.AddressFamily"

// enumTypes returns the implemented enumerations.
func enumTypes() []*EnumType {
	return append(accessTypes(), []*EnumType{
		{Name: AddressFamily, Values: []EnumName{{"Unspecified", 0}, {"InterNetwork", 2}, {"InterNetworkV6", 23}}},
		{Name: "DayOfWeek", Values: []EnumName{
			{"Sunday", 0},
			{"Monday", 1},
			{"Tuesday", 2},
			{"Wednesday", 3},
			{"Thursday", 4},
			{"Friday", 5},
			{"Saturday", 6},
		}},
		{Name: "IO.WatcherChangeTypes", Flags: true, Values: []EnumName{
			{"Created", 1}, {"Deleted", 2}, {"Changed", 4}, {"Renamed", 8}, {"All", 15},
		}},
		{Name: "IO.NotifyFilters", Flags: true, Values: []EnumName{
			{"FileName", 1},
			{"DirectoryName", 2},
			{"Attributes", 4},
			{"Size", 8},
			{"LastWrite", 16},
			{"LastAccess", 32},
			{"CreationTime", 64},
			{"Security", 256},
		}},
		{Name: comparisonName, Values: []EnumName{
			{"CurrentCulture", 0},
			{"CurrentCultureIgnoreCase", 1},
			{"InvariantCulture", 2},
			{"InvariantCultureIgnoreCase", 3},
			{"Ordinal", 4},
			{"OrdinalIgnoreCase", 5},
		}},
		{Name: ProtocolName, Flags: true, Values: []EnumName{
			{"SystemDefault", 0}, {"Ssl3", 48}, {"Tls", 192}, {"Tls11", 768}, {"Tls12", 3072}, {"Tls13", 12288},
		}},
		{Name: PolicyErrorsName, Flags: true, Values: []EnumName{
			{"None", 0}, {"RemoteCertificateNotAvailable", 1}, {nameMismatch, NameMismatch}, {chainErrors, ChainErrors},
		}},
		{Name: "Security.Cryptography.X509Certificates.StoreName", Values: []EnumName{
			{"AddressBook", 1},
			{"AuthRoot", 2},
			{"CertificateAuthority", 3},
			{"Disallowed", 4},
			{"My", 5},
			{"Root", 6},
			{"TrustedPeople", 7},
			{"TrustedPublisher", 8},
		}},
		{Name: "Security.Cryptography.X509Certificates.StoreLocation", Values: []EnumName{
			{"CurrentUser", 1}, {"LocalMachine", 2},
		}},
		{Name: "Security.Cryptography.X509Certificates.OpenFlags", Flags: true, Values: []EnumName{
			{"ReadOnly", 0}, {"ReadWrite", 1}, {"MaxAllowed", 2}, {"OpenExistingOnly", 4}, {"IncludeArchived", 8},
		}},
		{Name: "Security.Cryptography.X509Certificates.X509ContentType", Values: []EnumName{
			{"Unknown", 0}, {"Cert", 1}, {"SerializedCert", 2}, {"Pfx", 3}, {"SerializedStore", 4}, {"Pkcs7", 5},
		}},
		{Name: "Security.Principal.WindowsBuiltInRole", Values: []EnumName{
			{"Administrator", 544},
			{"User", 545},
			{"Guest", 546},
			{"PowerUser", 547},
			{"AccountOperator", 548},
			{"SystemOperator", 549},
			{"PrintOperator", 550},
			{"BackupOperator", 551},
			{"Replicator", 552},
		}},
		{Name: "IO.SearchOption", Values: []EnumName{{"TopDirectoryOnly", 0}, {"AllDirectories", 1}}},
		{Name: "IO.FileMode", Values: []EnumName{
			{"CreateNew", 1}, {"Create", 2}, {"Open", 3}, {"OpenOrCreate", 4}, {"Truncate", 5}, {"Append", 6},
		}},
		{Name: "IO.FileAccess", Flags: true, Values: []EnumName{{"Read", 1}, {"Write", 2}, {"ReadWrite", 3}}},
		{Name: "IO.FileShare", Flags: true, Values: []EnumName{
			{"None", 0}, {"Read", 1}, {"Write", 2}, {"ReadWrite", 3}, {"Delete", 4}, {"Inheritable", 16},
		}},
		{Name: "IO.FileAttributes", Flags: true, Values: []EnumName{
			{"ReadOnly", 1}, {"Hidden", 2}, {"System", 4}, {"Directory", 16}, {"Archive", 32}, {"Normal", 128}, {"ReparsePoint", 1024},
		}},
		{Name: "IO.Compression.CompressionMode", Values: []EnumName{{"Decompress", 0}, {"Compress", 1}}},
		{Name: "IO.SeekOrigin", Values: []EnumName{{"Begin", 0}, {"Current", 1}, {"End", 2}}},
		{Name: "DateTimeKind", Values: []EnumName{{"Unspecified", 0}, {"Utc", 1}, {"Local", 2}}},
		{Name: "Globalization.NumberStyles", Flags: true, Values: []EnumName{{"None", 0}, {"Integer", 7}, {"Any", 511}, {"HexNumber", 515}}},
		{Name: "ConsoleColor", Values: []EnumName{
			{"Black", 0},
			{"DarkBlue", 1},
			{"DarkGreen", 2},
			{"DarkCyan", 3},
			{"DarkRed", 4},
			{"DarkMagenta", 5},
			{"DarkYellow", 6},
			{"Gray", 7},
			{"DarkGray", 8},
			{"Blue", 9},
			{"Green", 10},
			{"Cyan", 11},
			{"Red", 12},
			{"Magenta", 13},
			{"Yellow", 14},
			{"White", 15},
		}},
		{Name: "Diagnostics.ProcessWindowStyle", Values: []EnumName{
			{"Normal", 0}, {"Hidden", 1}, {"Minimized", 2}, {"Maximized", 3},
		}},
		{Name: "Text.RegularExpressions.RegexOptions", Flags: true, Values: []EnumName{
			{"None", 0},
			{"IgnoreCase", 1},
			{"Multiline", 2},
			{"ExplicitCapture", 4},
			{"Compiled", 8},
			{"Singleline", 16},
			{"IgnorePatternWhitespace", 32},
			{"RightToLeft", 64},
			{"ECMAScript", 256},
			{"CultureInvariant", 512},
		}},
		{Name: "StringSplitOptions", Flags: true, Values: []EnumName{{"None", 0}, {"RemoveEmptyEntries", 1}}},
		PreferenceType(),
		categoryType(),
		statusType(),
		{Name: "EnvironmentVariableTarget", Values: []EnumName{{"Process", 0}, {"User", 1}, {"Machine", 2}}},
	}...)
}

// accessTypes returns the enumerations in the rules of an access list
// (https://learn.microsoft.com/en-us/dotnet/api/system.security.accesscontrol.filesystemrights).
func accessTypes() []*EnumType {
	const space = "Security.AccessControl."
	return []*EnumType{
		{Name: space + "AccessControlType", Values: []EnumName{{"Allow", 0}, {"Deny", 1}}},
		{
			Name:   space + "InheritanceFlags",
			Flags:  true,
			Values: []EnumName{{"None", 0}, {"ContainerInherit", 1}, {"ObjectInherit", 2}},
		},
		{
			Name:   space + "PropagationFlags",
			Flags:  true,
			Values: []EnumName{{"None", 0}, {"NoPropagateInherit", 1}, {"InheritOnly", 2}},
		},
		{
			Name:  space + "FileSystemRights",
			Flags: true,
			Values: []EnumName{
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

// FullName returns the enumeration's name with its namespace.
func (t *EnumType) FullName() string {
	if t.Own {
		return t.Name
	}
	return "System." + t.Name
}

// Has reports whether a value has a name: a name, as it is written, or a number.
func (t *EnumType) Has(v Value) bool {
	return slices.ContainsFunc(t.Values, func(one EnumName) bool {
		switch v := Plain(v).(type) {
		case string:
			return v == one.Name
		case Enum:
			return v.N == one.N
		}
		n, err := Integer(v)
		return err == nil && n == one.N
	})
}

// EnumOf finds an enumeration by its name, with or without System.
func EnumOf(name string) *EnumType {
	name = strings.TrimPrefix(strings.ToLower(name), "system.")
	for _, t := range enumTypes() {
		if strings.ToLower(t.Name) == name {
			return t
		}
	}
	return nil
}

// Named returns the value with a name.
func (t *EnumType) Named(name string) (Enum, bool) {
	for _, v := range t.Values {
		if strings.EqualFold(v.Name, name) {
			return Enum{t, v.N}, true
		}
	}
	return Enum{}, false
}

// Text returns the value as .NET shows it: a name, the fewest names whose sum it is, or the number.
func (e Enum) Text() string {
	if i := slices.IndexFunc(e.Of.Values, func(v EnumName) bool { return v.N == e.N }); i >= 0 {
		return e.Of.Values[i].Name
	}

	rest := e.N
	var names []string
	for _, v := range slices.Backward(e.Of.Values) {
		if e.Of.Flags && v.N != 0 && rest&v.N == v.N && !e.hasAnother(v) {
			names = append([]string{v.Name}, names...)
			rest &^= v.N
		}
	}

	if rest != 0 || len(names) == 0 {
		return strconv.FormatInt(e.N, 10)
	}

	return strings.Join(names, ", ")
}

// hasAnother reports whether the value of v has a name before v.
func (e Enum) hasAnother(v EnumName) bool {
	i := slices.IndexFunc(e.Of.Values, func(other EnumName) bool { return other.N == v.N })
	return e.Of.Values[i].Name != v.Name
}

// Order compares with a value of the same enumeration, a name or a number. A name of no value is unequal, and cannot be
// compared otherwise.
func (e Enum) Order(equality bool, b Value) (int, error) {
	var n int64
	switch b := b.(type) {
	case Enum:
		if b.Of.Name != e.Of.Name {
			return 1, nil
		}
		n = b.N
	case string:
		named, ok := e.Of.Named(b)
		if !ok && equality {
			return 1, nil
		}
		if !ok {
			return 0, Thrown("%q is not a value of %s.", b, e.Of.Name)
		}
		n = named.N
	default:
		var err error
		if n, err = Integer(b); err != nil {
			return 0, err
		}
	}

	return cmp.Compare(e.N, n), nil
}

// Parsed returns the value that a name, the beginning of one name only, a number or a value means.
func (t *EnumType) Parsed(v Value) (e Enum, known bool) {
	if e, ok := v.(Enum); ok {
		return e, e.Of.Name == t.Name
	}
	if sum, ok := t.sum(v); ok {
		return sum, true
	}

	if s, ok := v.(string); ok && s != "" {
		if e, ok := t.Named(s); ok {
			return e, true
		}

		var found []EnumName
		for _, one := range t.Values {
			if strings.HasPrefix(strings.ToLower(one.Name), strings.ToLower(s)) {
				found = append(found, one)
			}
		}

		if len(found) == 1 {
			return Enum{t, found[0].N}, true
		}
	}

	n, err := Integer(v)
	is := func(one EnumName) bool { return one.N == n || (t.Own && t.Flags && n&^t.all() == 0) }
	return Enum{t, n}, err == nil && v != nil && v != "" && slices.ContainsFunc(t.Values, is)
}

// all returns the bits of all values.
func (t *EnumType) all() (n int64) {
	for _, one := range t.Values {
		n |= one.N
	}
	return n
}

// sum returns the value of several names, in a list or parted by commas.
func (t *EnumType) sum(v Value) (e Enum, ok bool) {
	items, ok := v.([]Value)
	if s, isText := v.(string); isText && strings.Contains(s, ",") {
		ok = true
		for part := range strings.SplitSeq(s, ",") {
			items = append(items, strings.TrimSpace(part))
		}
	}

	if !ok || len(items) == 0 {
		return Enum{}, false
	}

	e.Of = t
	for _, item := range items {
		one, known := t.Parsed(item)
		if !known {
			return Enum{}, false
		}
		e.N |= one.N
	}

	return e, true
}

// enumObjects returns an enumeration as the class of its values.
func enumObjects(t *EnumType) *Class {
	other := func(c *Call) (Enum, error) {
		e, ok := t.Parsed(Plain(c.Arg(0)))
		if !ok {
			return e, CannotConvert(c.Arg(0), t.FullName())
		}
		return e, nil
	}

	return &Class{Name: t.FullName(), Methods: []Method{
		{Name: "HasFlag", Least: 1, Most: 1, Do: func(c *Call) (Value, error) {
			e, err := other(c)
			return c.On.(Enum).N&e.N == e.N, err
		}},
		{Name: "CompareTo", Least: 1, Most: 1, Do: func(c *Call) (Value, error) {
			e, err := other(c)
			return int64(cmp.Compare(c.On.(Enum).N, e.N)), err
		}},
		{Name: "ToString", Most: 1, Do: func(c *Call) (Value, error) {
			e := c.On.(Enum)
			switch strings.ToLower(c.Text(0)) {
			case "d":
				return strconv.FormatInt(e.N, 10), nil
			case "x":
				return FormatNumber(wholeDigits(e.N), "X8")
			}
			return e.Text(), nil
		}},
	}}
}

func (e Enum) property(name string) (Value, error) {
	if name != "value__" {
		return nil, Thrown("The property %q of %s is not part of Mullion's PowerShell.", name, e.Of.Name)
	}
	return e.N, nil
}
