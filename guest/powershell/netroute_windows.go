package powershell

import (
	"errors"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/guest/winnet"
)

// routes are Windows' routes of both families.
func routes() ([]route, error) {
	found, err := winnet.Routes()
	if err != nil {
		return nil, err
	}
	var all []route
	for _, r := range found {
		all = append(all, route{
			index: int64(r.Index), prefix: r.Prefix, hop: r.Hop, metric: int64(r.Metric), publish: r.Publish,
		})
	}
	return all, nil
}

// addRoute makes a route.
func addRoute(r route) error { return routeWords(winnet.AddRoute(r.plain())) }

// removeRoute removes a route.
func removeRoute(r route) error { return routeWords(winnet.RemoveRoute(r.plain())) }

// forwards reads MIB_IPSTATS' dwForwarding, 1 for yes and 2 for no. Both families of a host pass packets on, or none.
func forwards() (bool, error) {
	p, err := winnet.CountProtocols(false)
	if err != nil {
		return false, err
	}
	return p.IP[0] == 1, nil
}

func (r route) plain() winnet.Route {
	// Both were read from such.
	return winnet.Route{Index: uint32(r.index), Prefix: r.prefix, Hop: r.hop, Metric: uint32(r.metric)}
}

// routeWords is an error in the words of Windows' cmdlets.
func routeWords(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_OBJECT_ALREADY_EXISTS):
		return itsWords("Instance MSFT_NetRoute already exists")
	case errors.Is(err, windows.ERROR_ACCESS_DENIED):
		return itsWords("Access is denied.")
	case errors.Is(err, windows.ERROR_NOT_FOUND):
		return itsWords("Element not found.")
	}
	return err
}
