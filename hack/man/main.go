// Command man writes mullion's manual pages, one for each command, from the help that the commands print:
//
//	man -time SECONDS DIR
//
// SECONDS since 1970 is the date of the pages, so that the same commit gives the same pages.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cli"
)

func main() {
	seconds := flag.Int64("time", time.Now().Unix(), "the pages' date, in seconds since 1970")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "man: want the folder to write to")
		os.Exit(2)
	}
	if err := write(flag.Arg(0), time.Unix(*seconds, 0).UTC()); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

func write(dir string, date time.Time) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root := cli.Command()
	quiet(root)
	return doc.GenManTree(root, &doc.GenManHeader{
		Section: "1",
		Date:    &date,
		Source:  "Mullion " + version.Mullion(),
		Manual:  "Mullion",
	}, dir)
}

// quiet leaves out the line that says when a page was made, which would differ each day.
func quiet(c *cobra.Command) {
	c.DisableAutoGenTag = true
	for _, sub := range c.Commands() {
		quiet(sub)
	}
}
