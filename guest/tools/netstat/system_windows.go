package netstat

import "mullion.dev/mullion/guest/winproc"

// Images implements System.
func (local) Images() (map[uint32]string, error) {
	all, err := winproc.List()
	if err != nil {
		return nil, err
	}
	images := map[uint32]string{}
	for _, p := range all {
		images[p.ID] = p.Image
	}
	return images, nil
}
