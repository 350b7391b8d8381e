package image

import (
	"sync"

	"github.com/opencontainers/go-digest"
)

// known remembers what has been read from blobs.
type known struct {
	mu   sync.Mutex
	seen map[knownKey]selection
}

// knownKey is the blob that a reference points at, and the isolation for which a manifest was chosen.
type knownKey struct {
	target digest.Digest
	iso    Isolation
}

// maxKnown bounds the memory; a node has far fewer images.
const maxKnown = 1000

// find returns what is remembered for key, or calls read and remembers its result unless it is an error.
func (k *known) find(key knownKey, read func() (selection, error)) (selection, error) {
	k.mu.Lock()
	sel, ok := k.seen[key]
	k.mu.Unlock()
	if ok {
		return sel, nil
	}

	sel, err := read()
	if err != nil {
		return sel, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()

	if k.seen == nil || len(k.seen) >= maxKnown {
		k.seen = map[knownKey]selection{}
	}
	k.seen[key] = sel
	return sel, nil
}
