package powershell

import (
	"math"

	"mullion.dev/mullion/guest/winproc"
)

// commandLine returns a process's command line.
func commandLine(id int64) (string, error) {
	if id < 0 || id > math.MaxUint32 {
		return "", itsWords("No process has the number %d.", id)
	}
	return winproc.CommandLine(uint32(id))
}

// processes returns the running processes.
func processes() ([]process, error) {
	all, err := winproc.List()
	if err != nil {
		return nil, err
	}
	found := make([]process, len(all))
	for i, p := range all {
		found[i] = process{int64(p.ID), p.Image}
	}
	return found, nil
}
