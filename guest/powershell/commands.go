package powershell

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// command is an object of Get-Command and Get-Alias.
func command(kind, name, source, definition string) *object {
	o := newObject("command").set("CommandType", kind).set("Name", name).set("Version", "").set("Source", source)
	o.props["definition"], o.props["displayname"] = definition, name
	if kind == "Alias" {
		o.props["displayname"] = name + " -> " + definition
	}
	if kind == "Application" {
		o.props["path"] = definition
	}
	return o
}

// known are the aliases, functions and cmdlets that a session has, each kind by name.
func (f *frame) known() []*object {
	var aliases, functions, commands []*object
	for _, c := range cmdlets() {
		commands = append(commands, command("Cmdlet", c.name, "Mullion", c.syntax()))
		for _, a := range c.aliases {
			aliases = append(aliases, command("Alias", a, "", c.name))
		}
	}
	for name := range f.functionNames() {
		fn, _ := f.function(name)
		functions = append(functions, command("Function", fn.name, "", fn.text))
	}
	all := [][]*object{aliases, functions, commands}
	for _, kind := range all {
		slices.SortFunc(kind, func(a, b *object) int {
			return strings.Compare(lower(text(a.props["name"])), lower(text(b.props["name"])))
		})
	}
	return slices.Concat(all...)
}

// syntax is how a cmdlet is called.
func (c cmdlet) syntax() string {
	parts := []string{c.name}
	for _, p := range c.values {
		switch {
		case slices.Contains(c.positions, p):
			parts = append(parts, "[[-"+p+"] <value>]")
		default:
			parts = append(parts, "[-"+p+" <value>]")
		}
	}
	for _, p := range c.flags {
		parts = append(parts, "[-"+p+"]")
	}
	for _, p := range commonValues() {
		parts = append(parts, "[-"+p+" <value>]")
	}
	return strings.Join(parts, " ")
}

// getCommand lists commands: those of the session, and programs that are asked for by name.
func getCommand(c *call) error {
	names := c.items("name")
	if len(names) == 0 && !c.piped {
		return c.putAll(c.ofKind(c.f.known()))
	}
	for _, v := range names {
		found, err := c.commandsNamed(text(v))
		if err != nil {
			return err
		}
		if len(found) == 0 && !hasWildcard(text(v)) {
			const message = "The term '%s' is not recognized as the name of a cmdlet, function, script file, or operable program."
			if err := c.fail(itsWords(message, text(v))); err != nil {
				return err
			}
		}
		if err := c.putAll(found); err != nil {
			return err
		}
	}
	return nil
}

// commandsNamed are the commands of a name, which may have wild cards; without them only the one that would be run.
func (c *call) commandsNamed(name string) ([]*object, error) {
	re, err := wildcard(name)
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(c.f.known(), func(o *object) bool { return !re.MatchString(text(o.props["name"])) })
	found = c.ofKind(append(found, c.f.in.programs(name, re)...))
	if !hasWildcard(name) {
		found = found[:min(len(found), 1)]
	}
	return found, nil
}

// ofKind are the commands that -CommandType leaves.
func (c *call) ofKind(all []*object) []*object {
	kind := lower(c.text("commandtype"))
	if kind == "" || kind == "all" {
		return all
	}
	return slices.DeleteFunc(all, func(o *object) bool { return lower(text(o.props["commandtype"])) != kind })
}

// putAll outputs objects.
func (c *call) putAll(all []*object) error {
	for _, o := range all {
		if err := c.out.put(o); err != nil {
			return err
		}
	}
	return nil
}

// programs are the programs in the folders of PATH that a name, perhaps with wild cards, means.
func (in *interpreter) programs(name string, re *regexp.Regexp) []*object {
	if !hasWildcard(name) {
		path, err := in.find(name)
		if err != nil {
			return nil
		}
		return []*object{command("Application", filepath.Base(path), path, path)}
	}
	var all []*object
	for _, dir := range filepath.SplitList(in.env["PATH"]) {
		entries, err := os.ReadDir(strings.Trim(dir, `"`))
		if err != nil {
			continue // as a shell does that looks for a program
		}
		for _, e := range entries {
			short := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
			if !e.IsDir() && (re.MatchString(e.Name()) || re.MatchString(short)) && in.runs(e.Name()) {
				path := filepath.Join(dir, e.Name())
				all = append(all, command("Application", e.Name(), path, path))
			}
		}
	}
	return all
}

// runs reports whether a file is a program by its name.
func (in *interpreter) runs(name string) bool {
	extension := filepath.Ext(name)
	return !in.windows() || extension != "" && slices.ContainsFunc(in.extensions(), func(e string) bool {
		return strings.EqualFold(e, extension)
	})
}

// getAlias lists aliases by their names, or by what they stand for.
func getAlias(c *call) error {
	wanted, by := c.items("name"), "name"
	if v, ok := c.values["definition"]; ok {
		wanted, by = slices.Collect(each(v)), "definition"
	}
	if len(wanted) == 0 {
		wanted = []value{"*"}
	}
	for _, v := range wanted {
		re, err := wildcard(text(v))
		if err != nil {
			return err
		}
		found := false
		for _, o := range c.f.known() {
			if o.props["commandtype"] != "Alias" || !re.MatchString(text(o.props[by])) {
				continue
			}
			found = true
			if err := c.out.put(o); err != nil {
				return err
			}
		}
		if !found && !hasWildcard(text(v)) {
			err := itsWords("This command cannot find a matching alias because an alias with the %s '%s' does not exist.",
				by, text(v))
			if err := c.fail(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// aboutThis is what Get-Help says without a name.
const aboutThis = `TOPIC
    Mullion's PowerShell

DESCRIPTION
    A part of the language of Windows PowerShell 5.1, on Windows nodes without Windows.
    What a script uses beyond that is an error of the statement that needs it, when it is reached.

    Get-Command          lists the cmdlets, aliases and functions
    Get-Help NAME        says what a cmdlet does, and its parameters
    OBJECT | Get-Member  lists the properties and methods of an object`

// getHelp says what a cmdlet does.
func getHelp(c *call) error {
	names := c.items("name")
	if len(names) == 0 {
		return c.out.put(strings.ReplaceAll(aboutThis, "\n", c.f.in.session.Newline))
	}
	for _, v := range names {
		cmd, ok := lookup(lower(text(v)))
		if !ok {
			err := itsWords("Get-Help could not find %s in a help file in this session.", text(v))
			if err := c.fail(err); err != nil {
				return err
			}
			continue
		}
		parts := []string{"NAME", "    " + cmd.name, "", "SYNOPSIS", "    " + cmd.about, "", "SYNTAX", "    " + cmd.syntax()}
		if len(cmd.aliases) > 0 {
			parts = append(parts, "", "ALIASES", "    "+strings.Join(cmd.aliases, ", "))
		}
		if err := c.out.put(strings.Join(parts, c.f.in.session.Newline)); err != nil {
			return err
		}
	}
	return nil
}

// memberObject is an object of Get-Member.
func memberObject(of, name, kind, definition string) *object {
	return newObject("member").set("TypeName", of).set("Name", name).set("MemberType", kind).set("Definition", definition)
}

// kindTypes are the types of .NET whose objects the kinds of objects here stand for.
func kindTypes() map[string]string {
	return map[string]string{
		"command":       "System.Management.Automation.CommandInfo",
		"entry":         "System.Collections.DictionaryEntry",
		"event":         "System.Diagnostics.Eventing.Reader.EventLogRecord",
		"file":          "System.IO.FileSystemInfo",
		"group":         "Microsoft.PowerShell.Commands.GroupInfo",
		"job":           "System.Management.Automation.Job",
		"log entry":     "System.Diagnostics.EventLogEntry",
		"location":      "System.Management.Automation.PathInfo",
		"process":       "System.Diagnostics.Process",
		"selected line": "Microsoft.PowerShell.Commands.MatchInfo",
		"service":       "System.ServiceProcess.ServiceController",
	}
}

// memberType is the name of an object's type as Get-Member has it.
func memberType(v value) string {
	if o, ok := v.(*object); ok && kindTypes()[o.kind] != "" {
		return kindTypes()[o.kind]
	}
	return typeName(v)
}

// getMember lists the members of each type in its input.
func getMember(c *call) error {
	var seen []string
	for _, v := range c.items(objectName) {
		of := memberType(v)
		if slices.Contains(seen, of) {
			continue
		}
		seen = append(seen, of)
		for _, m := range membersOf(v) {
			kind := lower(c.text("membertype"))
			if kind != "" && kind != "all" && kind != lower(text(m.props["membertype"])) &&
				(kind != "properties" || m.props["membertype"] == "Method") {
				continue
			}
			wanted := c.values["name"] == nil
			for name := range each(c.values["name"]) {
				re, err := wildcard(text(name))
				if err != nil {
					return err
				}
				wanted = wanted || re.MatchString(text(m.props["name"]))
			}
			if !wanted {
				continue
			}
			if err := c.out.put(m); err != nil {
				return err
			}
		}
	}
	if len(seen) == 0 {
		return c.fail(itsWords("You must specify an object for the Get-Member cmdlet."))
	}
	return nil
}

// membersOf are the methods and properties of an object, each by name.
func membersOf(v value) []*object {
	of := memberType(v)
	var methods, properties []*object
	for _, class := range []*class{classOf(v), everyClass()} {
		if class == nil {
			continue
		}
		for _, m := range class.methods {
			if !slices.ContainsFunc(methods, func(o *object) bool { return o.props["name"] == m.name }) {
				methods = append(methods, memberObject(of, m.name, "Method", m.name+m.arity()))
			}
		}
	}
	kind := "Property"
	if o, ok := v.(*object); ok && o.kind == custom {
		kind = "NoteProperty"
	}
	for _, name := range propertyNames(v) {
		got, err := property(v, lower(name))
		if err != nil {
			got = nil // its type is not known then
		}
		definition := shortType(got) + " " + name
		if kind == "NoteProperty" {
			definition += "=" + text(got)
		}
		properties = append(properties, memberObject(of, name, kind, definition))
	}
	for _, members := range [][]*object{methods, properties} {
		slices.SortFunc(members, func(a, b *object) int {
			return strings.Compare(lower(text(a.props["name"])), lower(text(b.props["name"])))
		})
	}
	return append(methods, properties...)
}

// shortType is a type as Get-Member writes it: PowerShell's own names for what has one.
func shortType(v value) string {
	name := typeName(v)
	if short, ok := map[string]string{
		"System.String": "string", "System.Int32": "int", "System.Int64": "long", "System.Boolean": "bool",
		"System.Double": "double", "System.DateTime": "datetime", "System.Void": "System.Object",
	}[name]; ok {
		return short
	}
	return name
}

// arity is the number of arguments that a method takes here.
func (r routine) arity() string {
	switch {
	case r.most == 0:
		return "()"
	case r.least == r.most:
		return fmt.Sprintf("(%d)", r.least)
	}
	return fmt.Sprintf("(%d..%d)", r.least, r.most)
}

func clearHost(c *call) error {
	c.f.in.format.end()
	if err := c.f.in.session.system().clear(c.f.in.session.Stdout); err != nil {
		return c.fail(err)
	}
	return nil
}

// getRandom is a random number, or some of the objects that it is given.
func getRandom(c *call) error {
	if c.values[objectName] == nil && !c.piped {
		return c.randomNumber()
	}
	count := int64(1)
	if v, ok := c.values["count"]; ok {
		n, err := integer(v)
		if err != nil {
			return err
		}
		count = n
	}
	items := slices.Clone(c.items(objectName))
	for ; count > 0 && len(items) > 0; count-- {
		n, err := between(0, int64(len(items)))
		if err != nil {
			return err
		}
		at, err := integer(n)
		if err != nil {
			return err
		}
		if err := c.out.put(items[at]); err != nil {
			return err
		}
		items = slices.Delete(items, int(at), int(at)+1)
	}
	return nil
}

// randomNumber outputs a number from -Minimum to less than -Maximum.
func (c *call) randomNumber() error {
	least, err := integer(c.values["minimum"])
	if err != nil {
		return err
	}
	most := int64(1<<31 - 1)
	if v, ok := c.values["maximum"]; ok {
		if most, err = integer(v); err != nil {
			return err
		}
	}
	if least >= most {
		return c.fail(itsWords("The Minimum value (%d) cannot be greater than or equal to the Maximum value (%d).",
			least, most))
	}
	v, err := between(least, most)
	if err != nil {
		return err
	}
	return c.out.put(v)
}

func newGUID(c *call) error {
	made, err := find(guidClass().calls, "NewGuid").do(&dotCall{f: c.f})
	if err != nil {
		return err
	}
	return c.out.put(made)
}

// measureCommand runs a block and says how long that took.
func measureCommand(c *call) error {
	b, ok := c.values["expression"].(*scriptBlock)
	if !ok {
		return thrown("%s : a script block is missing.", c.name)
	}
	begin := time.Now()
	err := c.withBlock(b, nil, &sink{put: func(value) error { return nil }})
	if err != nil {
		return err
	}
	return c.out.put(&instance{spanClass(), time.Since(begin)})
}

func commandCmdlets() []cmdlet {
	named := func(c cmdlet) cmdlet {
		c.values = append([]string{"name"}, c.values...)
		c.positions = []string{"name"}
		return c
	}
	return []cmdlet{
		named(cmdlet{
			name:    "Get-Command",
			aliases: []string{"gcm"},
			about:   "the cmdlets, aliases, functions, and programs by name",
			run:     getCommand,
			values:  []string{"commandtype"},
			takes:   "name",
			allowed: map[string][]string{"commandtype": {"cmdlet", "alias", "function", "application", "all"}},
		}),
		named(cmdlet{
			name:    "Get-Alias",
			aliases: []string{"gal"},
			about:   "aliases and the cmdlets that they stand for",
			run:     getAlias,
			values:  []string{"definition"},
			takes:   "name",
		}),
		named(cmdlet{
			name:    "Get-Help",
			aliases: []string{"help", "man"},
			about:   "what a cmdlet does, and its parameters",
			run:     getHelp,
			takes:   "name",
		}),
		{
			name:      "Get-Member",
			aliases:   []string{"gm"},
			about:     "the properties and methods of objects; of a method the number of its arguments",
			run:       getMember,
			values:    []string{"name", "membertype", objectName},
			positions: []string{"name"},
			takes:     objectName,
			needs:     []string{objectName},
			allowed:   map[string][]string{"membertype": {"method", "property", "noteproperty", "properties", "all"}},
		},
		{name: "Clear-Host", aliases: []string{"clear", "cls"}, about: "clears the screen", run: clearHost},
		{
			name:      "Get-Random",
			about:     "a random number, or some of the given objects",
			run:       getRandom,
			values:    []string{"maximum", "minimum", objectName, "count"},
			positions: []string{"maximum"},
			takes:     objectName,
		},
		{name: "New-Guid", about: "a new random Guid", run: newGUID},
		{
			name:      "Measure-Command",
			about:     "how long a script block takes; what it outputs is lost",
			run:       measureCommand,
			values:    []string{"expression"},
			positions: []string{"expression"},
			needs:     []string{"expression"},
		},
	}
}
