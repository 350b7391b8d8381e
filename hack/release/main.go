// Command release makes what people install from the programs that are built: of Mullion, of each bundle of Kubernetes,
// and of Kubernetes' e2e tests, a tarball that works below any prefix, a Debian and an RPM package, each with a bill of
// materials, and checksums of all; and of the checker alone, for other systems too, a tarball each. The same programs
// and the same time give the same bytes.
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
	"slices"
	"strings"
	"time"
)

// release is what is made, and of what.
type release struct {
	// version is Mullion's, kubernetes that of the bundle it comes with, each with a leading "v"; others are those of
	// further bundles.
	version, kubernetes string
	others              []string
	// url is where people will get the files, "" if that is not known.
	url string
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
	others := flags.String("others", "", "versions of further bundles, for example \"v1.35.8 v1.34.4\"")
	flags.StringVar(&r.bin, "bin", "bin", "the folder of the programs")
	flags.StringVar(&r.man, "man", "dist/.man", "the folder of the manual pages")
	flags.StringVar(&r.root, "root", ".", "the repository")
	flags.StringVar(&r.dist, "dist", "dist", "the folder to write to")
	flags.StringVar(&r.url, "url", "", "the URL of the folder that the files will be in; with it krew's manifest is written")
	seconds := flags.Int64("time", 0, "the time of all files, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return err
	}

	r.time = time.Unix(*seconds, 0).UTC()
	r.others = strings.Fields(*others)
	version := regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	if !version.MatchString(r.version) || !version.MatchString(r.kubernetes) || *seconds <= 0 {
		return errors.New("needs -version vX.Y.Z, -kubernetes vX.Y.Z and -time SECONDS")
	}

	of := map[string]bool{}
	for _, v := range append([]string{r.kubernetes}, r.others...) {
		if !version.MatchString(v) || of[minor(v)] {
			return fmt.Errorf("-others %q: each is a version, vX.Y.Z, of another minor version", *others)
		}
		of[minor(v)] = true
	}

	if err := os.MkdirAll(r.dist, 0o755); err != nil {
		return err
	}
	made, err := os.MkdirTemp(r.dist, ".made-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)

	parcels, err := r.parcels(ctx, made)
	if err != nil {
		return err
	}

	var files []string
	for _, p := range parcels {
		for _, write := range []func(parcel) (string, error){r.tarball, r.deb, r.rpm} {
			file, err := write(p)
			if err != nil {
				return err
			}
			files = append(files, file)
		}
	}

	plugins, err := r.plugins(made)
	if err != nil {
		return err
	}
	files = append(files, plugins...)
	return checksums(filepath.Join(r.dist, "SHA256SUMS"), files)
}

// parcels returns what is packed: Mullion, bundles of Kubernetes, and Kubernetes' e2e tests. They are installed below
// the same prefix.
func (r release) parcels(ctx context.Context, made string) ([]parcel, error) {
	programs, err := r.programs()
	if err != nil {
		return nil, err
	}
	mullion := r.mullion(programs)
	pages, err := r.pages()
	if err != nil {
		return nil, err
	}

	papers, err := r.papers(made, &mullion, append(pages, "README.md", "SECURITY.md", "CHANGELOG.md")...)
	if err != nil {
		return nil, err
	}
	documents, err := r.documents(ctx, made)
	if err != nil {
		return nil, err
	}

	mullion.entries = slices.Concat(programs, papers, documents, links())
	all := []parcel{mullion}
	for _, version := range append([]string{r.kubernetes}, r.others...) {
		programs, err := r.bundle(version)
		if err != nil {
			return nil, err
		}
		bundle := r.kubernetesParcel(version, programs)
		papers, err := r.papers(made, &bundle)
		if err != nil {
			return nil, err
		}

		bundle.entries = append(bundle.entries, papers...)
		all = append(all, bundle)
	}

	programs, err = r.e2e()
	if err != nil {
		return nil, err
	}
	tests := r.e2eParcel(programs)
	papers, err = r.papers(made, &tests)
	if err != nil {
		return nil, err
	}

	tests.entries = append(tests.entries, papers...)
	all = append(all, tests)
	for _, p := range all {
		sortEntries(p.entries)
	}

	return all, nil
}
