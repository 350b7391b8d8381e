// Package buildcache keeps on disk what builds of images have made: layers, by keys of all that they were made of, and
// the folders of RUN --mount=type=cache.
//
//	DIR/lock             held by every build, and alone by the one that clears
//	DIR/blobs/SHA256     layers as images have them, compressed, by the sum of their bytes
//	DIR/layers/KEY       records: which blob a key has
//	DIR/folders/SHA256/  folders of cache mounts, by the sum of their ids; containers write to them
//	DIR/work/            what is being made; nobody's once no build holds the lock
//
// A record and its blob appear whole or not at all, and a blob is held against its sum before it is taken, so a build
// that was killed, or a disk that lies, costs time and never gives a wrong layer.
//
// It does not own what a key is made of (package dockerfile), nor the form of layers (package imagebuild).
package buildcache

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/beneath"
)

// Most is how much of earlier builds is kept, in bytes. The build itself may need more.
const Most = 10 << 30

// Options are where a cache is.
type Options struct {
	// Dir is its folder.
	Dir string
	// Memory is a folder in memory, which the cache alone uses, for what is not to reach a disk; "": Dir is used.
	Memory string
	// Most is how many bytes of earlier builds are kept; 0: Most.
	Most int64
}

// Cache is a folder of layers. Several builds, in several processes, may use it.
type Cache struct {
	dir, memory string
	lock        *os.File
}

// Open opens a cache, whose folders it makes. If no other build is at work, what killed ones have left is removed, and
// what was not used for longest until no more than is kept are left. Of root's caches in folders that others can change
// the error is ErrShared.
func Open(ctx context.Context, o Options) (*Cache, error) {
	if os.Geteuid() == 0 {
		dir, err := rootsFolder(o.Dir)
		if err != nil {
			return nil, fmt.Errorf("open the cache of builds: %w", err)
		}
		o.Dir = dir
	}

	c := &Cache{dir: o.Dir, memory: cmp.Or(o.Memory, filepath.Join(o.Dir, secrets))}
	for _, dir := range []string{o.Dir, c.path(blobs), c.path(layers), c.path(folders), c.path(work)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("open the cache of builds: %w", err)
		}
	}

	var err error
	c.lock, err = os.OpenFile(c.path("lock"), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the cache of builds: %w", err)
	}

	lock := c.lock
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		err = c.clear(ctx, cmp.Or(o.Most, Most))
	}
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_SH)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the cache of builds: %w", err), lock.Close())
	}

	return c, nil
}

// Close ends the use of the cache. The bytes of its layers cannot be read any more.
func (c *Cache) Close() error {
	_ = os.Remove(c.memory) // another build may use it
	return c.lock.Close()
}

// The folders of a cache.
const (
	blobs   = "blobs"
	layers  = "layers"
	folders = "folders"
	work    = "work"
	secrets = "secrets"
)

// Key is the sum of all that something is made of.
type Key struct{ hash hash.Hash }

// NewKey begins a key of a kind of things.
func NewKey(kind string) Key {
	k := Key{sha256.New()}
	k.Add(kind)
	return k
}

// Add adds words to the key. Their number, their order and where one ends are part of it.
func (k Key) Add(words ...string) {
	for _, w := range words {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(w)))
		k.hash.Write(size[:])
		k.hash.Write([]byte(w))
	}
}

// String returns the key, 64 digits.
func (k Key) String() string { return hex.EncodeToString(k.hash.Sum(nil)) }

// record is what is known of the layer of a key.
type record struct {
	// Blob and DiffID are the sums of the layer's bytes as images have them, and before they were compressed.
	Blob, DiffID v1.Hash
	Size         int64
}

// mostOfRecord bounds a record, in bytes.
const mostOfRecord = 1 << 12

// Find returns the layer of a key; false: there is none, or not whole.
func (c *Cache) Find(key Key) (v1.Layer, bool) {
	name := c.path(layers, key.String())
	text, err := beneath.ReadPath(name, mostOfRecord)
	if err != nil {
		return nil, false
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil || !c.whole(r) {
		return nil, false
	}

	now := time.Now()
	_ = os.Chtimes(name, now, now) // else it counts as one that was not used
	return c.layer(r), true
}

// whole reports whether a record's blob is there, and has its sum.
func (c *Cache) whole(r record) bool {
	if r.Blob.Algorithm != "sha256" || !isSum(r.Blob.Hex) {
		return false
	}

	file, info, err := beneath.OpenPath(c.path(blobs, r.Blob.Hex))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()

	sum := sha256.New()
	if info.Size() != r.Size {
		return false
	}
	_, err = io.Copy(sum, file)
	return err == nil && hex.EncodeToString(sum.Sum(nil)) == r.Blob.Hex
}

// isSum reports whether text is a sum in digits, and so the name of a file.
func isSum(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size
}

func (c *Cache) path(names ...string) string {
	return filepath.Join(append([]string{c.dir}, names...)...)
}

// Make makes the layer of a key: write writes its bytes, which are not compressed. If it fails nothing is left.
func (c *Cache) Make(ctx context.Context, key Key, write func(io.Writer) error) (_ v1.Layer, err error) {
	file, err := c.WorkFile()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close(), removed(file.Name())) }()

	packed, plain := &summed{to: file, sum: sha256.New()}, sha256.New()
	zip, err := gzip.NewWriterLevel(packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := write(io.MultiWriter(until(ctx, zip), plain)); err != nil {
		return nil, err
	}

	if err := zip.Close(); err != nil {
		return nil, err
	}

	r := record{
		Blob:   v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(packed.sum.Sum(nil))},
		DiffID: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(plain.Sum(nil))},
		Size:   packed.size,
	}
	if err := c.keep(file, r, key); err != nil {
		return nil, err
	}

	return c.layer(r), nil
}

// keep gives a blob its name, and then the record that names it.
func (c *Cache) keep(file *os.File, r record, key Key) error {
	if err := file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), c.path(blobs, r.Blob.Hex)); err != nil {
		return err
	}
	return atomicfile.WriteJSON(c.path(layers, key.String()), r)
}

// removed removes a file that may have got another name.
func removed(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// WorkFile makes an empty file for something that is being made. The caller closes and removes it; if it is killed
// before, a later build does.
func (c *Cache) WorkFile() (*os.File, error) { return os.CreateTemp(c.path(work), "file-") }

// WorkFolder makes an empty folder for something that is being made. The caller calls remove, whatever others have put
// there meanwhile; if it is killed before, a later build removes the folder.
func (c *Cache) WorkFolder() (name string, remove func() error, err error) {
	return workFolder(c.path(work))
}

// SecretFolder is WorkFolder for what is not to reach a disk.
func (c *Cache) SecretFolder() (name string, remove func() error, err error) {
	if err := os.MkdirAll(c.memory, 0o700); err != nil {
		return "", nil, err
	}
	return workFolder(c.memory)
}

func workFolder(dir string) (name string, remove func() error, err error) {
	name, err = os.MkdirTemp(dir, "folder-")
	return name, func() error { return removeFrom(dir, filepath.Base(name)) }, err
}

// Folder returns the folder of a cache mount by its id, which it makes. Programs of any user may write to it, if they
// get there: the folders that lead to it let nobody in.
func (c *Cache) Folder(id string) (string, error) {
	key := NewKey("folder")
	key.Add(id)
	name := c.path(folders, key.String())
	if err := os.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := os.Chmod(name, 0o777); err != nil {
		return "", err
	}

	now := time.Now()
	return name, os.Chtimes(name, now, now)
}

// HoldFolder waits until no other build holds the folder of a cache mount, and holds it until release is called.
func (c *Cache) HoldFolder(ctx context.Context, id string) (release func(), err error) {
	key := NewKey("folder")
	key.Add(id)
	file, err := os.OpenFile(c.path(folders, key.String()+".lock"),
		os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}

	tick := time.NewTicker(lockInterval)
	defer tick.Stop()

	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %q: %w", file.Name(), err), file.Close())
		}

		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-tick.C:
		}
	}
}

const lockInterval = 50 * time.Millisecond

// summed sums up and counts what is written.
type summed struct {
	to   io.Writer
	sum  hash.Hash
	size int64
}

// Write writes.
func (s *summed) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.sum.Write(p[:n])
	s.size += int64(n)
	return n, err
}

// writeFunc is a writer.
type writeFunc func(p []byte) (int, error)

// Write writes.
func (f writeFunc) Write(p []byte) (int, error) { return f(p) }

// until returns a writer that ends with a context.
func until(ctx context.Context, w io.Writer) io.Writer {
	return writeFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return w.Write(p)
	})
}

// layer is a layer in the cache.
type layer struct {
	record
	file string
}

func (c *Cache) layer(r record) v1.Layer { return layer{r, c.path(blobs, r.Blob.Hex)} }

// Digest implements v1.Layer.
func (l layer) Digest() (v1.Hash, error) { return l.Blob, nil }

// DiffID implements v1.Layer.
func (l layer) DiffID() (v1.Hash, error) { return l.record.DiffID, nil }

// Size implements v1.Layer.
func (l layer) Size() (int64, error) { return l.record.Size, nil }

// MediaType implements v1.Layer.
func (layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// Compressed implements v1.Layer.
func (l layer) Compressed() (io.ReadCloser, error) {
	file, _, err := beneath.OpenPath(l.file)
	return file, err
}

// Uncompressed implements v1.Layer.
func (l layer) Uncompressed() (io.ReadCloser, error) {
	file, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	plain, err := gzip.NewReader(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return unpacked{plain, file}, nil
}

// File returns the file of a layer of a cache, which has its bytes as an image has them; "": it is of no cache.
func File(of v1.Layer) string {
	l, _ := of.(layer)
	return l.file
}

// unpacked reads a compressed file.
type unpacked struct {
	io.Reader
	io.Closer
}
