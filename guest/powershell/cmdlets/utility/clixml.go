package utility

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"mullion.dev/mullion/guest/powershell/clixml"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
)

// usualDepth is how deep objects are kept without -Depth.
const usualDepth = 2

// exportClixml keeps objects in a file
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/export-clixml).
func exportClixml(c *cmdlet.Call) error {
	path := c.Text(cmdlet.PathName) + c.Text(cmdlet.LiteralName)
	if err := c.KnownPath(path); err != nil {
		return err
	}
	depth := int64(usualDepth)
	if v, given := c.Values["depth"]; given {
		var err error
		if depth, err = object.Integer(v); err != nil {
			return err
		}
		if depth < 1 || depth > object.MaxJSONDepth {
			return object.Thrown("%s : -Depth %d is not between 1 and %d.", c.Name, depth, object.MaxJSONDepth)
		}
	}

	values := c.Input
	if v, given := c.Values[cmdlet.ObjectName]; given {
		values = []object.Value{v}
	}
	text, err := clixml.Write(values, int(depth), c.State.Newline, c.State.System.Seals)
	if err != nil {
		return c.Fail(err)
	}

	full := c.State.Path(path)
	if _, err := os.Lstat(full); err == nil && c.Flags["noclobber"] {
		return c.Fail(&object.Exception{
			Class: "System.IO.IOException", Category: "ResourceExists", ID: "NoClobber", Target: full,
			Message: "The file '" + full + "' already exists.",
		})
	}
	encoding := strings.ToLower(c.Text("encoding"))
	if encoding == "" && !c.State.Core {
		encoding = "unicode"
	}
	text = provider.Encoded(c.State, text, encoding, true)
	if err := provider.WriteFile(full, text, os.O_TRUNC, c.Flags["force"]); err != nil {
		return c.Fail(provider.Because(path, err))
	}
	return nil
}

// importClixml outputs the objects of files of Export-Clixml
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/import-clixml).
func importClixml(c *cmdlet.Call) error {
	if err := c.ReportMissed(); err != nil {
		return err
	}
	return c.ForEach(func(t cmdlet.Target) error {
		data, err := os.ReadFile(t.Full)
		if errors.Is(err, fs.ErrNotExist) {
			return c.Fail(&object.Exception{
				Class: "System.IO.FileNotFoundException", Category: "OpenError", ID: "FileOpenFailure", Target: t.Full,
				Message: "Could not find file '" + t.Full + "'.",
			})
		}
		if err != nil {
			return err
		}
		values, err := clixml.Read(provider.FileText(data), c.State.System.Seals)
		if err != nil {
			return c.Fail(object.Raise("System.Xml.XmlException", "Cannot read "+t.Full+": "+err.Error()+"."))
		}

		skip, err := object.Integer(c.Values["skip"])
		if err != nil {
			return err
		}
		values = values[min(max(int(skip), 0), len(values)):]
		if v, given := c.Values["first"]; given {
			first, err := object.Integer(v)
			if err != nil {
				return err
			}
			values = values[:min(max(int(first), 0), len(values))]
		}
		for _, v := range values {
			if err := c.Output(v); err != nil {
				return err
			}
		}
		return nil
	})
}

// clixmlCmdlets returns the cmdlets that keep objects in files.
func clixmlCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:    "Export-Clixml",
			Aliases: []string{"epxml"},
			About: "keeps objects in a file, by the properties that are shown of them, passwords sealed by " +
				"CryptProtectData; Wine's seal keeps them from mistakes, not from who reads the file",
			Run:       exportClixml,
			Values:    []string{cmdlet.PathName, cmdlet.LiteralName, cmdlet.ObjectName, "depth", "encoding"},
			Flags:     []string{"force", "noclobber"},
			Positions: []string{cmdlet.PathName},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{cmdlet.PathName, cmdlet.ObjectName},
			Allowed:   map[string][]string{"encoding": provider.ShownEncodings()},
		},
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:    "Import-Clixml",
			Aliases: []string{"ipxml"},
			Wild:    true,
			About:   "the objects of files of Export-Clixml, of Windows' too",
			Run:     importClixml,
			Values:  []string{"skip", "first"},
			Needs:   []string{cmdlet.PathName},
		}),
	}
}
