package system

import "os"

// Process is a running program.
type Process struct {
	ID   int64
	Name string
}

// killProcess ends a process.
func killProcess(id int64) error {
	p, err := os.FindProcess(int(id))
	if err != nil {
		return err
	}
	return p.Kill()
}
