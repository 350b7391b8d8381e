// Command documents prints the page of the documents' samples, from the results in a folder.
package main

import (
	"fmt"
	"os"

	"mullion.dev/mullion/test/documents"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: documents FOLDER")
		os.Exit(2)
	}
	results, err := documents.ReadResults(os.Args[1])
	if err == nil {
		err = documents.WritePage(os.Stdout, documents.Samples(), results)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
