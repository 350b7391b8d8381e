package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"

	"mullion.dev/mullion/internal/network/hns"
)

// GenerationFile is where DLLs look for the generation, below the folder that is C:.
const GenerationFile = "ProgramData/Mullion/hns.generation"

// generation is a number that is another one after each change. DLLs map its file into memory: kube-proxy.exe reads all
// of thousands of objects before each change it makes, one by one, and need not ask for those that it has.
type generation struct {
	file io.WriterAt // nil: nobody keeps copies
	now  uint64
}

// next makes the copies that are out there worthless. The numbers are random: a reader that sees half of one and half
// of the other takes that for neither.
func (g *generation) next() error {
	if g.file == nil {
		return nil
	}
	g.now = rand.Uint64()
	if _, err := g.file.WriteAt(g.bytes(), 0); err != nil {
		return fmt.Errorf("write the generation of HNS: %w", err)
	}
	return nil
}

func (g *generation) bytes() []byte { return binary.LittleEndian.AppendUint64(nil, g.now) }

// copies are the fields of a response that carry objects.
func (g *generation) copies(objects []hns.Content) [][]byte {
	if g.file == nil || len(objects) == 0 {
		return nil
	}
	fields := make([][]byte, 0, 1+len(objects))
	fields = append(fields, g.bytes())
	for _, o := range objects {
		fields = append(fields, append(encodeGUID(o.ID), o.Text...))
	}
	return fields
}

// OpenGenerationFile opens the file below drive, or makes it. Windows programs may write there: no link leads out of
// the drive, and what is not a file is replaced. A file that is there is kept, as programs have it mapped.
func OpenGenerationFile(drive string) (*os.File, error) {
	root, err := os.OpenRoot(drive)
	if err != nil {
		return nil, fmt.Errorf("open drive: %w", err)
	}
	defer func() { _ = root.Close() }()
	if info, err := root.Lstat(GenerationFile); err == nil && !info.Mode().IsRegular() {
		if err := root.RemoveAll(GenerationFile); err != nil {
			return nil, err
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := root.OpenFile(GenerationFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the generation of HNS: %w", err)
	}
	return f, nil
}
