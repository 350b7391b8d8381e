// Command documents prints the page of the documents' samples, from the results in a folder, or that of what they say.
package main

import (
	"fmt"
	"os"

	"mullion.dev/mullion/hack/shown"
	"mullion.dev/mullion/test/documents"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: documents FOLDER | documents statements")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(what string) error {
	if what == "statements" {
		areas, err := documents.Statements()
		if err != nil {
			return err
		}
		runs, err := shown.Runs(".", areas)
		if err != nil {
			return err
		}
		return documents.WriteStatements(os.Stdout, areas, runs)
	}

	results, err := documents.ReadResults(what)
	if err != nil {
		return err
	}
	return documents.WritePage(os.Stdout, documents.Samples(), results)
}
