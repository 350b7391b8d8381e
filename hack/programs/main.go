// Command programs prints the page of the programs that Mullion was tried with, from the results in a folder.
package main

import (
	"fmt"
	"os"

	"mullion.dev/mullion/test/programs"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: programs FOLDER")
		os.Exit(2)
	}

	results, err := programs.ReadAll(os.Args[1])
	if err == nil {
		err = programs.WritePage(os.Stdout, programs.Rows(), results)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
