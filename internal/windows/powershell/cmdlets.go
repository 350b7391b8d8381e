package powershell

import (
	"fmt"
	"slices"
	"time"
)

// cmdlets are all there are.
func cmdlets() []cmdlet { return slices.Concat(basicCmdlets(), objectCmdlets(), hnsCmdlets()) }

// objectCmdlets are those that deploying scripts use besides.
func objectCmdlets() []cmdlet {
	path, literal := "path", "literalpath"
	return []cmdlet{
		{name: "ConvertFrom-Json", values: []string{"inputobject"}, positions: []string{"inputobject"}, about: "objects of a text", run: convertFromJSON},
		{name: "ConvertTo-Json", values: []string{"inputobject", "depth"}, flags: []string{"compress"}, positions: []string{"inputobject"}, about: "a text of objects", run: convertToJSON},
		{name: "Copy-Item", aliases: []string{"cp", "copy", "cpi"}, values: []string{path, literal, "destination"}, flags: []string{"force", "recurse"}, positions: []string{path, "destination"}, about: "copies files and folders; wild cards in the last part", run: copyItem},
		{name: "Invoke-Expression", aliases: []string{"iex"}, values: []string{"command"}, positions: []string{"command"}, about: "runs a text as a script, which is refused like one", run: invokeExpression},
		{name: "mkdir", aliases: []string{"md"}, values: []string{path}, flags: []string{"force"}, positions: []string{path}, about: "a new folder", run: makeFolder},
		{name: "Out-File", values: []string{"filepath", "inputobject", "encoding"}, flags: []string{"append", "force"}, positions: []string{"filepath", "encoding"}, about: "writes what would be shown to a file, UTF-8", run: outFile},
		{name: "Select-Object", aliases: []string{"select"}, values: []string{"property", "first", "expandproperty"}, positions: []string{"property"}, about: "the first objects, or properties of them", run: selectObject},
		{name: "Write-Debug", values: []string{"message"}, positions: []string{"message"}, about: "nothing, as by default", run: func(*call) error { return nil }},
		{name: "Write-Verbose", values: []string{"message"}, positions: []string{"message"}, about: "nothing, as by default", run: func(*call) error { return nil }},
		{name: "Write-Warning", values: []string{"message"}, positions: []string{"message"}, about: "prints a warning", run: writeWarning},
	}
}

func writeWarning(c *call) error {
	c.f.in.format.end()
	_, err := fmt.Fprintf(c.f.in.session.Stdout, "WARNING: %s%s", c.text("message"), c.f.in.session.Newline)
	return err
}

func basicCmdlets() []cmdlet {
	path, literal := "path", "literalpath"
	return []cmdlet{
		{name: "Write-Output", aliases: []string{"echo", "write"}, values: []string{"inputobject"}, positions: []string{"inputobject"}, rest: true, about: "gives its arguments", run: writeOutput},
		{name: "Write-Host", values: []string{"object"}, flags: []string{"nonewline"}, positions: []string{"object"}, rest: true, about: "prints its arguments; no colours", run: writeHost},
		{name: "Write-Error", values: []string{"message"}, positions: []string{"message"}, about: "prints an error", run: writeError},
		{name: "Out-Null", values: []string{"inputobject"}, about: "takes everything", run: func(*call) error { return nil }},
		{name: "Out-String", about: "one string of what would be shown", run: outString},
		{name: "Start-Sleep", aliases: []string{"sleep"}, values: []string{"seconds", "milliseconds"}, positions: []string{"seconds"}, about: "waits", run: startSleep},
		{name: "Get-Content", aliases: []string{"cat", "gc", "type"}, values: []string{path, literal}, flags: []string{"raw"}, positions: []string{path}, about: "the lines of files, without wild cards", run: getContent},
		{name: "Set-Content", aliases: []string{"sc"}, values: []string{path, literal, "value"}, flags: []string{"force", "nonewline"}, positions: []string{path, "value"}, about: "writes a file, UTF-8", run: setContent},
		{name: "Add-Content", aliases: []string{"ac"}, values: []string{path, literal, "value"}, flags: []string{"force", "nonewline"}, positions: []string{path, "value"}, about: "adds to a file, UTF-8", run: addContent},
		{name: "Get-ChildItem", aliases: []string{"ls", "dir", "gci"}, values: []string{path, literal}, flags: []string{"force", "name"}, positions: []string{path}, about: "what is in a folder, or a file; no -Recurse, no wild cards", run: getChildItem},
		{name: "Get-Item", aliases: []string{"gi"}, values: []string{path, literal}, flags: []string{"force"}, positions: []string{path}, about: "a file, a folder or a link, with LinkType and Target", run: getItem},
		{name: "Get-Acl", values: []string{path, literal}, positions: []string{path}, about: "the owner, group and access rules of a file or folder, without wild cards", run: getACL},
		{name: "Test-Path", values: []string{path, literal}, positions: []string{path}, about: "whether a path is there", run: testPath},
		{name: "New-Item", aliases: []string{"ni"}, values: []string{path, "itemtype", "type", "value"}, flags: []string{"force"}, positions: []string{path}, about: "a new file or folder; no links", run: newItem},
		{name: "Remove-Item", aliases: []string{"rm", "del", "ri", "erase", "rd", "rmdir"}, values: []string{path, literal}, flags: []string{"force", "recurse"}, positions: []string{path}, about: "removes files and folders, without wild cards", run: removeItem},
		{name: "Get-Location", aliases: []string{"pwd", "gl"}, about: "the current folder", run: getLocation},
		{name: "Set-Location", aliases: []string{"cd", "sl"}, values: []string{path, literal}, positions: []string{path}, about: "changes the current folder", run: setLocation},
		{name: "Get-Process", aliases: []string{"ps", "gps"}, values: []string{"name", "id"}, positions: []string{"name"}, about: "processes, with Id and ProcessName only", run: getProcess},
		{name: "Where-Object", aliases: []string{"where", "?"}, values: append(comparisons(), "filterscript"), positions: []string{"filterscript"}, about: "picks with a script block, or by a property: Name -eq value", run: whereObject},
		{name: "ForEach-Object", aliases: []string{"%"}, values: []string{"process"}, positions: []string{"process"}, about: "a script block for each", run: forEachObject},
		{name: "Start-Job", aliases: []string{"sajb"}, values: []string{"scriptblock", "name"}, positions: []string{"scriptblock"}, about: "a script block in a process of its own; what it prints is dropped", run: startJob},
		{name: "Get-Job", aliases: []string{"gjb"}, values: []string{"id"}, positions: []string{"id"}, about: "the session's jobs", run: getJob},
		{name: "Wait-Job", aliases: []string{"wjb"}, values: []string{"id"}, positions: []string{"id"}, about: "waits for jobs", run: waitJob},
	}
}

func writeOutput(c *call) error {
	for v := range each(c.values["inputobject"]) {
		if err := c.out.put(v); err != nil {
			return err
		}
	}
	for _, v := range c.input {
		if err := c.out.put(v); err != nil {
			return err
		}
	}
	return nil
}

func writeHost(c *call) error {
	end := c.f.in.session.Newline
	if c.flags["nonewline"] {
		end = ""
	}
	c.f.in.format.end()
	_, err := fmt.Fprintf(c.f.in.session.Stdout, "%s%s", text(c.values["object"]), end)
	return err
}

func writeError(c *call) error { return c.fail(fmt.Errorf("%s", c.text("message"))) }

func outString(c *call) error {
	s, err := formatted(c.input, c.f.in.session.Newline)
	if err != nil {
		return err
	}
	return c.out.put(s)
}

func startSleep(c *call) error {
	seconds, err := floating(c.values["seconds"])
	if err != nil {
		return err
	}
	millis, err := floating(c.values["milliseconds"])
	if err != nil {
		return err
	}
	if len(c.values) == 0 {
		return c.fail(fmt.Errorf("a number of seconds is missing"))
	}
	t := time.NewTimer(time.Duration(seconds*float64(time.Second) + millis*float64(time.Millisecond)))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-c.f.in.ctx.Done():
		return c.f.in.ctx.Err()
	}
}

// with runs a cmdlet's script block with an object as $_.
func (c *call) with(name string, item value, out *sink) error {
	b, ok := c.values[name].(*scriptBlock)
	if !ok {
		return thrown("%s : a script block is missing", c.name)
	}
	scope := c.f.child()
	scope.vars["_"] = item
	return b.script.body.run(scope, out)
}

func whereObject(c *call) error {
	if _, ok := c.values["filterscript"].(string); ok {
		return compared(c)
	}
	for _, item := range c.input {
		var got []value
		if err := c.with("filterscript", item, &sink{put: func(v value) error { got = append(got, v); return nil }}); err != nil {
			return err
		}
		if truth(one(got)) {
			if err := c.out.put(item); err != nil {
				return err
			}
		}
	}
	return nil
}

func forEachObject(c *call) error {
	for _, item := range c.input {
		if err := c.with("process", item, c.out); err != nil {
			return err
		}
	}
	return nil
}
