package main

import (
	"os"
	"strings"
	"testing"
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
		if strings.HasPrefix(line, "| ") && strings.Contains(line, "test: run/)") {
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
