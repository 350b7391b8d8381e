package icacls

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/filesec"
	"mullion.dev/mullion/guest/tools/program"
)

// readControl is the right that icacls' W lacks, and FILE_GENERIC_WRITE has
// (https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.3/internal/security/grantvmgroupaccess_test.go).
const readControl = 0x20000

// simple returns the names of sets of rights, the largest first.
func simple() []right {
	return []right{
		{"F", filesec.FullAccess},
		{"M", filesec.Modify},
		{"RX", filesec.ReadExecute},
		{"R", filesec.Read},
		{"W", filesec.Write &^ readControl},
		{"D", filesec.Delete},
		{"N", 0},
	}
}

// specific returns the names of single rights, in the order in which icacls prints them.
func specific() []right {
	return []right{
		{"DE", 0x10000},
		{"Rc", readControl},
		{"WDAC", 0x40000},
		{"WO", 0x80000},
		{"S", 0x100000},
		{"AS", 0x1000000},
		{"MA", 0x2000000},
		{"GR", 0x80000000},
		{"GW", 0x40000000},
		{"GE", 0x20000000},
		{"GA", 0x10000000},
		{"RD", 1},
		{"WD", 2},
		{"AD", 4},
		{"REA", 8},
		{"WEA", 0x10},
		{"X", 0x20},
		{"DC", 0x40},
		{"RA", 0x80},
		{"WA", 0x100},
	}
}

type right struct {
	name string
	mask uint32
}

// rightsText returns a set of rights as icacls prints it. Rights of any kind of object stand for those of files.
func rightsText(mask uint32) string {
	for _, generic := range []struct{ from, to uint32 }{
		{0x10000000, filesec.FullAccess}, {0xe0010000, filesec.Modify},
	} {
		if mask == generic.from {
			mask = generic.to
		}
	}
	if mask == 0 {
		return "N"
	}

	var names []string
	rest := mask
	for _, r := range simple() { // each set that is whole, unless a larger one has it
		if r.mask != 0 && mask&r.mask == r.mask && rest&r.mask&^(filesec.Read&filesec.Write) != 0 {
			names = append(names, r.name)
			rest &^= r.mask
		}
	}

	for _, r := range specific() {
		if rest&r.mask != 0 {
			names = append(names, r.name)
		}
	}

	return strings.Join(names, ",")
}

// parseRights reads what follows an account: (OI)(CI)F, RX, (RD,WD).
func parseRights(text string) (flags uint8, mask uint32, ok bool) {
	names := map[string]uint8{
		"OI": filesec.ObjectInherit, "CI": filesec.ContainerInherit, "IO": filesec.InheritOnly, "NP": filesec.NoPropagate,
	}

	for strings.HasPrefix(text, "(") {
		inner, rest, closed := strings.Cut(text[1:], ")")
		flag, is := names[strings.ToUpper(inner)]
		if !closed {
			return 0, 0, false
		}

		if !is {
			if rest != "" {
				return 0, 0, false
			}
			text = inner
			break
		}
		flags, text = flags|flag, rest
	}

	for name := range strings.SplitSeq(text, ",") {
		all := append(simple(), specific()...)
		i := slices.IndexFunc(all, func(r right) bool { return strings.EqualFold(r.name, name) })
		if i < 0 {
			return 0, 0, false
		}
		mask |= all[i].mask
	}

	return flags, mask, true
}

// printAccess prints a file's list, one entry a line, below one another.
func printAccess(e program.Env, sys System, path string, list filesec.List) {
	if len(list.Entries) == 0 {
		e.Print("%s No permissions are set. All users have full control.", path)
		e.Print("")
		return
	}

	before := path
	for _, entry := range list.Entries {
		var b strings.Builder
		b.WriteString(sys.Account(entry.SID) + ":")
		for _, f := range []struct {
			bit  uint8
			text string
		}{
			{filesec.Inherited, "(I)"},
			{filesec.ObjectInherit, "(OI)"},
			{filesec.ContainerInherit, "(CI)"},
			{filesec.InheritOnly, "(IO)"},
			{filesec.NoPropagate, "(NP)"},
		} {
			if entry.Flags&f.bit != 0 {
				b.WriteString(f.text)
			}
		}

		if entry.Deny {
			b.WriteString("(DENY)")
		}
		e.Print("%s %s(%s)", before, b.String(), rightsText(entry.Mask))
		before = strings.Repeat(" ", len([]rune(path)))
	}

	e.Print("")
}

// icaclsUsage prints what icacls can do here.
func icaclsUsage(e program.Env) {
	for _, line := range []string{
		"", "ICACLS name [/grant[:r] Sid:perm[...]] [/deny Sid:perm[...]] [/remove[:g|:d] Sid[...]]",
		"       [/inheritance:e|d|r] [/T] [/C] [/Q]", "ICACLS name /reset [/T] [/C] [/Q]", "ICACLS name /setowner user [/T] [/C] [/Q]",
	} {
		e.Print("%s", line)
	}
}

// parseIcacls reads the arguments. The code is negative if there is something to do.
func parseIcacls(e program.Env, sys System, args []string) (a *access, code int) {
	a = &access{}
	if len(args) == 0 {
		icaclsUsage(e)
		return a, 0
	}
	if name, is := program.Option(args[0]); is {
		icaclsUsage(e)
		return a, map[bool]int{true: 0, false: errorInvalidParameter}[name == "?"]
	}

	a.path = strings.TrimRight(args[0], `\`)
	if drive, ok := strings.CutSuffix(a.path, ":"); ok {
		a.path = drive + `:\`
	}

	verb, taken := "", false // whether the verb has got an account
	for _, arg := range append(args[1:len(args):len(args)], "/") {
		name, is := program.Option(arg)
		switch {
		case (is || arg == "/") && verb != "" && !taken:
			return a, a.wrong(e, "/"+verb)
		case arg == "/": // the end
		case is:
			verb, taken = "", false
			if slices.Contains(icaclsVerbs(), name) {
				verb = name
			} else if !a.flag(name) {
				return a, a.wrong(e, arg)
			}

		case verb == "":
			return a, a.wrong(e, arg)
		default:
			taken = true
			if code := a.account(e, sys, verb, arg); code != 0 {
				return a, code
			}
		}
	}

	return a, -1
}

// icaclsVerbs returns the options that an account follows.
func icaclsVerbs() []string {
	return []string{"grant", "grant:r", "deny", "remove", "remove:g", "remove:d", "setowner"}
}

func (a *access) wrong(e program.Env, arg string) int {
	e.Complain("Invalid parameter \"%s\"", arg)
	return errorInvalidParameter
}

// flag takes an option without an account.
func (a *access) flag(name string) bool {
	verb, mode, _ := strings.Cut(name, ":")
	switch {
	case name == "t":
		a.below = true
	case name == "c":
		a.goOn = true
	case name == "q":
		a.quiet = true
	case name == "reset":
		a.changes = append(a.changes, change{verb: name})
	case verb == "inheritance" && (mode == "e" || mode == "d" || mode == "r"):
		a.changes = append(a.changes, change{verb: verb, mode: mode})
	default:
		return false
	}

	return true
}

// account takes an account after an option, with rights if the option has some.
func (a *access) account(e program.Env, sys System, verb, arg string) int {
	c := change{verb: verb}
	name := arg
	if strings.HasPrefix(verb, "grant") || verb == "deny" {
		text, ok := "", false
		if i := strings.LastIndexByte(arg, ':'); i > 0 {
			name, text = arg[:i], arg[i+1:]
			c.flags, c.mask, ok = parseRights(text)
		}
		if !ok {
			e.Complain("Invalid parameter \"%s\"", arg)
			return errorInvalidParameter
		}
	}

	sid, err := sys.LookupAccount(name)
	if err != nil {
		e.Complain("%s: No mapping between account names and security IDs was done.", name)
		e.Print("Successfully processed 0 files; Failed processing 1 files")
		return errorNoneMapped
	}
	c.sid = sid
	a.changes = append(a.changes, c)

	return 0
}
