//go:build wine

package run

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// factsScript asks each program, cmdlet and key that tells a fact of the machine. What it prints is one section for
// each, after a line that begins with "== ".
const factsScript = `@echo off
echo == ver& ver
echo == hostname& hostname
echo == whoami& whoami
echo == systeminfo& systeminfo /fo csv
echo == systeminfo list& systeminfo
echo == ipconfig& ipconfig /all
echo == tzutil& tzutil /g
echo.& echo == w32tm& w32tm /tz
echo == wmic os& wmic os get /value
echo == wmic computersystem& wmic computersystem get /value
echo == wmic cpu& wmic cpu get /value
echo == wmic path& wmic path Win32_OperatingSystem get Caption,Version /value
echo == environment& set
echo == current& reg query "HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
echo == names& reg query HKLM\SYSTEM\CurrentControlSet\Control\ComputerName /s
echo == tcpip& reg query HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters
echo == product& reg query HKLM\SYSTEM\CurrentControlSet\Control\ProductOptions
echo == zone& reg query HKLM\SYSTEM\CurrentControlSet\Control\TimeZoneInformation
echo == calls& C:\app\prog.exe facts
echo == powershell& powershell -File C:\facts\facts.ps1
`

// factsCmdlets are PowerShell's.
const factsCmdlets = `$v = [Environment]::OSVersion.Version; "version=$($v.Major).$($v.Minor).$($v.Build)"
"machine=$([Environment]::MachineName)"; "user=$([Environment]::UserName)"; "processors=$([Environment]::ProcessorCount)"
"host=$([System.Net.Dns]::GetHostName())"; "shell=$($PSVersionTable.BuildVersion)"; "variable=$env:COMPUTERNAME"
$i = Get-ComputerInfo; "info.name=$($i.OsName)"; "info.version=$($i.OsVersion)"; "info.computer=$($i.CsName)"
$o = Get-CimInstance Win32_OperatingSystem; "cim.caption=$($o.Caption)"; "cim.version=$($o.Version)"; "cim.build=$($o.BuildNumber)"
"cim.type=$($o.ProductType)"; "cim.name=$($o.CSName)"; "cim.memory=$($o.TotalVisibleMemorySize)"; "cim.bias=$($o.CurrentTimeZone)"
"cim.boot=$($o.LastBootUpTime.ToString('M/d/yyyy, h:mm'))"
$c = Get-CimInstance Win32_ComputerSystem; "cs.name=$($c.Name)"; "cs.user=$($c.UserName)"; "cs.processors=$($c.NumberOfLogicalProcessors)"
$p = @(Get-CimInstance Win32_Processor); "cpu.count=$($p.Count)"; "cpu.cores=$($p[0].NumberOfCores)"
$z = Get-TimeZone; "zone=$($z.Id)"; "zone.name=$($z.StandardName)"; "zone.offset=$($z.BaseUtcOffset.TotalMinutes)"
"date=$(Get-Date -Format zzz)"; "addresses=$((Get-NetIPAddress | ? { $_.InterfaceAlias -ne 'lo' } | % { $_.IPAddress }) -join ' ')"
`

// told are what a script has printed, by section.
type told map[string]string

// values are all that a section says of a name, as "name=v", "name    REG_SZ    v" or "name:   v", "name . . . : v".
func (o told) value(section, name string) string {
	line := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(name) + `(?:=|\s+REG_\w+ +|(?: |\.)*: +)(.*?)\s*$`).FindStringSubmatch(o[section])
	if line == nil {
		return "nothing of " + name + " in " + section
	}
	return line[1]
}

// tell runs the script in a container.
func tell(t *testing.T, r *room, before string, args ...string) told {
	t.Helper()
	dir := filepath.Join(r.dir, "facts")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	script := strings.Replace(factsScript, "@echo off\n", "@echo off\n"+before, 1)
	for name, text := range map[string]string{"facts.cmd": script, "facts.ps1": factsCmdlets} {
		text = strings.ReplaceAll(text, "\n", "\r\n")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	all := append([]string{"-h", "Win-Box", "-v", `./facts:C:\facts:ro`, "-v", `./app:C:\app:ro`}, args...)
	got := r.run(t, "", append(all, bare, "cmd", "/c", `C:\facts\facts.cmd`)...)
	if got.code != 0 {
		t.Fatalf("code %d, %s%s", got.code, got.out, got.err)
	}

	found := told{}
	for part := range strings.SplitSeq("\n"+got.out, "\n== ") {
		name, text, _ := strings.Cut(part, "\n")
		found[strings.TrimSpace(name)] = text
	}

	return found
}

// TestFacts asks everything that tells the version, the names, the user, the processors, the memory, the zone and the
// boot of a container, and compares: what two of them say of one fact is the same.
func TestFacts(t *testing.T) {
	r := theRoom(t)
	for _, tt := range []struct {
		name, before         string
		args                 []string
		user, zone, standard string
		bias                 int
	}{
		{"as it comes", "", []string{"-u", "ContainerAdministrator"}, "ContainerAdministrator", "UTC", "Coordinated Universal Time", 0},
		{"as ContainerUser, with limits and TZ", "", []string{"-u", "ContainerUser", "-m", "512m", "--cpus", "1", "-e", "TZ=Europe/Berlin"}, "ContainerUser", "UTC", "Coordinated Universal Time", 0},
		{"with a zone of tzutil", "tzutil /s \"Tokyo Standard Time\"\n", []string{"-u", "ContainerAdministrator"}, "ContainerAdministrator", "Tokyo Standard Time", "Tokyo Standard Time", -540},
		{"with a zone of PowerShell", "powershell -c Set-TimeZone 'Tokyo Standard Time'\n", []string{"-u", "ContainerAdministrator"}, "ContainerAdministrator", "Tokyo Standard Time", "Tokyo Standard Time", -540},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := tell(t, r, tt.before, tt.args...)
			sameFacts(t, o)
			given := slices.Contains(tt.args, "TZ=Europe/Berlin")
			if has := strings.Contains(o["environment"], "\nTZ="); has != given { // Wine's server has one of its own
				t.Errorf("the program has TZ: %v, want %v", has, given)
			}

			for what, got := range map[string][2]string{
				"whoami":          {strings.TrimSpace(o["whoami"]), strings.ToLower(`User Manager\` + tt.user)},
				"the user's name": {o.value("environment", "USERNAME"), tt.user},
				"tzutil":          {strings.TrimSpace(o["tzutil"]), tt.zone},
				"the zone's name": {o.value("calls", "zone"), tt.standard},
				"the bias":        {o.value("calls", "bias"), fmt.Sprint(tt.bias)},
				"the host's name": {strings.TrimSpace(o["hostname"]), "Win-Box"},
			} {
				if got[0] != got[1] {
					t.Errorf("%s is %q, want %q", what, got[0], got[1])
				}
			}
		})
	}
}

// sameFacts compares what the sections say of one fact.
func sameFacts(t *testing.T, o told) {
	t.Helper()
	build := o.value("current", "CurrentBuild")
	product := o.value("current", "ProductName")
	revision := o.value("current", "UBR")
	of := o.value
	offset := clock(of("calls", "offset"))
	for fact, says := range map[string][]string{
		"the version":         {"10.0." + build, of("calls", "version"), of("wmic os", "Version"), of("wmic path", "Version"), of("powershell", "version"), of("powershell", "info.version"), of("powershell", "cim.version"), strings.TrimSuffix(of("powershell", "shell"), ".0")},
		"the build":           {build, of("current", "CurrentBuildNumber"), of("wmic os", "BuildNumber"), of("powershell", "cim.build")},
		"ver":                 {strings.TrimSpace(o["ver"]), fmt.Sprintf("Microsoft Windows [Version 10.0.%s.%s]", build, decimal(revision))},
		"systeminfo's":        {of("systeminfo list", "OS Version"), "10.0." + build + " N/A Build " + build},
		"the edition":         {"Microsoft " + product, of("wmic os", "Caption"), of("wmic path", "Caption"), of("systeminfo list", "OS Name"), of("powershell", "info.name"), of("powershell", "cim.caption")},
		"the type":            {"3", of("calls", "product type"), of("wmic os", "ProductType"), of("powershell", "cim.type")},
		"the type's name":     {"ServerNT", of("product", "ProductType")},
		"the computer's name": {"WIN-BOX", of("calls", "computer"), of("calls", "computer to be"), of("environment", "COMPUTERNAME"), of("systeminfo list", "Host Name"), of("wmic os", "CSName"), of("wmic computersystem", "Name"), of("powershell", "machine"), of("powershell", "variable"), of("powershell", "info.computer"), of("powershell", "cim.name"), of("powershell", "cs.name"), of("names", "ComputerName")},
		"the host's name":     {strings.TrimSpace(o["hostname"]), of("calls", "host"), of("tcpip", "Hostname"), of("tcpip", "NV Hostname"), of("ipconfig", "Host Name"), of("powershell", "host")},
		"the user":            {of("environment", "USERDOMAIN") + `\` + of("environment", "USERNAME"), of("calls", "user"), of("calls", "user found"), of("wmic computersystem", "UserName"), of("powershell", "cs.user")},
		"whoami":              {strings.TrimSpace(o["whoami"]), strings.ToLower(of("calls", "user"))},
		"the processors":      {of("environment", "NUMBER_OF_PROCESSORS"), of("calls", "processors"), of("wmic cpu", "NumberOfLogicalProcessors"), of("wmic computersystem", "NumberOfLogicalProcessors"), of("powershell", "processors"), of("powershell", "cs.processors")},
		"the cores":           {of("calls", "cores"), of("wmic cpu", "NumberOfCores"), of("powershell", "cpu.cores")},
		"the sockets":         {of("calls", "packages"), of("wmic computersystem", "NumberOfProcessors"), of("powershell", "cpu.count"), strings.TrimSuffix(of("systeminfo list", "Processor(s)"), " Processor(s) Installed.")},
		"the memory":          {of("calls", "memory"), of("wmic os", "TotalVisibleMemorySize"), of("powershell", "cim.memory")},
		"the zone":            {strings.TrimSpace(o["tzutil"]), of("powershell", "zone"), of("zone", "TimeZoneKeyName")},
		"the zone's name":     {of("calls", "zone"), of("powershell", "zone.name"), of("zone", "StandardName")},
		"the offset":          {of("calls", "offset"), of("powershell", "zone.offset"), of("powershell", "cim.bias"), of("wmic os", "CurrentTimeZone"), negative(of("calls", "bias"))},
		"the clock's offset":  {offset, of("powershell", "date")},
		"the addresses":       {of("calls", "addresses"), of("powershell", "addresses")},
	} {
		for _, one := range says {
			if one != says[0] {
				t.Errorf("%s is %q", fact, says)
				break
			}
		}
	}

	// to the minute: the moment is computed each time anew
	if boot := of("powershell", "cim.boot"); !strings.HasPrefix(of("systeminfo list", "System Boot Time"), boot) {
		t.Errorf("WMI says that Windows has booted at %q, systeminfo at %q", boot, of("systeminfo list", "System Boot Time"))
	}
}

// decimal returns a number of reg.exe's in decimal.
func decimal(hex string) string {
	var n uint32
	_, _ = fmt.Sscanf(hex, "0x%x", &n)
	return fmt.Sprint(n)
}

// clock returns a number of minutes as the date has it.
func clock(minutes string) string {
	var n int
	_, _ = fmt.Sscan(minutes, &n)
	return fmt.Sprintf("%+03d:%02d", n/60, max(n%60, -n%60))
}

func negative(number string) string {
	var n int
	_, _ = fmt.Sscan(number, &n)
	return fmt.Sprint(-n)
}
