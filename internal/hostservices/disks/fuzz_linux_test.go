package disks

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"testing"

	"github.com/diskfs/go-diskfs/partition/gpt"
	"golang.org/x/sys/unix"
)

var guid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// FuzzReadTable: of whatever bytes a disk has, partitions lie in it, beside one another, and their GUIDs are names of
// files. What was read can be written and read again.
func FuzzReadTable(f *testing.F) {
	const size = 4 << 20 // for the tables; what a table has between is not read

	sample := func(partitions int) []byte {
		disk := inMemory(f)
		defer disk.Close()
		if err := errors.Join(disk.Truncate(size+firstData), writeNewTable(disk)); err != nil {
			f.Fatal(err)
		}
		t, err := readTable(disk)
		if err != nil {
			f.Fatal(err)
		}

		for range partitions {
			if _, err := addPartition(t, size+firstData, alignment); err != nil {
				f.Fatal(err)
			}
		}

		if err := writeTable(disk, t); err != nil {
			f.Fatal(err)
		}

		data := make([]byte, 34*sector)
		if _, err := disk.ReadAt(data, 0); err != nil {
			f.Fatal(err)
		}
		return data
	}

	f.Add(sample(0), []byte{})
	f.Add(sample(2), bytes.Repeat([]byte{0xff}, sector))
	f.Add(sample(1), append(make([]byte, 32*sector), sample(1)[sector:2*sector]...))

	f.Fuzz(func(t *testing.T, begin, end []byte) {
		disk := inMemory(t)
		defer disk.Close()
		begin, end = begin[:min(len(begin), alignment)], end[:min(len(end), tail)]
		if err := disk.Truncate(size + firstData); err != nil {
			t.Fatal(err)
		}

		_, beginErr := disk.WriteAt(begin, 0)
		_, endErr := disk.WriteAt(end, size+firstData-int64(len(end)))
		if err := errors.Join(beginErr, endErr); err != nil {
			t.Fatal(err)
		}
		table, err := readTable(disk)
		if err != nil || table == nil {
			return
		}

		checkTable(t, table, size+firstData)
		if err := writeTable(disk, table); err != nil {
			return // the library refuses what it would not write so
		}
		again, err := readTable(disk)
		if err != nil || len(again.Partitions) != len(table.Partitions) {
			t.Errorf("%d partitions, written and read again: %v, %v", len(table.Partitions), again, err)
		}
	})
}

// inMemory returns an empty file without a disk, on which each Sync would take its time.
func inMemory(tb testing.TB) *os.File {
	tb.Helper()
	fd, err := unix.MemfdCreate("disk", unix.MFD_CLOEXEC)
	if err != nil {
		tb.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "disk")
}

func checkTable(t *testing.T, table *gpt.Table, size int64) {
	t.Helper()
	if len(table.Partitions) > mostPartitions {
		t.Errorf("%d partitions", len(table.Partitions))
	}

	at := int64(0)
	for _, entry := range table.Partitions {
		p := partOf(table, entry, size)
		if p.Offset < at || p.Size <= 0 || p.Offset+p.Size > size || p.Most < p.Size || !guid.MatchString(p.GUID) {
			t.Errorf("a partition behind %d of a disk of %d: %+v", at, size, p)
		}
		at = p.Offset + p.Size
	}
}
