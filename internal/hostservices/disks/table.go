package disks

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/diskfs/go-diskfs/partition/gpt"
	"github.com/google/uuid"

	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// Sizes of a disk in bytes: of a sector; what partitions begin and end at; where the first one for data begins, behind
// the reserved one of Windows (https://learn.microsoft.com/windows-hardware/manufacture/desktop/configure-uefigpt-based-hard-drive-partitions).
const (
	sector    = 512
	alignment = 1 << 20
	firstData = 16 << 20
	// tail is what the second copy of the table needs at the end.
	tail = 33 * sector
)

// mostPartitions is what a table has room for.
const mostPartitions = 128

// errForeign says that a disk has bytes that are no partition table which is known here.
var errForeign = errors.New("the disk has a partition table that is not GPT, or a broken one")

// readTable reads a disk's partition table; nil if the disk is raw. What the bytes say is not trusted.
func readTable(f *os.File) (*gpt.Table, error) {
	head := make([]byte, 2*sector)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, 2*sector), head); err != nil {
		return nil, fmt.Errorf("read the partition table: %w", err)
	}

	if !isHeader(head[sector:]) {
		if slices.ContainsFunc(head[:sector], func(b byte) bool { return b != 0 }) {
			return nil, errForeign
		}
		return nil, nil // a raw disk has none
	}

	size, err := sizeOf(f)
	if err != nil {
		return nil, err
	}

	second := make([]byte, sector)
	if _, err := f.ReadAt(second, size-sector); err != nil {
		return nil, fmt.Errorf("read the partition table's copy: %w", err)
	}
	if isLarge(head[sector:]) || isLarge(second) {
		return nil, errForeign
	}

	t, err := gpt.Read(f, sector, sector)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errForeign, err)
	}

	t.Partitions = slices.DeleteFunc(t.Partitions, func(p *gpt.Partition) bool { return p.Type == gpt.Unused })
	slices.SortFunc(t.Partitions, func(a, b *gpt.Partition) int { return cmp.Compare(a.Start, b.Start) })
	if err := checkPlaces(t, size); err != nil {
		return nil, err
	}

	return t, nil
}

// checkPlaces returns an error if partitions, which are in the order of their places, lie over one another or beyond
// the disk.
func checkPlaces(t *gpt.Table, size int64) error {
	const first = 34 // the sector behind the table
	free := uint64(first)
	for _, p := range t.Partitions {
		if p.Start < free || p.End < p.Start || p.End >= uint64(size/sector) { // a file's size
			return fmt.Errorf("%w: a partition from %d to %d", errForeign, p.Start, p.End)
		}
		free = p.End + 1
	}
	return nil
}

// isLarge reports whether a header names more entries, or other ones, than a table has here: the library makes room for
// as many as it says (UEFI 2.10, 5.3.2).
func isLarge(header []byte) bool {
	entries, bytes := binary.LittleEndian.Uint32(header[80:]), binary.LittleEndian.Uint32(header[84:])
	return isHeader(header) && (entries > mostPartitions || bytes != gpt.PartitionEntrySize)
}

func isHeader(header []byte) bool { return string(header[:8]) == "EFI PART" }

// writeTable writes a table that was read, changed, with its second copy at the end of the disk, which may have grown.
func writeTable(f *os.File, t *gpt.Table) error {
	size, err := sizeOf(f)
	if err != nil {
		return err
	}
	t.Resize(uint64(size)) // a file's size
	t.ProtectiveMBR = true
	if err := t.Write(f, size); err != nil {
		return fmt.Errorf("write the partition table: %w", err)
	}
	return nil
}

// writeNewTable writes what Windows writes to a raw disk: a table with its own reserved partition.
func writeNewTable(f *os.File) error {
	size, err := sizeOf(f)
	if err != nil {
		return err
	}

	t := gpt.Table{
		LogicalSectorSize:  sector,
		PhysicalSectorSize: sector,
		ProtectiveMBR:      true,
		GUID:               uuid.NewString(),
		Partitions: []*gpt.Partition{{
			Index: 1, Start: 34, End: firstData/sector - 1, Size: firstData - 34*sector, Type: gpt.MicrosoftReserved,
			Name: "Microsoft reserved partition", GUID: uuid.NewString(),
		}},
	}

	if err := t.Write(f, size); err != nil {
		return fmt.Errorf("write the partition table: %w", err)
	}

	return nil
}

// clearTable removes both copies of the table, and what lies before the first partition.
func clearTable(f *os.File) error {
	size, err := sizeOf(f)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, alignment), 0)
	if err == nil {
		_, err = f.WriteAt(make([]byte, tail), size-tail)
	}
	return errors.Join(err, f.Sync())
}

// partOf returns a partition of a table of a disk of that size.
func partOf(t *gpt.Table, p *gpt.Partition, size int64) hostdisk.Part {
	kind := "Unknown"
	switch p.Type {
	case gpt.MicrosoftBasicData:
		kind = "Basic"
	case gpt.MicrosoftReserved:
		kind = "Reserved"
	}

	offset := int64(p.Start) * sector // within the disk
	return hostdisk.Part{
		Number: uint32(p.Index), // at most mostPartitions
		Offset: offset,
		Size:   int64(p.End-p.Start+1) * sector, // within the disk
		Most:   endOfRoom(t, p, size) - offset,
		Type:   kind,
		GUID:   strings.ToLower(p.GUID),
	}
}

// endOfRoom returns where the room for a partition ends: at the next one, or at the end of the disk.
func endOfRoom(t *gpt.Table, p *gpt.Partition, size int64) int64 {
	end := (size - tail) / alignment * alignment
	for _, other := range t.Partitions {
		if other.Start > p.Start {
			end = min(end, int64(other.Start)*sector) // within the disk
		}
	}
	return max(end, int64(p.End+1)*sector) // within the disk
}

// addPartition adds a partition for data, in the largest room that there is.
func addPartition(t *gpt.Table, size, want int64) (*gpt.Partition, error) {
	begin, room := int64(0), int64(0)
	at := int64(alignment)
	consider := func(end int64) {
		if end-at > room {
			begin, room = at, end-at
		}
	}

	for _, p := range t.Partitions {
		consider(int64(p.Start) * sector / alignment * alignment)            // within the disk
		at = (int64(p.End+1)*sector + alignment - 1) / alignment * alignment // within the disk
	}

	consider((size - tail) / alignment * alignment)
	if want == 0 {
		want = room
	}

	want = (want + alignment - 1) / alignment * alignment
	if want < alignment || want > room {
		return nil, hostcall.Refusef(40000, "Not enough available capacity")
	}
	number := 1
	for slices.ContainsFunc(t.Partitions, func(p *gpt.Partition) bool { return p.Index == number }) {
		number++
	}

	if number > mostPartitions {
		return nil, hostcall.Refusef(41004, "The disk's partition limit has been reached.")
	}
	p := &gpt.Partition{
		Index: number, Type: gpt.MicrosoftBasicData, Name: "Basic data partition", GUID: uuid.NewString(),
	}
	place(p, begin, want)
	t.Partitions = append(t.Partitions, p)

	return p, nil
}

// place gives a partition its place on the disk.
func place(p *gpt.Partition, offset, size int64) {
	p.Start, p.Size = uint64(offset/sector), uint64(size) // both are within the disk
	p.End = p.Start + p.Size/sector - 1
}

func sizeOf(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size() / sector * sector, nil
}
