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

// generation is a number that is different after each change. DLLs map its file into memory and so know whether their
// copies are still valid: kube-proxy.exe reads thousands of objects, one by one, before each change that it makes.
type generation struct {
	file io.WriterAt // nil: nobody has copies
	now  uint64
}

// next makes all copies invalid. The numbers are random: half of one number with half of another is neither.
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

// copies returns the fields of a response that carry objects.
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

// OpenGenerationFile opens the file below drive, or makes it. Windows programs may write there: links do not lead out
// of the drive, and anything that is not a file is replaced. An existing file is kept, because programs have it mapped.
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
