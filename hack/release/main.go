// Command release makes what people install from the programs that are built: a tarball that works below any prefix, a
// Debian and an RPM package, a bill of materials, and checksums. The same programs and the same time give the same
// bytes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// release is what is made, and of what.
type release struct {
	// version is Mullion's, kubernetes that of the bundle it comes with, each with a leading "v".
	version, kubernetes string
	// time is that of every file.
	time time.Time
	// bin has the programs, man the manual pages, root is the repository, and dist the folder to write to.
	bin, man, root, dist string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	var r release
	flags.StringVar(&r.version, "version", "", "the version, for example v0.1.0")
	flags.StringVar(&r.kubernetes, "kubernetes", "", "the version of the bundle of Kubernetes, for example v1.36.3")
	flags.StringVar(&r.bin, "bin", "bin", "the folder of the programs")
	flags.StringVar(&r.man, "man", "dist/.man", "the folder of the manual pages")
	flags.StringVar(&r.root, "root", ".", "the repository")
	flags.StringVar(&r.dist, "dist", "dist", "the folder to write to")
	seconds := flags.Int64("time", 0, "the time of all files, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r.time = time.Unix(*seconds, 0).UTC()
	version := regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	if !version.MatchString(r.version) || !version.MatchString(r.kubernetes) || *seconds <= 0 {
		return errors.New("needs -version vX.Y.Z, -kubernetes vX.Y.Z and -time SECONDS")
	}
	if err := os.MkdirAll(r.dist, 0o755); err != nil {
		return err
	}
	made, err := os.MkdirTemp(r.dist, ".made-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	programs, err := r.programs()
	if err != nil {
		return err
	}
	modules, err := readModules(programs)
	if err != nil {
		return err
	}
	documents, err := r.documents(ctx, made, modules)
	if err != nil {
		return err
	}
	all := append(programs, documents...)
	all = append(all, links()...)
	sortEntries(all)
	var files []string
	for _, write := range []func([]entry) (string, error){r.tarball, r.deb, r.rpm} {
		file, err := write(all)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	return checksums(filepath.Join(r.dist, "SHA256SUMS"), files)
}

// number is the version without its "v".
func (r release) number() string { return strings.TrimPrefix(r.version, "v") }
