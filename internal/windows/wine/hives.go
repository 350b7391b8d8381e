package wine

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"mullion.dev/mullion/internal/windows/winver"
)

// Windows accounts of a container, and of a host.
const (
	// AdminUser is uid 0 in a container.
	AdminUser = "ContainerAdministrator"
	// User is uid 1000 in a container.
	User = "ContainerUser"
	// HostUser is uid 0 on a host.
	HostUser = "Administrator"
)

const currentVersion = `Software\Microsoft\Windows NT\CurrentVersion`

// machineKeys returns the changes to HKEY_LOCAL_MACHINE (system.reg) that all builds share.
func machineKeys() []Key {
	keys := []Key{
		{Path: `System\CurrentControlSet\Control\ProductOptions`, Values: []Value{SZ("ProductType", "ServerNT")}},
		ServiceTimeout(30 * time.Second),
		// pkg/kubelet/nodeshutdown wants the value. Windows lists services of its own, none of which is here
		// (https://learn.microsoft.com/windows/win32/services/service-control-handler-function).
		{Path: controlKey, Values: []Value{MultiSZ("PreshutdownOrder")}},
		// A crash of a program must end it: nobody looks at a dialog. Wine's debugger for this is winedbg, in the place
		// of Drwtsn32.
		{Path: currentVersion + `\AeDebug`, Values: []Value{SZ("Auto", "1"), SZ("Debugger", "false")}},
		// pkg/kubelet/winstats reads the boot id and pkg/kubelet/cadvisor the machine's id here; a host sets its own.
		{Path: `System\HardwareConfig`, Values: []Value{SZ("LastConfig", "{00000000-0000-0000-0000-000000000000}")}},
		{
			Path:   `System\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters`,
			Values: []Value{DWORD("BootId", 1)},
		},
		msiscsi(),
		httpDriver(),
	}

	// The server of a prefix holds the registry in memory. Keys that only 32-bit programs, marshalling between COM
	// apartments and media players read are left out, which saves 4.2 of 6.5 MB.
	for _, path := range []string{
		`Software\Classes\Interface`, `Software\Classes\Typelib`, `Software\Classes\MediaFoundation`, `Software\Classes\DirectShow`,
		`Software\Classes\Wow6432Node`, `Software\Wow6432Node`,
	} {
		keys = append(keys, Key{Path: path, Delete: true})
	}

	return append(keys, Key{Path: profileLink, Link: `\Registry\Machine\` + currentVersion + `\ProfileList`})
}

// ServiceTimeout returns the change to HKEY_LOCAL_MACHINE that gives the program of a service a time, in whole
// milliseconds, to answer the service control manager after its start. Windows gives it 30 s (event 7009 of the
// manager,
// https://learn.microsoft.com/previous-versions/windows/it-pro/windows-server-2008-R2-and-2008/cc756342(v=ws.10)), Wine
// without the value 10 s. Windows reads a number here, Wine a string (programs/services/services.c,
// load_registry_parameters).
func ServiceTimeout(d time.Duration) Key {
	return Key{Path: controlKey, Values: []Value{SZ("ServicesPipeTimeout", fmt.Sprint(d.Milliseconds()))}}
}

const controlKey = `System\CurrentControlSet\Control`

// profileLink is where a process without a parent in Windows looks for the folders of ProgramData, ALLUSERSPROFILE and
// PUBLIC as soon as there is a key Software\Wow6432Node, which a driver of Wine's services and installers in images
// make. Wine takes such a process for one of 32 bits until its program is mapped, after its environment is composed
// (https://gitlab.winehq.org/wine/wine/-/blob/wine-8.0/server/registry.c, is_wow64_thread). Wine's own hive has this
// link.
const profileLink = `Software\Wow6432Node\Microsoft\Windows NT\CurrentVersion\ProfileList`

const servicesKey = `System\CurrentControlSet\Services\`

// ServiceKeys returns the changes to a system.reg that keep Wine's services and drivers from starting with the first
// program: each would be a process of 5 to 15 MB. nsiproxy (network interfaces) and MountMgr (volumes) are asked for by
// programs without windows.
func ServiceKeys(systemReg string) ([]Key, error) {
	h, err := parseHive(systemReg)
	if err != nil {
		return nil, err
	}

	var keys []Key
	for _, k := range h.keys {
		name, ok := strings.CutPrefix(k.path, strings.ToLower(servicesKey))
		if !ok || strings.Contains(name, `\`) || k.find("Start") < 0 || name == "nsiproxy" || name == "mountmgr" {
			continue
		}
		keys = append(keys, Key{Path: servicesKey + name, Values: []Value{DWORD("Start", 4)}}) // SERVICE_DISABLED
	}

	return keys, nil
}

// userKeys returns the changes to HKEY_CURRENT_USER (user.reg). overrides names the DLLs (without ending) for which
// ours takes the place of Wine's own. `Software\Wine` `Version` must not be set: it would win over the build of the
// machine keys.
func userKeys(overrides []string) []Key {
	dlls := Key{Path: `Software\Wine\DllOverrides`}
	for _, name := range overrides {
		dlls.Values = append(dlls.Values, SZ(name, "native,builtin"))
	}

	return []Key{
		dlls,
		// On Windows a name that begins with a dot is none of a hidden file.
		{Path: `Software\Wine`, Drop: []string{"Version"}, Values: []Value{SZ("ShowDotFiles", "Y")}},
		{Path: `Software\Wine\Drivers`, Values: []Value{SZ("Graphics", "null"), SZ("Audio", "")}},
		{Path: `Software\Wine\WineDbg`, Values: []Value{DWORD("ShowCrashDialog", 0)}},
		// What wineboot found on the machine that made the layer: its fonts (with paths of its disk), its menus, its
		// user.
		{Path: `Software\Wine\Fonts`, Delete: true},
		{Path: `Software\Wine\MenuFiles`, Delete: true},
		{Path: `Volatile Environment`, Delete: true},
		ProfileKey(AdminUser),
	}
}

// ProfileKey returns the change to HKEY_CURRENT_USER (user.reg) for programs that run as a Windows user other than
// AdminUser. The paths are literal: Wine puts the user's environment together before %USERPROFILE% is known.
func ProfileKey(user string) Key {
	temp := `C:\users\` + user + `\AppData\Local\Temp`
	return Key{Path: `Environment`, Values: []Value{SZ("TEMP", temp), SZ("TMP", temp)}}
}

// buildKeys returns the changes to HKEY_LOCAL_MACHINE that make Wine answer as one Windows build. Wine 8.0's ntdll
// takes the version from CurrentVersion and CurrentBuildNumber (dlls/ntdll/version.c, get_nt_registry_version) so
// CurrentVersion must be 10.0, although Windows itself leaves it at 6.3.
func buildKeys(b winver.Build) []Key {
	number := fmt.Sprint(b.Version.Build)

	key := Key{
		Path: currentVersion,
		Drop: []string{"CSDVersion", "DisplayVersion"},
		Values: []Value{
			SZ("CurrentVersion", fmt.Sprintf("%d.%d", b.Version.Major, b.Version.Minor)),
			SZ("CurrentBuild", number),
			SZ("CurrentBuildNumber", number),
			DWORD("CurrentMajorVersionNumber", b.Version.Major),
			DWORD("CurrentMinorVersionNumber", b.Version.Minor),
			DWORD("UBR", b.Version.Revision),
			SZ("ProductName", b.ProductName),
			SZ("EditionID", "ServerDatacenter"),
			SZ("InstallationType", "Server Core"),
			SZ("ReleaseId", b.ReleaseID),
			SZ("BuildBranch", b.BuildLab),
			SZ("BuildLab", number+"."+b.BuildLab),
			SZ("BuildLabEx", fmt.Sprintf("%s.%d.amd64fre.%s", number, b.Version.Revision, b.BuildLab)),
			SZ("CurrentType", "Multiprocessor Free"),
		},
	}

	if b.DisplayVersion != "" {
		key.Values = append(key.Values, SZ("DisplayVersion", b.DisplayVersion))
	}

	return []Key{
		key,
		utc(),
		{
			Path:   `System\CurrentControlSet\Control\Windows`,
			Values: []Value{DWORD("CSDVersion", 0), DWORD("CSDBuildNumber", b.Version.Revision)},
		},
	}
}

// utc returns the time zone of hosts and containers until one sets another (guest/c/hooks/timezone.c), whatever that of
// the machine is.
func utc() Key {
	const name = "Coordinated Universal Time"
	return Key{
		Path: `System\CurrentControlSet\Control\TimeZoneInformation`,
		Values: []Value{
			SZ("TimeZoneKeyName", "UTC"), SZ("StandardName", name), SZ("DaylightName", name), DWORD("Bias", 0),
			DWORD("StandardBias", 0), DWORD("DaylightBias", 0), DWORD("ActiveTimeBias", 0),
			SZ("MullionKeyName", "UTC"), SZ("MullionStandardName", name),
		},
	}
}

// HostIdentity is what tells one Windows host from another in its registry.
type HostIdentity struct {
	// SystemUUID is a lower-case UUID without braces; Kubernetes shows it as the node's systemUUID.
	SystemUUID string
	// BootID counts the starts of the host.
	BootID uint32
}

// HostKeys returns the changes to HKEY_LOCAL_MACHINE that a host makes in its own prefix before it starts.
func HostKeys(id HostIdentity) []Key {
	return append(computeServices(), []Key{
		// kubelet.exe is a program of 90 MB. It answers after more than ten seconds on an emulated machine. While a
		// service has not answered, no other starts.
		ServiceTimeout(time.Minute),
		{Path: `System\HardwareConfig`, Values: []Value{SZ("LastConfig", "{"+id.SystemUUID+"}")}},
		{
			Path:   `System\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters`,
			Values: []Value{DWORD("BootId", id.BootID)},
		},
		{
			Path: environmentKey,
			Values: []Value{ExpandSZ("PATH", `%SystemRoot%\system32;%SystemRoot%;%SystemRoot%\System32\Wbem;`+
				`%SystemRoot%\System32\WindowsPowerShell\v1.0\;`+ContainerdDir)},
		},
	}...)
}

// ContainerdDir is containerd's folder on a Windows host, which its programs find by PATH, as SIG Windows' tools set it
// up (https://github.com/kubernetes-sigs/sig-windows-tools/blob/master/hostprocess/Install-Containerd.ps1).
const ContainerdDir = `C:\Program Files\containerd`

// replaceUser puts the Windows user name into the profile paths of a hive that was made under another.
func replaceUser(text, from, to string) string {
	for _, end := range []string{`\\`, `"`} {
		text = strings.ReplaceAll(text, `\\users\\`+escape(from, true)+end, `\\users\\`+to+end)
	}
	return text
}

// layoutVersion is part of the layer's key. Increase it with every change of what Prepare makes.
const layoutVersion = 10

// etcFiles returns the files below etc of the base layer. Wine takes the Windows user name from passwd.
func etcFiles() map[string]string {
	return map[string]string{
		"etc/passwd":        AdminUser + ":x:0:0::/:/\n" + User + ":x:1000:1000::/:/\n",
		"etc/group":         "Administrators:x:0:\nUsers:x:1000:\n",
		"etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
		"etc/hosts":         "127.0.0.1 localhost\n::1 localhost\n",
		"etc/resolv.conf":   "",
		// without this file fontconfig complains on standard error
		"etc/fonts/fonts.conf": fontsConfig("/tmp"),
		"etc/host.conf":        "multi on\n",
	}
}

// fontsConfig returns a configuration of fontconfig with a folder for its caches and with folders of fonts.
func fontsConfig(cache string, fonts ...string) string {
	var dirs strings.Builder
	for _, d := range fonts {
		dirs.WriteString("<dir>" + d + "</dir>")
	}
	return "<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">\n<fontconfig>" + dirs.String() +
		"<cachedir>" + cache + "</cachedir></fontconfig>\n"
}

// profileDirs returns the folders of a user's profile, as wineboot makes them without links to the machine's folders.
func profileDirs(user string) []string {
	var dirs []string
	for _, d := range []string{
		"Desktop", "Documents", "Downloads", "Favorites", "Links", "Music", "Pictures", "Saved Games", "Videos",
		"Contacts", "Searches",
		"AppData/LocalLow", "AppData/Local/Temp", "AppData/Local/Microsoft/Windows/INetCache",
		"AppData/Local/Microsoft/Windows/INetCookies",
		"AppData/Local/Microsoft/Windows/History", "AppData/Roaming/Microsoft/Windows/Start Menu/Programs/StartUp",
		"AppData/Roaming/Microsoft/Windows/Templates", "AppData/Roaming/Microsoft/Windows/SendTo",
		"AppData/Roaming/Microsoft/Windows/Recent",
	} {
		dirs = append(dirs, filepath.Join("Files/users", user, d))
	}

	return dirs
}
