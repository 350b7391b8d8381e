//go:build wine

package winrun

import (
	"testing"
)

// declared calls functions of Windows' own libraries by what C# declares of them.
const declared = `Add-Type @"
using System; using System.Runtime.InteropServices; using System.Text;
namespace Native {
  public struct SYSTEMTIME { public ushort Year, Month, DayOfWeek, Day, Hour, Minute, Second, Milliseconds; }
  [Flags] public enum Move : uint { None = 0, Replace = 1 }
  public static class Api {
    [DllImport("kernel32.dll", SetLastError=true, CharSet=CharSet.Unicode)] [return: MarshalAs(UnmanagedType.Bool)]
    public static extern bool MoveFileEx(string from, string to, Move flags);
    [DllImport("kernel32.dll")] public static extern bool SystemTimeToFileTime(ref SYSTEMTIME t, out long file);
    [DllImport("kernel32.dll", CharSet = CharSet.Auto)] public static extern uint GetWindowsDirectory(StringBuilder b, int n);
    [DllImport("kernel32.dll")] public static extern uint GetEnvironmentVariable(string name, StringBuilder b, uint n);
    [DllImport("kernel32.dll")] public static extern uint GetCurrentProcessId();
    [DllImport("shell32.dll")]
    public static extern int SHGetKnownFolderPath(
      [MarshalAs(UnmanagedType.LPStruct)] Guid id, uint flags, IntPtr token, out IntPtr path);
    [DllImport("kernel32.dll")] public static extern int NotThere();
    [DllImport("notthere.dll")] public static extern int Nor();
  }
}
"@
[Native.Api]::GetCurrentProcessId() -eq $PID
$t = [Native.SYSTEMTIME]@{ Year = 1601; Month = 1; Day = 1; Second = 1 }; $file = 0
[Native.Api]::SystemTimeToFileTime([ref]$t, [ref]$file); $file
$b = New-Object Text.StringBuilder 260
[Native.Api]::GetWindowsDirectory($b, $b.Capacity); "$b".ToLower()
$env:GIVEN = 'grün'; [Native.Api]::GetEnvironmentVariable('GIVEN', $b, 260); "$b"
[Native.Api]::MoveFileEx('C:\nowhere', 'C:\other', 'Replace')
[Runtime.InteropServices.Marshal]::GetLastWin32Error()
$at = [IntPtr]::Zero
[Native.Api]::SHGetKnownFolderPath('F38BF404-1D43-42F2-9305-67DE0B28FC23', 0, 0, [ref]$at)
[Runtime.InteropServices.Marshal]::PtrToStringUni($at).ToLower(); [Runtime.InteropServices.Marshal]::FreeCoTaskMem($at)
try { [Native.Api]::NotThere() } catch [System.EntryPointNotFoundException] { "$_" }
try { [Native.Api]::Nor() } catch [System.DllNotFoundException] { "$_" }
try { [Runtime.InteropServices.Marshal]::ReadInt32(64) } catch [System.AccessViolationException] { 'no memory' }`

// testNative calls them in a container's PowerShell.
func testNative(t *testing.T, p prefix) {
	t.Helper()
	const want = `True
True
10000000
10
c:\windows
4
grün
False
2
0
c:\windows
Exception calling "NotThere" with "0" argument(s): "Unable to find an entry point named 'NotThere' in DLL 'kernel32.dll'."
Exception calling "Nor" with "0" argument(s): "Unable to load DLL 'notthere.dll': The specified module could not be found. (Exception from HRESULT: 0x8007007E)"
no memory
`
	if got := p.run(t, "--", "powershell", "-NoProfile", "-c", declared); got.code != 0 || got.out != want {
		t.Errorf("%+v, want\n%s", got, want)
	}
}
