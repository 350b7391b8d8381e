package linuxnode

import "mullion.dev/mullion/internal/node/nodeimages"

// Images is the image store of one Linux node.
type Images = nodeimages.Images

// OpenImages connects to the store of the node whose containerd listens at Socket(runDir). It is to be closed.
func OpenImages(node, runDir string) (*Images, error) {
	return nodeimages.Open(nodeimages.Linux(node, Socket(runDir)))
}
