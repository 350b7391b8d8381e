package powershell

import (
	"crypto/md5"  // one of the algorithms that Get-FileHash has
	"crypto/sha1" // the same
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// hashes are the algorithms of Get-FileHash.
func hashes() map[string]func() hash.Hash {
	return map[string]func() hash.Hash{
		"sha1": sha1.New, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New, "md5": md5.New,
	}
}

func getFileHash(c *call) error {
	name := lower(c.text("algorithm"))
	if name == "" {
		name = "sha256"
	}
	if err := c.reportMissed(); err != nil {
		return err
	}
	return c.forEach(func(t target) error {
		file, err := os.Open(t.full)
		if err != nil {
			return err
		}
		defer file.Close()
		h := hashes()[name]()
		if _, err := io.Copy(h, file); err != nil {
			return err
		}
		return c.show(newObject("hash").set("Algorithm", strings.ToUpper(name)).
			set("Hash", strings.ToUpper(hex.EncodeToString(h.Sum(nil)))).set("Path", t.full))
	})
}

// newTimeSpan is a time span of numbers, or between two times.
func newTimeSpan(c *call) error {
	var d time.Duration
	for name, unit := range map[string]time.Duration{
		"days": 24 * time.Hour, "hours": time.Hour, "minutes": time.Minute, "seconds": time.Second,
	} {
		n, err := integer(c.values[name])
		if err != nil {
			return err
		}
		d += time.Duration(n) * unit
	}
	times := [2]time.Time{time.Now(), time.Now()}
	for i, name := range []string{"start", "end"} {
		v, given := c.values[name]
		if !given {
			continue
		}
		t, err := toDate(v)
		if err != nil {
			return err
		}
		at, _ := t.(moment)
		times[i] = at.at
	}
	if c.values["start"] != nil || c.values["end"] != nil {
		d += times[1].Sub(times[0])
	}
	return c.out.put(&instance{spanClass(), d})
}

// pushLocation remembers the current folder and changes to another one.
func pushLocation(c *call) error {
	before := c.f.in.dir
	if len(c.values) > 0 {
		if err := setLocation(c); err != nil {
			return err
		}
		if !c.f.in.ok {
			return nil
		}
	}
	c.f.in.places = append(c.f.in.places, before)
	return nil
}

// popLocation changes to the folder that was remembered last. Without one it does nothing.
func popLocation(c *call) error {
	in := c.f.in
	if n := len(in.places); n > 0 {
		in.dir, in.places = in.places[n-1], in.places[:n-1]
	}
	return nil
}

// invokeCommand runs a script block with arguments, in a scope of its own.
func invokeCommand(c *call) error {
	b, ok := c.values["scriptblock"].(*scriptBlock)
	if !ok {
		return thrown("Invoke-Command : a script block is missing.")
	}
	var args []argument
	for v := range each(c.values["argumentlist"]) {
		args = append(args, argument{x: &literal{v}})
	}
	return c.f.in.callScript(c.f, b.script, args, feed{items: c.input, piped: c.piped}, c.out)
}

// outHost shows objects, whatever the output is.
func outHost(c *call) error {
	for _, v := range c.items(objectName) {
		if err := c.f.in.screen.put(v); err != nil {
			return err
		}
	}
	return nil
}

// getUnique outputs each item once that is the same as the one before it.
func getUnique(c *call) error {
	items := c.items(objectName)
	for i, v := range items {
		if i > 0 && (canonical(v, true) == canonical(items[i-1], true) ||
			c.flags["asstring"] && strings.EqualFold(text(v), text(items[i-1]))) {
			continue
		}
		if err := c.out.put(v); err != nil {
			return err
		}
	}
	return nil
}

// comparison is one run of Compare-Object.
type comparison struct {
	*call

	names []string // of the properties that are compared; none: the objects' texts are
}

// key is the same for objects that are equal.
func (c comparison) key(v value) (string, error) {
	exact := c.flags["casesensitive"]
	if c.names == nil {
		return canonical(text(v), exact), nil
	}
	var parts []string
	for _, name := range c.names {
		p, err := property(v, lower(name))
		if err != nil {
			return "", err
		}
		parts = append(parts, canonical(text(p), exact))
	}
	return strings.Join(parts, "\x00"), nil
}

// show outputs an object and the side that it is on, if it is asked for.
func (c comparison) show(v value, side string) error {
	if side == "==" && !c.flags["includeequal"] || side != "==" && c.flags["excludedifferent"] {
		return nil
	}
	if c.flags["passthru"] {
		return c.out.put(v)
	}
	o := newObject(custom)
	if c.names == nil {
		o.set("InputObject", v)
	}
	for _, name := range c.names {
		p, err := property(v, lower(name))
		if err != nil {
			return err
		}
		o.set(name, p)
	}
	return c.out.put(o.set("SideIndicator", side))
}

// compareObject outputs what both lists have, if that is asked for, then what only the second and what only the first
// has.
func compareObject(c *call) error {
	run := comparison{call: c}
	for v := range each(c.values["property"]) {
		run.names = append(run.names, text(v))
	}
	left := slices.Clone(itemsOf(c.values["referenceobject"]))
	keys := make([]string, len(left))
	for i, v := range left {
		var err error
		if keys[i], err = run.key(v); err != nil {
			return err
		}
	}
	var added []value
	for _, v := range c.items("differenceobject") {
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
func fromStringData(c *call) error {
	for _, item := range c.items("stringdata") {
		t := newTable(false)
		for line := range strings.Lines(text(item)) {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			name, v, ok := strings.Cut(line, "=")
			if name = strings.TrimSpace(name); !ok || name == "" {
				return thrown("ConvertFrom-StringData : the line %q is no name=value.", line)
			}
			if t.has(name) {
				return thrown("ConvertFrom-StringData : the name %q is there twice.", name)
			}
			t.set(name, strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t").Replace(strings.TrimSpace(v)))
		}
		if err := c.out.put(t); err != nil {
			return err
		}
	}
	return nil
}

// nothing does nothing: what the cmdlet asks for is so already.
func nothing(*call) error { return nil }

// assemblies are the assemblies of .NET that Add-Type may load. Of their types those are here that classes has; a
// script with another one is refused.
func assemblies() []string {
	return []string{
		"microsoft.visualbasic", "system", "system.core", "system.data", "system.io.compression",
		"system.io.compression.filesystem", "system.net", "system.net.http", "system.numerics", "system.security",
		"system.serviceprocess", "system.web", "system.xml",
	}
}

func everydayCmdlets() []cmdlet {
	return append(placeCmdlets(), []cmdlet{
		ofPath(cmdlet{
			name:    "Get-FileHash",
			about:   "the hash of files, SHA256 if -Algorithm says no other",
			run:     getFileHash,
			values:  []string{"algorithm"},
			needs:   []string{pathName},
			allowed: map[string][]string{"algorithm": {"sha1", "sha256", "sha384", "sha512", "md5"}},
		}),
		{
			name:      "New-TimeSpan",
			about:     "a time span of numbers, or between two times",
			run:       newTimeSpan,
			values:    []string{"start", "end", "days", "hours", "minutes", "seconds"},
			positions: []string{"start", "end"},
		},
		{
			name:      "Invoke-Command",
			aliases:   []string{"icm"},
			about:     "runs a script block here; other computers cannot be reached",
			run:       invokeCommand,
			values:    []string{"scriptblock", "argumentlist", objectName},
			also:      map[string]string{"args": "argumentlist"},
			positions: []string{"scriptblock"},
			takes:     objectName,
			needs:     []string{"scriptblock"},
		},
		{
			name:      "Compare-Object",
			aliases:   []string{"compare", "diff"},
			about:     "what only one of two lists has; the order does not count",
			run:       compareObject,
			values:    []string{"referenceobject", "differenceobject", "property"},
			flags:     []string{"includeequal", "excludedifferent", "casesensitive", "passthru"},
			positions: []string{"referenceobject", "differenceobject", "property"},
			takes:     "differenceobject",
			needs:     []string{"referenceobject", "differenceobject"},
		},
		{
			name:    "Get-Unique",
			aliases: []string{"gu"},
			about:   "items that are not the same as the one before",
			run:     getUnique,
			values:  []string{objectName},
			flags:   []string{"asstring"},
			takes:   objectName,
			needs:   []string{objectName},
		},
		{
			name:    "Out-Host",
			aliases: []string{"oh"},
			about:   "shows objects",
			run:     outHost,
			values:  []string{objectName},
			takes:   objectName,
			needs:   []string{objectName},
		},
		{
			name:      "ConvertFrom-StringData",
			about:     "a hash table of lines name=value",
			run:       fromStringData,
			values:    []string{"stringdata"},
			positions: []string{"stringdata"},
			takes:     "stringdata",
			needs:     []string{"stringdata"},
		},
	}...)
}

// placeCmdlets are those of the current folder, and those that have nothing to do here.
func placeCmdlets() []cmdlet {
	return []cmdlet{
		ofPath(cmdlet{
			name:    "Push-Location",
			aliases: []string{"pushd"},
			about:   "changes the current folder, and remembers the one before",
			run:     pushLocation,
		}),
		{
			name:    "Pop-Location",
			aliases: []string{"popd"},
			about:   "changes to the folder that Push-Location remembered",
			run:     popLocation,
		},
		{
			name:      "Add-Type",
			about:     "accepts the names of assemblies of .NET whose types may be here; no code",
			run:       nothing,
			values:    []string{"assemblyname"},
			positions: nil,
			also:      map[string]string{"assembly": "assemblyname", "an": "assemblyname"},
			needs:     []string{"assemblyname"},
			allowed:   map[string][]string{"assemblyname": assemblies()},
		},
		{
			name:      "Set-ExecutionPolicy",
			about:     "accepts policies that allow scripts, which all run here",
			run:       nothing,
			values:    []string{"executionpolicy", "scope"},
			flags:     []string{"force"},
			positions: []string{"executionpolicy", "scope"},
			also:      map[string]string{"ep": "executionpolicy"},
			needs:     []string{"executionpolicy"},
			allowed:   map[string][]string{"executionpolicy": {"bypass", "unrestricted", "remotesigned"}},
		},
		{
			name:  "Get-ExecutionPolicy",
			about: "Bypass, since all scripts run",
			run:   func(c *call) error { return c.out.put("Bypass") },
		},
		ofPath(cmdlet{
			name:  "Unblock-File",
			about: "nothing, since no file is marked as one from the internet",
			run: func(c *call) error {
				return c.forEach(func(t target) error { _, err := os.Stat(t.full); return err })
			},
			needs: []string{pathName},
		}),
	}
}
