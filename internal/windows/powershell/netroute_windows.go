package powershell

import "mullion.dev/mullion/internal/windows/winnet"

// routes are Windows' routes of both families.
func routes() ([]route, error) {
	found, err := winnet.Routes()
	if err != nil {
		return nil, err
	}
	var all []route
	for _, r := range found {
		all = append(all, route{index: int64(r.Index), prefix: r.Prefix, hop: r.Hop, metric: int64(r.Metric), publish: r.Publish})
	}
	return all, nil
}
