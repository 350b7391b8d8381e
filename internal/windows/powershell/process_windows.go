package powershell

import "mullion.dev/mullion/internal/windows/winproc"

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
