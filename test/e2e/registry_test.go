//go:build cluster

package e2e

import (
	"archive/tar"
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/rogpeppe/go-internal/testscript"
)

// serveRegistry USER PASSWORD IMAGE: serves a registry that only this user may read, with a Windows image in it. Its
// address is in $REGISTRY.
func serveRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: registry USER PASSWORD IMAGE")
	}

	user, password := args[0], args[1]
	store := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`,
				http.StatusUnauthorized)
			return
		}
		store.ServeHTTP(w, r)
	}))
	ts.Defer(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	ref, err := name.NewTag(address + "/" + args[2])
	ts.Check(err)
	img, err := smallImage()
	ts.Check(err)
	ts.Check(remote.Write(ref, img, remote.WithAuth(&authn.Basic{Username: user, Password: password})))
	ts.Setenv("REGISTRY", address)
}

// smallImage returns a Windows Server 2022 image with one file.
func smallImage() (v1.Image, error) {
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	for _, h := range []*tar.Header{{
		Name:     "Files",
		Typeflag: tar.TypeDir,
	}, {Name: "Files/hello.bat", Typeflag: tar.TypeReg}} {
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
	}

	if err := w.Close(); err != nil {
		return nil, err
	}

	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser,
		error,
	) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	})
	if err != nil {
		return nil, err
	}

	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}

	config = config.DeepCopy()
	config.OS = "windows"
	config.Architecture = "amd64"
	config.OSVersion = "10.0.20348.2113"
	return mutate.ConfigFile(img, config)
}
