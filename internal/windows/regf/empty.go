package regf

import "encoding/binary"

// Sizes of an empty hive: a base block, and one bin with one cell.
const (
	blockSize  = 4096
	binHeader  = 32
	nodeSize   = 76
	noCell     = 0xffffffff
	emptyName  = "ROOT"
	emptyCell  = 88 // of the root key, with its size and its name, in eights
	rootFlags  = 0x2c
	checkWords = 127
)

// Empty returns a hive that has its root alone, without values: it changes nothing.
func Empty() []byte {
	file := make([]byte, 2*blockSize)
	put := func(at int, values ...uint32) {
		for i, v := range values {
			binary.LittleEndian.PutUint32(file[at+4*i:], v)
		}
	}
	copy(file, "regf")
	put(4, 1, 1)                                 // both sequence numbers
	put(20, 1, 5, 0, 1, binHeader, blockSize, 1) // version, type, format, root, size of the bins, clusters
	var sum uint32
	for i := range checkWords {
		sum ^= binary.LittleEndian.Uint32(file[4*i:])
	}
	put(4*checkWords, sum)

	bin := blockSize
	copy(file[bin:], "hbin")
	put(bin+8, blockSize)
	cell := bin + binHeader
	size := int32(-emptyCell) // in use
	put(cell, uint32(size))
	node := cell + 4
	copy(file[node:], "nk")
	binary.LittleEndian.PutUint16(file[node+2:], rootFlags)
	put(node+16, noCell, 0, 0, noCell, noCell, 0, noCell, noCell, noCell) // parent … class name
	binary.LittleEndian.PutUint16(file[node+72:], uint16(len(emptyName)))
	copy(file[node+nodeSize:], emptyName)
	put(cell+emptyCell, blockSize-binHeader-emptyCell) // free
	return file
}
