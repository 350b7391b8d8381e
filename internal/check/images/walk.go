package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/windows/winver"
)

// Bounds of one image.
const (
	maxDepth   = 4   // indexes inside each other
	maxEntries = 500 // of all indexes
	maxFetches = 40  // manifests and configurations besides the first
)

// blobs is a source of contents, each compared with its digest and of bounded size.
type blobs interface {
	manifest(ctx context.Context, digest v1.Hash) ([]byte, error)
	config(ctx context.Context, digest v1.Hash) ([]byte, error)
}

// walker gathers the platforms of an image.
type walker struct {
	from             blobs
	found            []check.Platform
	entries, fetches int
}

// anyManifest has the fields of an index or a manifest that are read.
// https://github.com/opencontainers/image-spec/blob/v1.1.1/image-index.md, manifest.md
type anyManifest struct {
	SchemaVersion int             `json:"schemaVersion"`
	Manifests     []v1.Descriptor `json:"manifests"`
	Config        *v1.Descriptor  `json:"config"`
}

// platform is the platform in an entry or a configuration.
type platform struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	OSVersion    string `json:"os.version"`
}

func (w *walker) manifest(ctx context.Context, text []byte, depth int) error {
	var m anyManifest
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	switch {
	case depth > maxDepth:
		return fmt.Errorf("more than %d indexes inside each other", maxDepth)
	case m.Manifests != nil:
		return w.index(ctx, m.Manifests, depth)
	case m.Config != nil:
		return w.configured(ctx, m.Config.Digest)
	}
	return fmt.Errorf("the manifest is neither an index nor that of an image (schema version %d)", m.SchemaVersion)
}

// index adds the platforms that the entries name; an entry without one is fetched.
func (w *walker) index(ctx context.Context, entries []v1.Descriptor, depth int) error {
	for _, e := range entries {
		if w.entries++; w.entries > maxEntries {
			return fmt.Errorf("the index has more than %d entries", maxEntries)
		}

		if e.Platform != nil && e.Platform.OS != "" {
			w.add(platform{
				OS:           e.Platform.OS,
				Architecture: e.Platform.Architecture,
				OSVersion:    e.Platform.OSVersion,
			})
			continue
		}

		if err := w.fetch(); err != nil {
			return err
		}
		text, err := w.from.manifest(ctx, e.Digest)
		if err != nil {
			return fmt.Errorf("entry %s of the index: %w", e.Digest, err)
		}

		if err := w.manifest(ctx, text, depth+1); err != nil {
			return err
		}
	}

	return nil
}

// configured adds the platform of an image's configuration.
func (w *walker) configured(ctx context.Context, digest v1.Hash) error {
	if err := w.fetch(); err != nil {
		return err
	}
	text, err := w.from.config(ctx, digest)
	if err != nil {
		return fmt.Errorf("configuration %s: %w", digest, err)
	}
	var p platform
	if err := json.Unmarshal(text, &p); err != nil {
		return fmt.Errorf("configuration %s: %w", digest, err)
	}
	w.add(p)
	return nil
}

func (w *walker) fetch() error {
	if w.fetches++; w.fetches > maxFetches {
		return errors.New("its platforms are spread over too many manifests")
	}
	return nil
}

// add adds a platform. Attestations have the system "unknown"; artifacts that are no images have none.
// https://docs.docker.com/build/metadata/attestations/attestation-storage/
func (w *walker) add(p platform) {
	if p.OS == "" || p.OS == "unknown" {
		return
	}
	out := check.Platform{OS: check.OS(p.OS), Architecture: p.Architecture}
	if v, err := winver.ParseVersion(p.OSVersion); err == nil && p.OS == string(check.Windows) {
		out.Version = v
	}
	w.found = append(w.found, out)
}
