// Command wineapi writes the list of the functions that Wine has: internal/windows/wineapi/wine.gz.
//
//	go run ./hack/wineapi 8.0=FOLDER 10.0=FOLDER    the folders x86_64-windows of each Wine, oldest first
package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"strings"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/windows/wineapi"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "wineapi:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("name the Wines: VERSION=FOLDER")
	}

	var wines []*wineapi.Wine
	for _, arg := range args {
		version, folder, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q: want VERSION=FOLDER", arg)
		}
		w, err := wineapi.ReadFolder(version, folder)
		if err != nil {
			return err
		}
		wines = append(wines, w)
	}

	var text strings.Builder
	z, err := gzip.NewWriterLevel(&text, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := wineapi.Write(z, wines); err != nil {
		return err
	}

	if err := z.Close(); err != nil {
		return err
	}

	return atomicfile.Write("internal/windows/wineapi/wine.gz", []byte(text.String()), 0o644)
}
