package wine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Types of services (https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-createservicew).
const (
	serviceDriver = 0x0f
	serviceWin32  = 0x30
	serviceUser   = 0xc0
)

// ApplyLayers applies the changes of an image's layers (LayerHive.Changes) to the text of HKEY_LOCAL_MACHINE. Of what
// they change below Services it takes the sources of the event log, and services that the image adds: those with a
// program of their own outside of C:\Windows. left names the others that would have been added, each with the reason.
// What the layers change of services that are there already, or of Windows' own, is Windows' affair on the machine that
// the image was built on.
func ApplyLayers(text string, changes []Key) (edited string, left []string, err error) {
	h, err := parseHive(text)
	if err != nil {
		return "", nil, err
	}

	own := map[string]bool{} // in lower case
	for path := range h.tree {
		if name := serviceName(path); name != "" {
			own[name] = true
		}
	}

	added := &hive{tree: map[string]*branch{"": {}}} // services alone: a layer may change what one below it adds
	for _, c := range changes {
		name := serviceName(c.Path)
		switch {
		case name == "" || (within(c.Path, eventLogKey) && len(c.Path) > len(eventLogKey)):
			h.apply(c)
		case !own[name]:
			added.apply(c)
		}
	}

	left = h.addServices(added)
	return h.String(), left, nil
}

// addServices adds the services of added, and returns those that are none of an image's, each with the reason.
func (h *hive) addServices(added *hive) (left []string) {
	services := map[string]*hiveKey{}
	for _, k := range added.keys {
		if name := serviceName(k.path); !k.gone && k.path == strings.ToLower(servicesKey)+name {
			services[name] = k
		}
	}

	reasons := map[string]string{}
	for name, k := range services {
		reasons[name] = k.notAdded()
	}

	for _, k := range added.keys {
		name := serviceName(k.path)
		if reason, ok := reasons[name]; ok && reason == "" && !k.gone {
			h.add(k)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		if reason := reasons[name]; reason != "" && reason != noService {
			left = append(left, fmt.Sprintf("%q: %s", name, reason))
		}
	}

	return left
}

const eventLogKey = servicesKey + "EventLog"

// serviceName returns the name, in lower case, of the service that a key of HKEY_LOCAL_MACHINE is about; "" if there is
// none.
func serviceName(path string) string {
	if len(path) <= len(servicesKey) || !strings.EqualFold(path[:len(servicesKey)], servicesKey) {
		return ""
	}
	name, _, _ := strings.Cut(path[len(servicesKey):], `\`)
	return strings.ToLower(name)
}

// noService says why a key is not added as a service: a layer has keys that Windows wrote for its own services.
const noService = "no service"

// notAdded is why a service of an image is not added; "" if it is.
func (k *hiveKey) notAdded() string {
	number, ok := strings.CutPrefix(k.text("Type"), "dword:")
	kind, err := strconv.ParseUint(number, 16, 32)
	path := k.text("ImagePath")
	switch {
	case !ok || err != nil || path == "":
		return noService
	case kind&serviceDriver != 0:
		return "a driver"
	case kind&serviceUser != 0 || kind&serviceWin32 == 0:
		return "a service of each user"
	}

	_, path, _ = strings.Cut(path, `"`)
	path = strings.ToLower(strings.TrimLeft(unescape(strings.TrimSuffix(path, `"`)), `" `))
	path = strings.TrimPrefix(strings.ReplaceAll(path, "/", `\`), `\??\`)
	for _, windows := range []string{`c:\windows\`, `%systemroot%\`, `%windir%\`, `%systemdrive%\windows\`, `\systemroot\`} {
		if strings.HasPrefix(path, windows) {
			return "its program is of Windows"
		}
	}

	if !strings.HasPrefix(path, `c:\`) && !strings.HasPrefix(path, "%") {
		return "its program is not on C:"
	}

	return ""
}

// text returns what stands after a value's name; "" if there is no such value.
func (k *hiveKey) text(name string) string {
	i := k.find(name)
	if i < 0 {
		return ""
	}
	return k.lines[i][len(valuePrefix(name)):]
}
