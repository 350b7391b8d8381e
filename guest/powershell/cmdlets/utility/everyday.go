package utility

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
)

// hashes returns the algorithms of Get-FileHash.
func hashes() map[string]func() hash.Hash {
	return map[string]func() hash.Hash{
		"sha1": sha1.New, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New, "md5": md5.New,
	}
}

func getFileHash(c *cmdlet.Call) error {
	name := strings.ToLower(c.Text("algorithm"))
	if name == "" {
		name = "sha256"
	}
	if err := c.ReportMissed(); err != nil {
		return err
	}
	return c.ForEach(func(t cmdlet.Target) error {
		file, err := os.Open(t.Full)
		if err != nil {
			return err
		}
		defer file.Close()
		h := hashes()[name]()
		if _, err := io.Copy(h, file); err != nil {
			return err
		}

		return c.Output(object.New("hash").Set("Algorithm", strings.ToUpper(name)).
			Set("Hash", strings.ToUpper(hex.EncodeToString(h.Sum(nil)))).Set("Path", t.Full))
	})
}

// newTimeSpan outputs a time span of numbers, or between two times.
func newTimeSpan(c *cmdlet.Call) error {
	var d time.Duration
	for name, unit := range map[string]time.Duration{
		"days": 24 * time.Hour, "hours": time.Hour, "minutes": time.Minute, "seconds": time.Second,
	} {
		n, err := object.Integer(c.Values[name])
		if err != nil {
			return err
		}
		d += time.Duration(n) * unit
	}

	times := [2]time.Time{time.Now(), time.Now()}
	for i, name := range []string{"start", "end"} {
		v, given := c.Values[name]
		if !given {
			continue
		}
		t, err := dotnet.ToDate(v)
		if err != nil {
			return err
		}

		at, _ := t.(object.DateTime)
		times[i] = at.At
	}

	if c.Values["start"] != nil || c.Values["end"] != nil {
		d += times[1].Sub(times[0])
	}
	return c.Out.Put(&object.Instance{Of: object.SpanClass(), V: d})
}

// invokeCommand runs a script block with arguments, in a scope of its own.
func invokeCommand(c *cmdlet.Call) error {
	b, ok := c.Values["scriptblock"].(*object.ScriptBlock)
	if !ok {
		return object.Thrown("Invoke-Command : a script block is missing.")
	}
	args := slices.Collect(object.Each(c.Values["argumentlist"]))
	return c.Scope.RunWith(b, args, c.Input, c.Piped, c.Out)
}

// outHost shows objects, whatever the output is.
func outHost(c *cmdlet.Call) error {
	for _, v := range c.Items(cmdlet.ObjectName) {
		if err := c.Scope.Show(v); err != nil {
			return err
		}
	}
	return nil
}

// getUnique outputs each item once that is the same as the one before it.
func getUnique(c *cmdlet.Call) error {
	items := c.Items(cmdlet.ObjectName)
	for i, v := range items {
		if i > 0 && (object.Canonical(v, true) == object.Canonical(items[i-1], true) ||
			(c.Flags["asstring"] && strings.EqualFold(object.Text(v), object.Text(items[i-1])))) {
			continue
		}
		if err := c.Out.Put(v); err != nil {
			return err
		}
	}
	return nil
}

// comparison is one run of Compare-Object.
type comparison struct {
	*cmdlet.Call

	names []string // of the properties that are compared; none: the objects' texts are
}

// key returns the same text for objects that are equal.
func (c comparison) key(v object.Value) (string, error) {
	exact := c.Flags["casesensitive"]
	if c.names == nil {
		return object.Canonical(object.Text(v), exact), nil
	}
	var parts []string
	for _, name := range c.names {
		p, err := object.Property(v, strings.ToLower(name))
		if err != nil {
			return "", err
		}
		parts = append(parts, object.Canonical(object.Text(p), exact))
	}
	return strings.Join(parts, "\x00"), nil
}

// show outputs an object and the side that it is on, if it is asked for.
func (c comparison) show(v object.Value, side string) error {
	if (side == "==" && !c.Flags["includeequal"]) || (side != "==" && c.Flags["excludedifferent"]) {
		return nil
	}
	if c.Flags["passthru"] {
		return c.Out.Put(v)
	}

	o := object.New(object.Custom)
	if c.names == nil {
		o.Set("InputObject", v)
	}

	for _, name := range c.names {
		p, err := object.Property(v, strings.ToLower(name))
		if err != nil {
			return err
		}
		o.Set(name, p)
	}

	return c.Out.Put(o.Set("SideIndicator", side))
}

// compareObject outputs what both lists have, if that is asked for, then what only the second and what only the first
// has.
func compareObject(c *cmdlet.Call) error {
	run := comparison{Call: c}
	for v := range object.Each(c.Values["property"]) {
		run.names = append(run.names, object.Text(v))
	}

	left := slices.Clone(object.Items(c.Values["referenceobject"]))
	keys := make([]string, len(left))
	for i, v := range left {
		var err error
		if keys[i], err = run.key(v); err != nil {
			return err
		}
	}

	var added []object.Value
	for _, v := range c.Items("differenceobject") {
		k, err := run.key(v)
		if err != nil {
			return err
		}
		i := slices.Index(keys, k)
		if i < 0 {
			added = append(added, v)
			continue
		}

		if err := run.show(left[i], "=="); err != nil {
			return err
		}
		left, keys = slices.Delete(left, i, i+1), slices.Delete(keys, i, i+1)
	}

	for _, v := range added {
		if err := run.show(v, "=>"); err != nil {
			return err
		}
	}

	for _, v := range left {
		if err := run.show(v, "<="); err != nil {
			return err
		}
	}

	return nil
}

// fromStringData makes a hash table of lines name=value.
func fromStringData(c *cmdlet.Call) error {
	for _, item := range c.Items("stringdata") {
		t := object.NewTable(false)
		for line := range strings.Lines(object.Text(item)) {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}

			name, v, ok := strings.Cut(line, "=")
			if name = strings.TrimSpace(name); !ok || name == "" {
				return object.Thrown("ConvertFrom-StringData : the line %q is no name=value.", line)
			}
			if t.Has(name) {
				return object.Thrown("ConvertFrom-StringData : the name %q is there twice.", name)
			}
			t.Set(name, strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`,
				"\t").Replace(strings.TrimSpace(v)))
		}

		if err := c.Out.Put(t); err != nil {
			return err
		}
	}

	return nil
}

func everydayCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:    "Get-FileHash",
			About:   "the hash of files, SHA256 if -Algorithm says no other",
			Run:     getFileHash,
			Values:  []string{"algorithm"},
			Needs:   []string{cmdlet.PathName},
			Allowed: map[string][]string{"algorithm": {"sha1", "sha256", "sha384", "sha512", "md5"}},
		}),
		{
			Name:      "New-TimeSpan",
			About:     "a time span of numbers, or between two times",
			Run:       newTimeSpan,
			Values:    []string{"start", "end", "days", "hours", "minutes", "seconds"},
			Positions: []string{"start", "end"},
		},
		{
			Name:      "Invoke-Command",
			Aliases:   []string{"icm"},
			About:     "runs a script block here; other computers cannot be reached",
			Run:       invokeCommand,
			Values:    []string{"scriptblock", "argumentlist", cmdlet.ObjectName},
			Also:      map[string]string{"args": "argumentlist"},
			Positions: []string{"scriptblock"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"scriptblock"},
		},
		{
			Name:      "Compare-Object",
			Aliases:   []string{"compare", "diff"},
			About:     "what only one of two lists has; the order does not count",
			Run:       compareObject,
			Values:    []string{"referenceobject", "differenceobject", "property"},
			Flags:     []string{"includeequal", "excludedifferent", "casesensitive", "passthru"},
			Positions: []string{"referenceobject", "differenceobject", "property"},
			Takes:     "differenceobject",
			Needs:     []string{"referenceobject", "differenceobject"},
		},
		{
			Name:    "Get-Unique",
			Aliases: []string{"gu"},
			About:   "items that are not the same as the one before",
			Run:     getUnique,
			Values:  []string{cmdlet.ObjectName},
			Flags:   []string{"asstring"},
			Takes:   cmdlet.ObjectName,
			Needs:   []string{cmdlet.ObjectName},
		},
		{
			Name:    "Out-Host",
			Aliases: []string{"oh"},
			About:   "shows objects",
			Run:     outHost,
			Values:  []string{cmdlet.ObjectName},
			Takes:   cmdlet.ObjectName,
			Needs:   []string{cmdlet.ObjectName},
		},
		{
			Name:      "ConvertFrom-StringData",
			About:     "a hash table of lines name=value",
			Run:       fromStringData,
			Values:    []string{"stringdata"},
			Positions: []string{"stringdata"},
			Takes:     "stringdata",
			Needs:     []string{"stringdata"},
		},
	}
}
