package utility

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/words"
)

// command returns an object of Get-Command and Get-Alias.
func command(kind, name, source, definition string) *object.Object {
	o := object.New("command").Set("CommandType", kind).Set("Name", name).Set("Version", "").Set("Source", source)
	o.Props["definition"], o.Props["displayname"] = definition, name
	if kind == "Alias" {
		o.Props["displayname"] = name + " -> " + definition
	}
	if kind == "Application" {
		o.Props["path"] = definition
	}
	return o
}

// known returns the aliases, functions and cmdlets that a session has, each kind by name.
func known(s cmdlet.Scope) []*object.Object {
	var aliases, functions, commands []*object.Object
	for _, c := range s.Table() {
		commands = append(commands, command("Cmdlet", c.Name, "Mullion", syntax(c)))
		for _, a := range c.Aliases {
			aliases = append(aliases, command("Alias", a, "", c.Name))
		}
	}

	drive := s.Drive("alias")
	for _, name := range drive.Names() {
		if of, _ := drive.Content(name); !s.Table().Alias(name) {
			aliases = append(aliases, command("Alias", name, "", object.Text(of)))
		}
	}

	for name, text := range s.FunctionTexts() {
		functions = append(functions, command("Function", name, "", text))
	}

	all := [][]*object.Object{aliases, functions, commands}
	for _, kind := range all {
		slices.SortFunc(kind, func(a, b *object.Object) int {
			return strings.Compare(strings.ToLower(object.Text(a.Props["name"])),
				strings.ToLower(object.Text(b.Props["name"])))
		})
	}

	return slices.Concat(all...)
}

// getCommand lists commands: those of the session, and programs that are asked for by name.
func getCommand(c *cmdlet.Call) error {
	names := c.Items("name")
	if len(names) == 0 && !c.Piped {
		all, err := ofWords(c, ofKind(c, known(c.Scope)))
		if err != nil {
			return err
		}
		return putAll(c, all)
	}

	for _, v := range names {
		found, err := commandsNamed(c, object.Text(v))
		if err != nil {
			return err
		}

		if len(found) == 0 && !provider.HasWildcard(object.Text(v)) {
			const message = "The term '%s' is not recognized as the name of a cmdlet, function, script file, or operable program."
			if err := c.Fail(words.Errorf(message, object.Text(v))); err != nil {
				return err
			}
		}
		if err := putAll(c, found); err != nil {
			return err
		}
	}

	return nil
}

// commandsNamed returns the commands of a name, which may have wild cards; without them only the one that would be run.
func commandsNamed(c *cmdlet.Call, name string) ([]*object.Object, error) {
	re, err := pattern.Wildcard(name)
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(known(c.Scope),
		func(o *object.Object) bool { return !re.MatchString(object.Text(o.Props["name"])) })
	if found, err = ofWords(c, ofKind(c, append(found, programs(c.State, name, re)...))); err != nil {
		return nil, err
	}
	if !provider.HasWildcard(name) {
		found = found[:min(len(found), 1)]
	}
	return found, nil
}

// ofKind returns the commands that -CommandType leaves.
func ofKind(c *cmdlet.Call, all []*object.Object) []*object.Object {
	kind := strings.ToLower(c.Text("commandtype"))
	if kind == "" || kind == "all" {
		return all
	}
	return slices.DeleteFunc(all,
		func(o *object.Object) bool { return strings.ToLower(object.Text(o.Props["commandtype"])) != kind })
}

// ofWords returns the commands whose names have a verb and a noun that -Verb and -Noun name.
func ofWords(c *cmdlet.Call, all []*object.Object) ([]*object.Object, error) {
	for parameter, word := range map[string]func(name string) string{
		"verb": func(name string) string { verb, _, _ := strings.Cut(name, "-"); return verb },
		"noun": func(name string) string { _, noun, _ := strings.Cut(name, "-"); return noun },
	} {
		v, given := c.Values[parameter]
		if !given {
			continue
		}
		var wanted []*regexp.Regexp
		for one := range object.Each(v) {
			re, err := pattern.Wildcard(object.Text(one))
			if err != nil {
				return nil, err
			}
			wanted = append(wanted, re)
		}

		all = slices.DeleteFunc(all, func(o *object.Object) bool {
			name := object.Text(o.Props["name"])
			return o.Props["commandtype"] == "Application" || !strings.Contains(name, "-") ||
				!slices.ContainsFunc(wanted, func(re *regexp.Regexp) bool { return re.MatchString(word(name)) })
		})
	}
	return all, nil
}

// putAll outputs objects, with -Syntax how they are called.
func putAll(c *cmdlet.Call, all []*object.Object) error {
	for _, o := range all {
		if c.Flags["syntax"] {
			text := object.Text(o.Props["definition"])
			if o.Props["commandtype"] == "Application" {
				text = object.Text(o.Props["name"])
			}
			if err := c.Out.Put(c.State.Newline + text + c.State.Newline); err != nil {
				return err
			}
			continue
		}
		if err := c.Out.Put(o); err != nil {
			return err
		}
	}
	return nil
}

// programs returns the programs in the folders of PATH that a name, perhaps with wild cards, means.
func programs(s *session.State, name string, re *regexp.Regexp) []*object.Object {
	if !provider.HasWildcard(name) {
		path, err := s.Find(name)
		if err != nil {
			return nil
		}
		return []*object.Object{command("Application", filepath.Base(path), path, path)}
	}

	var all []*object.Object
	for _, dir := range filepath.SplitList(s.Env["PATH"]) {
		entries, err := os.ReadDir(strings.Trim(dir, `"`))
		if err != nil {
			continue // as a shell does that looks for a program
		}

		for _, e := range entries {
			short := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
			if !e.IsDir() && (re.MatchString(e.Name()) || re.MatchString(short)) && s.Runs(e.Name()) {
				path := filepath.Join(dir, e.Name())
				all = append(all, command("Application", e.Name(), path, path))
			}
		}
	}

	return all
}

// getAlias lists aliases by their names, or by what they stand for.
func getAlias(c *cmdlet.Call) error {
	wanted, by := c.Items("name"), "name"
	if v, ok := c.Values["definition"]; ok {
		wanted, by = slices.Collect(object.Each(v)), "definition"
	}
	if len(wanted) == 0 {
		wanted = []object.Value{"*"}
	}

	for _, v := range wanted {
		re, err := pattern.Wildcard(object.Text(v))
		if err != nil {
			return err
		}

		found := false
		for _, o := range known(c.Scope) {
			if o.Props["commandtype"] != "Alias" || !re.MatchString(object.Text(o.Props[by])) {
				continue
			}
			found = true
			if err := c.Out.Put(o); err != nil {
				return err
			}
		}
		if !found && !provider.HasWildcard(object.Text(v)) {
			err := words.Errorf("This command cannot find a matching alias because an alias with the %s '%s' does not exist.",
				by, object.Text(v))
			if err := c.Fail(err); err != nil {
				return err
			}
		}
	}

	return nil
}

func clearHost(c *cmdlet.Call) error {
	c.Scope.Settle()
	if err := c.State.System.Clear(c.State.Stdout); err != nil {
		return c.Fail(err)
	}
	return nil
}

// getRandom outputs a random number, or some of the objects that it is given.
func getRandom(c *cmdlet.Call) error {
	if c.Values[cmdlet.ObjectName] == nil && !c.Piped {
		return randomNumber(c)
	}

	count := int64(1)
	if v, ok := c.Values["count"]; ok {
		n, err := object.Integer(v)
		if err != nil {
			return err
		}
		count = n
	}

	items := slices.Clone(c.Items(cmdlet.ObjectName))
	for ; count > 0 && len(items) > 0; count-- {
		n, err := library.Between(0, int64(len(items)))
		if err != nil {
			return err
		}
		at, err := object.Integer(n)
		if err != nil {
			return err
		}

		if err := c.Out.Put(items[at]); err != nil {
			return err
		}
		items = slices.Delete(items, int(at), int(at)+1)
	}

	return nil
}

// randomNumber outputs a number from -Minimum to less than -Maximum.
func randomNumber(c *cmdlet.Call) error {
	least, err := object.Integer(c.Values["minimum"])
	if err != nil {
		return err
	}

	most := int64(1<<31 - 1)
	if v, ok := c.Values["maximum"]; ok {
		if most, err = object.Integer(v); err != nil {
			return err
		}
	}
	if least >= most {
		return c.Fail(words.Errorf("The Minimum value (%d) cannot be greater than or equal to the Maximum value (%d).",
			least, most))
	}

	v, err := library.Between(least, most)
	if err != nil {
		return err
	}
	return c.Out.Put(v)
}

func newGUID(c *cmdlet.Call) error {
	made, err := object.Find(object.GUIDClass().Calls, "NewGuid").Do(&object.Call{State: c.State})
	if err != nil {
		return err
	}
	return c.Out.Put(made)
}

// measureCommand runs a block and says how long that took.
func measureCommand(c *cmdlet.Call) error {
	b, ok := c.Values["expression"].(*object.ScriptBlock)
	if !ok {
		return object.Thrown("%s : a script block is missing.", c.Name)
	}
	begin := time.Now()
	err := c.WithBlock(b, nil, &object.Sink{Put: func(object.Value) error { return nil }})
	if err != nil {
		return err
	}
	return c.Out.Put(&object.Instance{Of: object.SpanClass(), V: time.Since(begin)})
}

func commandCmdlets() []cmdlet.Cmdlet {
	named := func(c cmdlet.Cmdlet) cmdlet.Cmdlet {
		c.Values = append([]string{"name"}, c.Values...)
		c.Positions = []string{"name"}
		return c
	}

	return []cmdlet.Cmdlet{
		named(cmdlet.Cmdlet{
			Name:    "Get-Command",
			Aliases: []string{"gcm"},
			About:   "the cmdlets, aliases, functions, and programs by name",
			Run:     getCommand,
			Values:  []string{"commandtype", "verb", "noun"},
			Flags:   []string{"syntax"},
			Takes:   "name",
			Allowed: map[string][]string{"commandtype": {"cmdlet", "alias", "function", "application", "all"}},
		}),
		named(cmdlet.Cmdlet{
			Name:    "Get-Alias",
			Aliases: []string{"gal"},
			About:   "aliases and the cmdlets that they stand for",
			Run:     getAlias,
			Values:  []string{"definition"},
			Takes:   "name",
		}),
		named(cmdlet.Cmdlet{
			Name:    "Get-Help",
			Aliases: []string{"help", "man"},
			About:   "what a cmdlet does, and its parameters",
			Run:     getHelp,
			Takes:   "name",
			Values:  []string{"parameter"},
			Flags:   []string{"full", "detailed", "examples", "online"},
		}),
		getMemberCmdlet(),
		getVerbCmdlet(),
		{Name: "Clear-Host", Aliases: []string{"clear", "cls"}, About: "clears the screen", Run: clearHost},
		{
			Name:      "Get-Random",
			About:     "a random number, or some of the given objects",
			Run:       getRandom,
			Values:    []string{"maximum", "minimum", cmdlet.ObjectName, "count"},
			Positions: []string{"maximum"},
			Takes:     cmdlet.ObjectName,
		},
		{Name: "New-Guid", About: "a new random Guid", Run: newGUID},
		{
			Name:      "Measure-Command",
			About:     "how long a script block takes; what it outputs is lost",
			Run:       measureCommand,
			Values:    []string{"expression"},
			Positions: []string{"expression"},
			Needs:     []string{"expression"},
		},
	}
}
