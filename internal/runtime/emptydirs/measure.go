package emptydirs

import "fmt"

// Bound is how much of a volume is measured. What has more is not for the kubelet either: kubelet.exe reads all names
// of a folder at once, and a path of Windows ends at 32,767 characters.
type Bound struct {
	// Names is how many entries a volume may have, Depth how many folders in one another, Path how long the path of one
	// is below the volume, in bytes.
	Names, Depth, Path int
}

// DefaultBound returns the bound of a measurement of a node's volumes.
func DefaultBound() Bound {
	return Bound{
		Names: 300_000,
		Depth: 256,
		Path:  30_000,
	}
}

// Usage is what a volume takes.
type Usage struct {
	// Bytes are those of its files: their size, less what is a hole, and with what lies behind their end. A file of
	// several names counts once.
	Bytes int64
	// Blocks are the bytes of the disk that it takes, with what Windows counts for nothing: folders, links, and what a
	// file leaves unused of its last block.
	Blocks int64
	// Names is how many entries it has.
	Names int
	// Over says which part of the bound it is beyond, "" if it is not. Then it is measured in part.
	Over string
}

// over says which part of the bound a volume is beyond at an entry.
func (b Bound) over(names, depth, path int) string {
	switch {
	case names > b.Names:
		return fmt.Sprintf("more than %d entries", b.Names)
	case depth > b.Depth:
		return fmt.Sprintf("more than %d folders in one another", b.Depth)
	case path > b.Path:
		return fmt.Sprintf("a path of more than %d bytes", b.Path)
	}
	return ""
}

// blockSize is the unit of a file's blocks (stat(2)).
const blockSize = 512

// room returns what a file takes of the disk: what Windows' kubelets count, which is its size, unless its blocks are
// fewer, as of a sparse file, or more than its size explains, as fallocate(2) makes them behind a file's end.
func room(size, blocks, unit int64) int64 {
	taken := blocks * blockSize
	if unit <= 0 {
		unit = blockSize
	}
	if taken > (size+unit-1)/unit*unit {
		return taken
	}
	return min(size, taken)
}
