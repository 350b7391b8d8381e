package main

import (
	"os"
	"strings"
	"testing"

	"mullion.dev/mullion/guest/powershell/object"
)

// TestPage checks that the page has a row of each kind, and that what it says of a cmdlet is today's.
func TestPage(t *testing.T) {
	text, err := page(os.DirFS("../../guest/powershell/testdata"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| [`[ref]`](", "| [`workflow`](https://learn.microsoft.com/powershell/module/psworkflow/about/about_workflows) | not |",
		"| [`Get-Date`](", "| [`System.Text.StringBuilder`](", "; test: run/", "## cmd.exe: for /f",
		"| [`Microsoft.PowerShell.Utility`](", "`for /f \"tokens=1-3",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}

	for line := range strings.Lines(text) {
		if strings.HasSuffix(line, "test:  |\n") {
			t.Errorf("a row without a test: %s", line)
		}
	}
}

// TestLacking checks that a cmdlet with all of Windows' parameters lacks none.
func TestLacking(t *testing.T) {
	windows, err := windowsCommands()
	if err != nil {
		t.Fatal(err)
	}
	if c := windows["get-date"]; c.module != "Microsoft.PowerShell.Utility" || len(c.parameters) == 0 {
		t.Errorf("Get-Date is %+v", c)
	}
	if len(windows) < 700 {
		t.Errorf("only %d commands", len(windows))
	}
}

// TestNamed checks that a test of a class names it as a type: an alias such as gc, or a word of a text, is none.
func TestNamed(t *testing.T) {
	scripts := []script{
		{"words", "gc x; 'the [system.gc does'; process { gc y }; get-thing gc"},
		{"first", "[gc]::collect()"},
		{"second", "[system.gc]::collect(); new-object system.gc; [list[gc]]"},
	}
	if got := shownBy(scripts[:1], named(&object.Class{Name: "System.GC"})); got != "" {
		t.Errorf("%q is no test", got)
	}
	if got := shownBy(scripts, named(&object.Class{Name: "System.GC"})); got != "second" {
		t.Errorf("the test is %q", got)
	}

	texts := []script{{"text", "'see get-item'; $x = 'get-item'; get-item-property"}, {"call", "$x = get-item a | out-null"}}
	for name, want := range map[string]string{"Get-Item": "call", "Out-Null": "call", "Get-Date": ""} {
		if got := shownBy(texts, called(name)); got != want {
			t.Errorf("the test of %s is %q, want %q", name, got, want)
		}
	}
}
