package system

import (
	"errors"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/guest/winnet"
)

// routes returns Windows' routes of both families.
func routes() ([]Route, error) {
	found, err := winnet.Routes()
	if err != nil {
		return nil, err
	}
	var all []Route
	for _, r := range found {
		all = append(all, Route{
			Index: int64(r.Index), Prefix: r.Prefix, Hop: r.Hop, Metric: int64(r.Metric), Publish: r.Publish,
		})
	}
	return all, nil
}

// addRoute makes a route.
func addRoute(r Route) error { return routeWords(winnet.AddRoute(r.plain())) }

// removeRoute removes a route.
func removeRoute(r Route) error { return routeWords(winnet.RemoveRoute(r.plain())) }

// forwards reports whether the interfaces pass packets on.
func forwards() (bool, error) { return winnet.Forwards() }

func (r Route) plain() winnet.Route {
	// Both were read from such.
	return winnet.Route{
		Index:  uint32(r.Index),
		Prefix: r.Prefix,
		Hop:    r.Hop,
		Metric: uint32(r.Metric),
	}
}

// routeWords returns an error in the words of Windows' cmdlets.
func routeWords(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_OBJECT_ALREADY_EXISTS):
		return words.Errorf("Instance MSFT_NetRoute already exists")
	case errors.Is(err, windows.ERROR_ACCESS_DENIED):
		return words.Errorf("Access is denied.")
	case errors.Is(err, windows.ERROR_NOT_FOUND):
		return words.Errorf("Element not found.")
	}
	return err
}
