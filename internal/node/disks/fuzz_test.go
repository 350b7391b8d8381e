package disks

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/diskfs/go-diskfs/partition/gpt"
)

var guid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// FuzzReadTable: of whatever bytes a disk has, partitions lie in it, beside one another, and their GUIDs are names of
// files. What was read can be written and read again.
func FuzzReadTable(f *testing.F) {
	const size = 4 << 20 // for the tables; what a table has between is not read
	sample := func(partitions int) []byte {
		path := filepath.Join(f.TempDir(), "disk")
		disk, err := os.Create(path)
		if err != nil {
			f.Fatal(err)
		}
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
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		return data[:34*sector]
	}
	f.Add(sample(0), []byte{})
	f.Add(sample(2), bytes.Repeat([]byte{0xff}, sector))
	f.Add(sample(1), append(make([]byte, 32*sector), sample(1)[sector:2*sector]...))
	path := filepath.Join(f.TempDir(), "fuzzed")
	f.Fuzz(func(t *testing.T, begin, end []byte) {
		disk, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
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
