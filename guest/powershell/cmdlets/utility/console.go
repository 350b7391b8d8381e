package utility

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/guest/powershell/xmldoc"
)

// writeInformation writes to the stream of information, which is shown where -InformationAction or the preference wants
// it (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/write-information).
func writeInformation(c *cmdlet.Call) error {
	wanted := strings.ToLower(c.Text("informationaction"))
	if wanted == "" {
		wanted = c.Scope.Preference("informationpreference")
	}
	if wanted != "continue" && !c.Scope.Elsewhere(object.InformationStream) {
		return nil
	}
	for _, v := range c.Items("messagedata") {
		if err := c.Scope.Message(object.InformationStream, object.Text(v), c.State.Newline); err != nil {
			return err
		}
	}
	return nil
}

// readHost asks the person for a line.
func readHost(c *cmdlet.Call) error {
	c.Scope.Settle()
	question := ""
	if v, asks := c.Values["prompt"]; asks {
		question = object.Text(v) + ": "
	}

	line, err := answer(c, question)
	if err != nil {
		return err
	}
	if c.Flags["assecurestring"] {
		return c.Out.Put(&object.Instance{Of: dotnet.SecureClass(), V: line})
	}
	return c.Out.Put(line)
}

// pause waits until the person presses Enter.
func pause(c *cmdlet.Call) error {
	c.Scope.Settle()
	_, err := answer(c, "Press Enter to continue...: ")
	return err
}

// answer asks the person for a line, which is not shown if it is to be a secret.
func answer(c *cmdlet.Call, question string) (line string, err error) {
	if c.Flags["assecurestring"] {
		line, err = dotnet.AskSecret(c.State, question)
	} else if _, err = io.WriteString(c.State.Stdout, question); err == nil {
		line, err = dotnet.ReadLine(c.State.Stdin)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		err = object.Thrown("Windows PowerShell is in NonInteractive mode. Read and Prompt functionality is not available.")
	}
	return line, err
}

// newTemporaryFile makes an empty file in the folder for such files.
func newTemporaryFile(c *cmdlet.Call) error {
	dir := cmp.Or(c.State.Env["TEMP"], c.State.Env["TMP"], c.State.Env["TMPDIR"], os.TempDir())
	f, err := os.CreateTemp(dir, "tmp*.tmp")
	if err != nil {
		return c.Fail(err)
	}
	if err := f.Close(); err != nil {
		return c.Fail(err)
	}
	info, err := os.Lstat(f.Name())
	if err != nil {
		return c.Fail(err)
	}
	return c.Out.Put(provider.Item(filepath.Clean(f.Name()), info))
}

// formatWide shows one property of each object, in columns.
func formatWide(c *cmdlet.Call) error {
	columns, err := object.Integer(cmp.Or[object.Value](c.Values["column"], int64(2)))
	if err != nil || columns < 1 {
		return c.Fail(words.Errorf("The value of -Column is a number, 1 or more."))
	}

	var cells []string
	for _, v := range c.Items(cmdlet.ObjectName) {
		text := object.Text(v)
		if name := c.Text("property"); name != "" {
			got, err := object.Property(v, strings.ToLower(name))
			if err != nil {
				return err
			}
			text = object.Text(got)
		} else if o, ok := v.(*object.Object); ok && o.Has("name") {
			text = object.Text(o.Value("name"))
		}

		cells = append(cells, text)
	}

	screen := c.State.Columns()
	width := screen/int(columns) - 1
	if c.Flags["autosize"] {
		width = 1
		for _, cell := range cells {
			width = max(width, len([]rune(cell)))
		}
		if c.Values["column"] == nil {
			columns = max(1, int64(screen/(width+1)))
		}
	}

	lines := []string{""}
	for row := range slices.Chunk(cells, int(columns)) {
		var b strings.Builder
		for _, cell := range row {
			fmt.Fprintf(&b, "%-*s ", width, cell)
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}

	return c.Out.Put(&format.Display{Lines: lines})
}

// selectXML outputs the nodes of documents that an XPath means
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/select-xml).
func selectXML(c *cmdlet.Call) error {
	type source struct {
		path string
		v    object.Value
	}

	var from []source
	for p := range object.Each(c.Values[cmdlet.PathName]) {
		data, err := os.ReadFile(c.State.Path(object.Text(p)))
		if err != nil {
			return c.Fail(provider.Because(object.Text(p), err))
		}
		from = append(from, source{c.State.Path(object.Text(p)), provider.ScriptText(data)})
	}

	for _, v := range append(object.Items(c.Values["content"]), append(object.Items(c.Values["xml"]), c.Input...)...) {
		from = append(from, source{"InputStream", v})
	}

	for _, one := range from {
		if _, isText := one.v.(string); isText {
			doc, err := xmldoc.Converted(one.v)
			if err != nil {
				return err
			}
			one.v = doc
		}

		nodes, err := xmldoc.Selected(one.v, c.Text("xpath"), c.Values["namespace"])
		if err != nil {
			return err
		}

		for n := range object.Each(nodes) {
			o := object.New(object.Custom).Set("Node", n).Set("Path", one.path).Set("Pattern", c.Text("xpath"))
			if err := c.Out.Put(o); err != nil {
				return err
			}
		}
	}

	return nil
}

func consoleCmdlets() []cmdlet.Cmdlet {
	culture := func(c *cmdlet.Call) error { return c.Out.Put(dotnet.Culture("en-US")) }
	return []cmdlet.Cmdlet{
		{
			Name:      "Write-Information",
			About:     "writes to the stream of information",
			Run:       writeInformation,
			Values:    []string{"messagedata", "tags", "informationaction"},
			Also:      map[string]string{"infa": "informationaction", "msg": "messagedata"},
			Positions: []string{"messagedata", "tags"},
			Takes:     "messagedata",
			Needs:     []string{"messagedata"},
			Stream:    true,
		},
		{
			Name:  "Write-Progress",
			About: "takes what is said of progress; none is shown",
			Run:   cmdlet.Nothing,
			Values: []string{
				"activity", "status", "id", "percentcomplete", "secondsremaining", "currentoperation", "parentid", "sourceid",
			},
			Flags:     []string{"completed"},
			Positions: []string{"activity", "status", "id"},
			Needs:     []string{"activity"},
		},
		{
			Name:      "Read-Host",
			About:     "asks for a line of the input",
			Run:       readHost,
			Values:    []string{"prompt"},
			Flags:     []string{"assecurestring"},
			Positions: []string{"prompt"},
		},
		{Name: "pause", About: "waits for Enter", Run: pause},
		{Name: "New-TemporaryFile", About: "an empty file in the folder for such files", Run: newTemporaryFile},
		{Name: "Get-Culture", About: "en-US; there is no other", Run: culture},
		{Name: "Get-UICulture", About: "en-US; there is no other", Run: culture},
		{Name: "Get-Host", About: "$Host", Run: func(c *cmdlet.Call) error {
			v, _ := c.Scope.Drive("variable").Content("host")
			return c.Out.Put(v)
		}},
		{
			Name:      "Format-Wide",
			Aliases:   []string{"fw"},
			About:     "one property of each object, in columns",
			Run:       formatWide,
			Values:    []string{"property", "column", cmdlet.ObjectName},
			Flags:     []string{"autosize"},
			Positions: []string{"property"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{cmdlet.ObjectName},
		},
		{
			Name:      "Select-Xml",
			About:     "the nodes of XML that an XPath means",
			Run:       selectXML,
			Values:    []string{"xpath", "xml", cmdlet.PathName, "content", "namespace"},
			Positions: []string{"xpath", "xml"},
			Takes:     "xml",
			Needs:     []string{"xpath"},
		},
	}
}
