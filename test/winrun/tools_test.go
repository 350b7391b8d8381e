//go:build wine

package winrun

import (
	"strings"
	"testing"
)

// listMD5 is the sum of "one\r\ntwo\r\nthree\r\n".
const listMD5 = "01a840a64117cae7d46ed81493f690ac"

// testTools runs the small programs of Windows as scripts do: through cmd.exe, pipes and the search path. What they do
// is tested in the packages of guest/tools.
func testTools(t *testing.T, p prefix) {
	t.Helper()
	p.fresh(t) // a server that one of the programs started would have that program's standard error for good
	p.Write(t, "tools/list.txt", "one\r\ntwo\r\nthree\r\n")
	p.Write(t, "tools/other.txt", "one\r\n2\r\nthree\r\n")
	for _, tc := range []struct {
		name, line string
		code       int
		out, err   string
	}{
		{"findstr_pipe", `type C:\tools\list.txt | findstr /n "^t"`, 0, "2:two\n3:three\n", ""},
		{"findstr_none", `findstr four C:\tools\list.txt`, 1, "", ""},
		{"findstr_error", `findstr one C:\tools\none.txt`, 1, "", "FINDSTR: Cannot open C:\\tools\\none.txt\n"},
		{"where", `where prog cmd`, 0, "C:\\prog.exe\nC:\\windows\\system32\\cmd.exe\n", ""},
		{"where_none", `where nothing`, 1, "", "INFO: Could not find files for the given pattern(s).\n"},
		{"tasklist", `tasklist /nh /fo csv /fi "imagename eq tasklist.exe" | findstr /r "^.tasklist.exe.,.[0-9]*.,.Console.,.1.,.[0-9,]*.K.$" >nul && echo found`, 0, "found\n", ""},
		{
			"tasklist_none", `tasklist /fi "imagename eq nothing.exe"`, 0,
			"INFO: No tasks are running which match the specified criteria.\n", "",
		},
		{
			"timeout", `timeout /t 5 <nul`, 1, "",
			"ERROR: Input redirection is not supported, exiting the process immediately.\n",
		},
		{"setx", `setx Mullion "a b" && reg query HKCU\Environment /v Mullion | findstr /c:"    a b" >nul && echo saved`, 0, "\nSUCCESS: Specified value was saved.\nsaved\n", ""},
		{"setx_machine", `setx /M Mullion c && reg query "HKLM\System\CurrentControlSet\Control\Session Manager\Environment" | findstr Mullion >nul && echo saved`, 0, "\nSUCCESS: Specified value was saved.\nsaved\n", ""},
		{
			"systeminfo", `systeminfo | findstr /b /c:"OS "`, 0,
			"OS Name:                   Microsoft Windows Server 2022 Datacenter\nOS Version:                10.0.20348 N/A Build 20348\n" +
				"OS Manufacturer:           Microsoft Corporation\nOS Configuration:          Standalone Server\nOS Build Type:             Multiprocessor Free\n", "",
		},
		{
			"fc", `fc C:\tools\list.txt C:\tools\other.txt`, 1,
			"Comparing files C:\\tools\\list.txt and C:\\TOOLS\\OTHER.TXT\n***** C:\\tools\\list.txt\none\ntwo\nthree\n***** C:\\TOOLS\\OTHER.TXT\none\n2\nthree\n*****\n\n\n", "",
		},
		{"sort", `type C:\tools\list.txt | sort`, 0, "one\nthree\ntwo\n", ""},
		{
			"certutil_hash", `certutil -hashfile C:\tools\list.txt MD5`, 0,
			"MD5 hash of C:\\tools\\list.txt:\n" + listMD5 + "\nCertUtil: -hashfile command completed successfully.\n", "",
		},
		{"certutil_none", `certutil -hashfile C:\none >nul`, 0x80070002 & 0xff, "", ""},
		{"tar", `cd /d C:\tools && tar -czvf x.tgz list.txt other.txt && tar tf x.tgz`, 0, "list.txt\nother.txt\n", "a list.txt\na other.txt\n"},
		{"tar_unpack", `mkdir C:\unpacked && tar -xf C:\tools\x.tgz -C C:\unpacked && type C:\unpacked\list.txt`, 0, "one\ntwo\nthree\n", ""},
		{"tar_again", `tar -xf C:\tools\x.tgz -C C:\unpacked list.txt && dir /b C:\unpacked`, 0, "list.txt\nother.txt\n", ""},
		{"tar_zip", `cd /d C:\tools && tar -acf y.zip -C C:\unpacked . && tar -xOf y.zip ./list.txt`, 0, "one\ntwo\nthree\n", ""},
		{"tar_link", `mkdir C:\links\far && cd /d C:\links && mklink /d away C:\tools >nul && tar -cf a.tar away && mkdir in && tar -xf a.tar -C in && type in\away\list.txt`, 0, "one\ntwo\nthree\n", ""},
		{"tar_none", `tar -tf C:\none.tar`, 1, "", "tar: Error opening archive: Failed to open 'C:\\none.tar'\n"},
		{"curl_none", `curl -sS http://127.0.0.1:9/ 2>nul`, 7, "", ""},
		{"curl_option", `curl --ftp-pasv x`, 2, "", "curl: option --ftp-pasv: is unknown\ncurl: try 'curl --help' for more information\n"},
		{"net_add", `net localgroup builders /add`, 0, "The command completed successfully.\n\n", ""},
		{"net_list", `net localgroup | findstr /b *b`, 0, "*builders\n", ""},
		{
			"net_delete", `net localgroup Builders /delete && net localgroup builders`, 2,
			"The command completed successfully.\n\n",
			"System error 1376 has occurred.\n\nThe specified local group does not exist.\n\n",
		},
		{"eventcreate", `eventcreate /t WARNING /id 7 /l SYSTEM /so Mullion /d "it is late"`, 0, "\nSUCCESS: An event of type 'WARNING' was created in the 'System' log with 'Mullion' as the source.\n", ""},
		{"wevtutil", `wevtutil qe System /c:1 /rd:true /f:text "/q:*[System[Provider[@Name='Mullion'] and EventID=7]]" | findstr /r "Level: late"`, 0, "  Level: Warning\nit is late\n", ""},
		{"events_of_powershell", `powershell -Command "New-EventLog Mine me; Write-EventLog Mine me 7 Warning careful; (Get-WinEvent -FilterHashtable @{LogName='Mine'; Id=7; Level=3; StartTime=(Get-Date).AddHours(-1)}).Message; (Get-EventLog Mine).Source"`, 0, "careful\nme\n", ""},
		{"wevtutil_list", `wevtutil el | findstr /b S`, 0, "Security\nSetup\nSystem\n", ""},
		{"wevtutil_clear", `wevtutil cl System && wevtutil qe System`, 0, "", ""},
		{"wevtutil_none", `wevtutil qe Nothing 2>nul`, 15007 & 0xff, "", ""},
		{"net_start", `net start none`, 2, "", "The service name is invalid.\n\nMore help is available by typing NET HELPMSG 2185.\n"},
		{"netstat", `netstat -ano | findstr /r /c:"^  Proto  Local Address          Foreign Address        State           PID"`, 0, "  Proto  Local Address          Foreign Address        State           PID\n", ""},
		{"netstat_listens", `C:\prog.exe listening 127.0.0.1:8765 netstat -an -p tcp`, 0, "  TCP    127.0.0.1:8765         0.0.0.0:0              LISTENING\n", ""},
		{"netstat_counters", `netstat -s -p tcp | findstr /r /c:"Segments Sent .* = [1-9]" >nul && netstat -e | findstr /b Bytes >nul && echo counted`, 0, "counted\n", ""},
		{"route_print", `route print -4 | findstr /b /c:"Network Destination"`, 0, "Network Destination        Netmask          Gateway       Interface  Metric\n", ""},
		{"hostname_set", `hostname -s other`, 1, "", "sethostname: Use the Network Control Panel Applet to set hostname.\nhostname -s is not supported.\n"},
		{"whoami", `whoami /priv /fo csv | findstr /b /c:"\"SeChangeNotifyPrivilege\""`, 0, "\"SeChangeNotifyPrivilege\",\"Bypass traverse checking\",\"Enabled\"\n", ""},
		{"whoami_groups", `whoami /groups /fo csv | findstr /b /c:"\"Everyone\""`, 0, "\"Everyone\",\"Well-known group\",\"S-1-1-0\",\"Mandatory group, Enabled by default, Enabled group\"\n", ""},
		{
			"icacls", `mkdir C:\secured && echo x>C:\secured\f.txt && icacls C:\secured /inheritance:r /grant Everyone:(OI)(CI)RX Administrators:(OI)(CI)F /deny Users:W >nul && icacls C:\secured && icacls C:\secured\f.txt`, 0,
			"C:\\secured BUILTIN\\Users:(DENY)(W)\n           Everyone:(OI)(CI)(RX)\n           BUILTIN\\Administrators:(OI)(CI)(F)\n\n" +
				"Successfully processed 1 files; Failed processing 0 files\n" +
				"C:\\secured\\f.txt Everyone:(I)(RX)\n                 BUILTIN\\Administrators:(I)(F)\n\nSuccessfully processed 1 files; Failed processing 0 files\n", "",
		},
		{
			"icacls_container_users", `icacls C:\secured /grant:r ContainerUser:(OI)(CI)R "User Manager\ContainerAdministrator:F" /deny Users:W >nul && icacls C:\secured | findstr Container`, 0,
			"           User Manager\\ContainerUser:(OI)(CI)(R)\n           User Manager\\ContainerAdministrator:(F)\n", "",
		},
		{"icacls_owner_once", `echo x>C:\once.txt && icacls C:\once.txt | findstr "Administrators:"`, 0, "C:\\once.txt BUILTIN\\Administrators:(I)(F)\n", ""},
		{"icacls_reset", `icacls C:\secured /reset >nul && icacls C:\secured | findstr /c:"Everyone:(OI)"`, 1, "", ""},
		{"icacls_none", `icacls C:\none >nul`, 2, "", "C:\\none: The system cannot find the file specified.\n"},
		{"icacls_nobody", `icacls C:\tools /grant Nobody:F >nul`, 1332 & 0xff, "", "Nobody: No mapping between account names and security IDs was done.\n"},
		{"takeown", `takeown /f C:\secured /a && powershell -c "(Get-Acl C:\secured).Owner"`, 0, "\nSUCCESS: The file (or folder): \"C:\\secured\" now owned by the administrators group.\nBUILTIN\\Administrators\n", ""},
		{"chcp", `chcp && chcp 65001 && chcp 12345`, 1, "Active code page: 437\nActive code page: 65001\nInvalid code page\n", ""},
		{"tzutil", `tzutil /l | findstr /x "UTC"`, 0, "UTC\n", ""},
		{"tzutil_utc", `set TZ=UTC&& tzutil /g`, 0, "UTC", ""},
		{"w32tm_utc", `set TZ=UTC&& w32tm /tz | findstr "Standard"`, 0, "  [Standard Name:\"Coordinated Universal Time\" Bias:0min Date:(unspecified)]\n", ""},
		{"w32tm", `w32tm /tz | findstr /b /c:"Time zone: Current:TIME_ZONE_ID_" >nul && w32tm /query /status`, 0x26, "The following error occurred: The service has not been started. (0x80070426)\n", ""},
		{"more", `powershell -c "Get-Content C:\tools\list.txt | more.com +1"`, 0, "two\nthree\n", ""},
		{"netsh", `netsh interface ipv4 show config | findstr /c:"127.0.0.1"`, 0, "    IP Address:                           127.0.0.1\n", ""},
		{"netsh_urls", `netsh http add urlacl url=http://+:8000/ user=Everyone && netsh http show urlacl | findstr Reserved`, 0, "\nURL reservation successfully added\n\n    Reserved URL            : http://+:8000/\n", ""},
		{"shutdown", `shutdown /s /t 600 && shutdown /a && shutdown /a`, 1116 & 0xff, "", "Unable to abort the system shutdown because no shutdown was in progress.(1116)\n"},
		{"robocopy", `robocopy C:\tools C:\copied *.txt /E /NJH /NJS /NDL /NS /NC & dir /b C:\copied`, 0, "\t              \t\t        \tlist.txt\n\t              \t\t        \tother.txt\nlist.txt\nother.txt\n", ""},
		{"robocopy_again", `robocopy C:\tools C:\copied *.txt /NJH /NJS /NDL /NFL`, 0, "", ""},
		{"robocopy_mirror", `echo x>C:\copied\x && robocopy C:\tools C:\copied *.* /MIR /NJH /NJS /NDL /NFL`, 3, "", ""},
		{"robocopy_none", `robocopy C:\none C:\copied /NJH /NJS >nul`, 16, "", ""},
		{"xcopy", `xcopy /e /i C:\tools\*.txt C:\seeded && attrib +h C:\seeded\list.txt && xcopy C:\seeded\*.txt C:\again\ /q`, 0, "C:\\tools\\list.txt\nC:\\tools\\other.txt\n2 File(s) copied\n1 File(s) copied\n", ""},
		{"xcopy_none", `xcopy C:\none\* C:\seeded /Y`, 4, "0 File(s) copied\n", "File not found - *\n"},
		{"xcopy_question", `xcopy C:\tools\list.txt C:\new <nul`, 2, "Does C:\\new specify a file name\nor directory name on the target\n(F = file, D = directory)?\n0 File(s) copied\n", ""},
		{"net_other", `net help | findstr START`, 0, "Where 'command' is one of HELP, START, STOP or USE.\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := p.run(t, "--raw", "--", "cmd /c "+tc.line)
			if got.code != tc.code || got.out != tc.out || strings.TrimSpace(got.err) != strings.TrimSpace(tc.err) {
				t.Errorf("%+v, want %+v", got, tc)
			}
		})
	}
}
