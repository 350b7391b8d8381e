// Command image makes a container image of one layer, the root of a system with Mullion, as an archive for
// `docker load` and `podman load`:
//
//	image -version v0.1.0 -time SECONDS -layer FILE.tar -o IMAGE.tar
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	version := flags.String("version", "", "Mullion's version")
	layer := flags.String("layer", "", "the layer, a tar file")
	out := flags.String("o", "", "the archive to write")
	seconds := flags.Int64("time", 0, "when the image was made, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return err
	}

	if *version == "" || *layer == "" || *out == "" || *seconds <= 0 {
		return errors.New("needs -version, -time, -layer and -o")
	}

	image, err := build(*version, *layer, time.Unix(*seconds, 0).UTC())
	if err != nil {
		return err
	}

	// "+" may stand in a version and not in a tag.
	tag, err := name.NewTag("mullion:" + strings.ReplaceAll(strings.TrimPrefix(*version, "v"), "+", "-"))
	if err != nil {
		return err
	}

	return tarball.WriteToFile(*out, tag, image)
}

func build(version, layer string, created time.Time) (v1.Image, error) {
	l, err := tarball.LayerFromFile(layer)
	if err != nil {
		return nil, fmt.Errorf("read layer %q: %w", layer, err)
	}

	image, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:   l,
		History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "make image"},
	})
	if err != nil {
		return nil, err
	}

	c, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, configured(c.DeepCopy(), version, created))
}

// configured says how the image is run. The first process reaps orphans and passes SIGTERM on to Mullion, which then
// stops the cluster.
func configured(c *v1.ConfigFile, version string, created time.Time) *v1.ConfigFile {
	c.OS, c.Architecture = "linux", "amd64"
	c.Created = v1.Time{Time: created}

	c.Config = v1.Config{
		Entrypoint:   []string{"/usr/lib/mullion/mullion-init", "--", "/usr/bin/mullion"},
		Cmd:          []string{"up", "--foreground", "--listen", "0.0.0.0:6443"},
		Env:          []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"},
		Volumes:      map[string]struct{}{"/var/lib/mullion": {}},
		ExposedPorts: map[string]struct{}{"6443/tcp": {}},
		StopSignal:   "SIGTERM",
		Healthcheck: &v1.HealthConfig{
			Test:        []string{"CMD", "/usr/bin/mullion", "status"},
			Interval:    30 * time.Second,
			Timeout:     20 * time.Second,
			StartPeriod: 5 * time.Minute,
			Retries:     3,
		},
		Labels: map[string]string{
			"org.opencontainers.image.title":       "mullion",
			"org.opencontainers.image.description": "Windows nodes for Kubernetes on a Linux machine without Windows",
			"org.opencontainers.image.version":     version,
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.created":     created.Format(time.RFC3339),
		},
	}

	return c
}
