package tools

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"mullion.dev/mullion/guest/timezone"
	"mullion.dev/mullion/guest/winproc"
	"mullion.dev/mullion/internal/windows/wire/credspec"
	"mullion.dev/mullion/internal/windows/wire/hostpower"
)

// dynamicZone is DYNAMIC_TIME_ZONE_INFORMATION
// (https://learn.microsoft.com/windows/win32/api/timezoneapi/ns-timezoneapi-dynamic_time_zone_information).
type dynamicZone struct {
	bias         int32
	standard     [32]uint16
	standardDate windows.Systemtime
	standardBias int32
	daylight     [32]uint16
	daylightDate windows.Systemtime
	daylightBias int32
	key          [128]uint16
	_            uint8
}

// SetZone implements Clock.
func (local) SetZone(id string, winter bool) error { return timezone.Set(id, winter) }

// Zone implements Clock. Where the registry does not say which zone there is, Wine takes the first of the zones without
// an offset, in which it is winter all year, for UTC too.
func (local) Zone(tz string) (Zone, error) {
	var d dynamicZone
	const invalid, inDaylight = 0xffffffff, 2
	rc, _, err := kernel32("GetDynamicTimeZoneInformation").Call(uintptr(unsafe.Pointer(&d)))
	if uint32(rc) == invalid {
		return Zone{}, fmt.Errorf("read the time zone: %w", err)
	}
	date := func(s windows.Systemtime) string {
		if s.Month == 0 {
			return ""
		}
		return fmt.Sprintf("(M:%d D:%d DoW:%d)", s.Month, s.Day, s.DayOfWeek)
	}
	zone := Zone{
		ID:             windows.UTF16ToString(d.key[:]),
		Standard:       windows.UTF16ToString(d.standard[:]),
		Daylight:       windows.UTF16ToString(d.daylight[:]),
		Bias:           int(d.bias),
		StandardBias:   int(d.standardBias),
		DaylightBias:   int(d.daylightBias),
		InDaylight:     rc == inDaylight,
		HasDaylight:    d.daylightDate.Month != 0,
		StandardBegins: date(d.standardDate),
		DaylightBegins: date(d.daylightDate),
	}
	if zone.Bias == 0 && !zone.HasDaylight && !timezone.IsSet() {
		localtime, err := os.ReadFile(`\\?\unix\etc\localtime`)
		if isUTC(tz, localtime) && (err == nil || errors.Is(err, fs.ErrNotExist)) {
			return utc(), nil
		}
	}
	return zone, nil
}

// Zones implements Clock.
func (l local) Zones() ([]Zone, error) {
	const path = `SOFTWARE\Microsoft\Windows NT\CurrentVersion\Time Zones`
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.ENUMERATE_SUB_KEYS)
	if err != nil {
		return nil, fmt.Errorf("list the time zones: %w", err)
	}
	defer key.Close()
	names, err := key.ReadSubKeyNames(-1)
	if err != nil {
		return nil, fmt.Errorf("list the time zones: %w", err)
	}
	slices.Sort(names)
	var all []Zone
	for _, name := range names {
		display, err := l.Value(`HKLM\`+path+`\`+name, "Display")
		if err != nil {
			display = name
		}
		all = append(all, Zone{ID: name, Display: display})
	}
	return all, nil
}

// utc is Windows' zone UTC.
func utc() Zone {
	const name = "Coordinated Universal Time"
	return Zone{ID: "UTC", Display: "(UTC) " + name, Standard: name, Daylight: name}
}

// kept are Wine's own programs in a container; the container ends without them too.
func kept() []string {
	return []string{
		"services.exe", "explorer.exe", "winedevice.exe", "plugplay.exe", "svchost.exe", "rpcss.exe", "conhost.exe",
		"wineboot.exe", "mullion-run.exe", "start.exe",
	}
}

// MayEnd implements Power. Of the machine's own processes a container's programs see theirs alone: the first is
// mullion-init.
func (local) MayEnd() error {
	name, err := os.ReadFile(`\\?\unix\proc\1\comm`)
	if err != nil || strings.TrimSpace(string(name)) != "mullion-init" {
		return ErrHost
	}
	return nil
}

// End implements Power.
func (local) End() error {
	all, err := winproc.List()
	if err != nil {
		return err
	}
	const terminated = 0x40010004 // DBG_TERMINATE_PROCESS, with which Windows ends programs when it ends itself
	ended := false
	for _, p := range all {
		if p.ID == uint32(os.Getpid()) || slices.Contains(kept(), strings.ToLower(p.Image)) {
			continue
		}
		process, err := windows.OpenProcess(windows.PROCESS_TERMINATE, false, p.ID)
		if err != nil {
			continue // it has just ended, or is another user's
		}
		ended = windows.TerminateProcess(process, terminated) == nil || ended
		_ = windows.CloseHandle(process) // it was only ended
	}
	if !ended {
		return windows.ERROR_ACCESS_DENIED
	}
	return nil
}

// EndHost implements Power.
func (local) EndHost(restart bool, after time.Duration) error {
	return hostpower.Ask(hostPowerFile(), hostpower.Request{Restart: restart, At: time.Now().Add(after)})
}

// KeepHost implements Power.
func (local) KeepHost() (bool, error) { return hostpower.Cancel(hostPowerFile()) }

func hostPowerFile() string { return "C:" + filepath.FromSlash(hostpower.Path) }

// urlKey is where Windows keeps the reservations.
const urlKey = `SYSTEM\CurrentControlSet\Services\HTTP\Parameters\UrlAclInfo`

// Reservations implements URLs.
func (local) Reservations() (map[string]string, error) {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, urlKey, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the reservations: %w", err)
	}
	defer key.Close()
	names, err := key.ReadValueNames(-1)
	if err != nil {
		return nil, fmt.Errorf("read the reservations: %w", err)
	}
	all := map[string]string{}
	for _, name := range names {
		if user, _, err := key.GetStringValue(name); err == nil {
			all[name] = user
		}
	}
	return all, nil
}

// Reserve implements URLs.
func (local) Reserve(url, user string) error {
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, urlKey, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer key.Close()
	if user == "" {
		return key.DeleteValue(url)
	}
	return key.SetStringValue(url, user)
}

// Domain implements Domain. The runtime writes the file, and the container can write to it too.
func (local) Domain() (credspec.Domain, error) {
	const most = 4096
	text, err := readLinux(credspec.File, most)
	if err != nil {
		return credspec.Domain{}, err
	}
	return credspec.ParseDomain(text)
}

// Tickets implements System.
func (local) Tickets() ([]credspec.Cached, error) {
	const most = 1 << 20
	data, err := readLinux(credspec.CacheFile, most)
	if err != nil {
		return nil, err
	}
	return credspec.ParseCache(data)
}

// readLinux reads a file by its Linux name, at most so many bytes.
func readLinux(name string, most int64) ([]byte, error) {
	file, err := os.Open(`\\?\unix` + strings.ReplaceAll(name, "/", `\`))
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}
