package system

import (
	"math"

	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/guest/winproc"
)

// counted returns what Windows counts of a process.
func counted(id int64) (winproc.Detail, error) {
	if id < 0 || id > math.MaxUint32 {
		return winproc.Detail{}, words.Errorf("No process has the number %d.", id)
	}
	return winproc.DetailOf(uint32(id))
}

// commandLine returns a process's command line.
func commandLine(id int64) (string, error) {
	if id < 0 || id > math.MaxUint32 {
		return "", words.Errorf("No process has the number %d.", id)
	}
	return winproc.CommandLine(uint32(id))
}

// processes returns the running processes.
func processes() ([]Process, error) {
	all, err := winproc.List()
	if err != nil {
		return nil, err
	}
	found := make([]Process, len(all))
	for i, p := range all {
		found[i] = Process{int64(p.ID), p.Image}
	}
	return found, nil
}
