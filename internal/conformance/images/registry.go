package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// RegistryDir is the folder, below the root or on Windows below C:\, from which agnhost's registry (`agnhost
// fake-registry-server`) serves images
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/images/agnhost/fakeregistryserver/registryserver.go).
//
// The tests run it in a HostProcess container on Windows
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/e2e/framework/registry/registry.go), whose C: is the
// node's and not the image's. So upstream's jobs make the folder on each Windows node
// (https://github.com/kubernetes-sigs/windows-testing/blob/461a0fe7218b9076d630367b1dbacc85486bf378/scripts/install-registry-structure.ps1),
// and Mullion does so too. In upstream's image the folder has images for Linux only, here for the image's own system.
const RegistryDir = "var/registry"

// The image that the registry serves, as the tests know it
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/images/agnhost/fakeregistryserver/images.txt).
const servedName, servedTag = "pause", "testing"

// ServedRef is the name by which a node on which the registry runs can pull the image.
const ServedRef = "localhost:5000/" + servedName + ":" + servedTag

// served is pause with one more file: a node may have pause's own layer already, and then a pull would fetch only
// manifests.
func served() Image {
	img := pause()
	img.Refs = []string{ServedRef}
	for system, c := range img.Content {
		c.Layers = append(c.Layers, map[string]File{"served.txt": {Text: "from the registry of agnhost\n"}})
		img.Content[system] = c
	}
	return img
}

// Registry is the folder that agnhost's registry serves, for nodes of one system.
type Registry struct {
	files map[string][]byte // by their paths in the folder, with slashes
}

// Registry makes the folder. The same programs give the same bytes.
func (b *Builder) Registry(ctx context.Context, system string) (*Registry, error) {
	made, err := b.Build(ctx, served(), system)
	if err != nil {
		return nil, err
	}
	r := &Registry{files: map[string][]byte{}}
	if err := r.addIndex(made.Index); err != nil {
		return nil, fmt.Errorf("make registry with image %q: %w", ServedRef, err)
	}
	return r, nil
}

// add adds a manifest or a blob at the place where the server looks for its digest.
func (r *Registry) add(kind string, digest v1.Hash, data []byte) {
	r.files[path.Join(servedName, kind, digest.Algorithm, digest.Hex[:2], digest.Hex, "data")] = data
}

func (r *Registry) addIndex(index v1.ImageIndex) error {
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	raw, err := index.RawManifest()
	if err != nil {
		return err
	}

	r.files[path.Join(servedName, "manifests", servedTag)] = []byte(digest.String() + "\n")
	r.add("manifests", digest, raw)
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}

	for _, m := range manifest.Manifests {
		img, err := index.Image(m.Digest)
		if err != nil {
			return err
		}
		if err := r.addImage(img); err != nil {
			return err
		}
	}

	return nil
}

func (r *Registry) addImage(img v1.Image) error {
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	raw, err := img.RawManifest()
	if err != nil {
		return err
	}

	r.add("manifests", digest, raw)
	if digest, err = img.ConfigName(); err != nil {
		return err
	}
	if raw, err = img.RawConfigFile(); err != nil {
		return err
	}

	r.add("blobs", digest, raw)
	layers, err := img.Layers()
	if err != nil {
		return err
	}

	for _, l := range layers {
		if digest, err = l.Digest(); err != nil {
			return err
		}
		if raw, err = compressed(l); err != nil {
			return err
		}
		r.add("blobs", digest, raw)
	}

	return nil
}

func compressed(l v1.Layer) ([]byte, error) {
	from, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(from)
	return data, errors.Join(err, from.Close())
}

// Write writes the folder as dir below root, and replaces an existing dir. Others may write below root at the same
// time, so links cannot lead out of it, and each file is newly made.
func (r *Registry) Write(root *os.Root, dir string) error {
	if err := root.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the registry that was there: %w", err)
	}
	for name, data := range r.files {
		if err := writeNew(root, path.Join(dir, name), data); err != nil {
			return fmt.Errorf("write registry: %w", err)
		}
	}
	return nil
}

func writeNew(root *os.Root, name string, data []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
