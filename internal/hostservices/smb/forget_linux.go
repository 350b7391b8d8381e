package smb

import (
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
)

// mostKnown is how many files and folders of a share the kernel knows before it is asked to forget files: each takes
// one and a half KiB of mostMemory, and who walks through a large share would end it.
const mostKnown = 250_000

// forgetPause is the time from one asking to the next: files that are open, and folders, are not forgotten.
const forgetPause = time.Second

// known counts what the kernel knows of a share.
type known struct {
	// most is mostKnown, unless a test says another.
	most int64

	count  atomic.Int64
	asking atomic.Bool
}

// add counts one more, below root, and has the kernel forget files if there are too many.
func (k *known) add(root *fs.Inode) {
	if k.count.Add(1) > k.most {
		k.shrink(root)
	}
}

// shrink has the kernel forget files, again and again while there are too many and some that it may forget.
func (k *known) shrink(root *fs.Inode) {
	if !k.asking.CompareAndSwap(false, true) {
		return
	}

	go func() {
		asked := forget(root)
		time.AfterFunc(forgetPause, func() {
			k.asking.Store(false)
			if asked && k.count.Load() > k.most {
				k.shrink(root)
			}
		})
	}()
}

// forget has the kernel forget the files in and below a folder, except those that are open, and reports whether some
// are. A forgotten file is known again after its next lookup.
func forget(folder *fs.Inode) (asked bool) {
	for name, child := range folder.Children() {
		n, ok := child.Operations().(*node)
		switch {
		case child.StableAttr().Mode == syscall.S_IFDIR:
			asked = forget(child) || asked
		case ok && n.open.Load() == 0:
			_ = folder.NotifyEntry(name) // it may be forgotten already
			asked = true
		}
	}
	return asked
}

// OnForget is called when the kernel has forgotten a file or folder, perhaps more than once.
func (n *node) OnForget() {
	if n.counted.CompareAndSwap(true, false) {
		n.share.known.count.Add(-1)
	}
}

// made makes the node of a file or folder that the kernel is told of.
func (n *node) made() *node {
	child := &node{share: n.share, top: n.top}
	child.counted.Store(true)
	root := n.top
	if root == nil {
		root = n.Root()
	}
	n.share.known.add(root)
	return child
}

// opens notes that the file is open as f, until f is released.
func (n *node) opens(f *file) {
	f.of = n
	n.open.Add(1)
}
