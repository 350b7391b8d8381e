# memory that a script has, and texts in it (https://learn.microsoft.com/dotnet/api/system.runtime.interopservices.marshal)
using namespace System.Runtime.InteropServices
Add-Type 'public struct Pair { public short A; public long B; [System.Runtime.InteropServices.MarshalAs(System.Runtime.InteropServices.UnmanagedType.ByValTStr, SizeConst = 4)] public string Name; }'
$size = [System.Runtime.InteropServices.Marshal]::SizeOf([Pair]); $size
[System.Runtime.InteropServices.Marshal]::SizeOf([int]); [System.Runtime.InteropServices.Marshal]::SizeOf([Int64])
try { [System.Runtime.InteropServices.Marshal]::SizeOf([string]) } catch { "$_" }
$at = [System.Runtime.InteropServices.Marshal]::AllocHGlobal($size)
[System.Runtime.InteropServices.Marshal]::StructureToPtr([Pair]@{ A = -2; B = 1tb; Name = 'abcdef' }, $at, $false)
[System.Runtime.InteropServices.Marshal]::ReadInt16($at); [System.Runtime.InteropServices.Marshal]::ReadInt64($at, 8)
[System.Runtime.InteropServices.Marshal]::WriteInt16($at, 7); [System.Runtime.InteropServices.Marshal]::WriteInt64($at, 8, 9)
$pair = [System.Runtime.InteropServices.Marshal]::PtrToStructure($at, [Pair]); "$($pair.A) $($pair.B) $($pair.Name)"
[System.Runtime.InteropServices.Marshal]::FreeHGlobal($at)
$at = [System.Runtime.InteropServices.Marshal]::AllocCoTaskMem(8)
[System.Runtime.InteropServices.Marshal]::WriteInt32($at, 0x01020304); [System.Runtime.InteropServices.Marshal]::WriteByte($at, 4, 255)
[System.Runtime.InteropServices.Marshal]::ReadByte($at); [System.Runtime.InteropServices.Marshal]::ReadByte($at, 4)
[System.Runtime.InteropServices.Marshal]::ReadInt32($at)
[System.Runtime.InteropServices.Marshal]::WriteIntPtr($at, $at); [System.Runtime.InteropServices.Marshal]::ReadIntPtr($at) -eq $at
$bytes = 0, 0, 0, 0
[System.Runtime.InteropServices.Marshal]::Copy([byte[]](9, 8, 7, 6), 0, $at, 4)
[System.Runtime.InteropServices.Marshal]::Copy($at, $bytes, 1, 3); "$bytes"
[System.Runtime.InteropServices.Marshal]::FreeCoTaskMem($at)
$u = [System.Runtime.InteropServices.Marshal]::StringToHGlobalUni('grün'); $a = [System.Runtime.InteropServices.Marshal]::StringToHGlobalAnsi('plain')
[System.Runtime.InteropServices.Marshal]::PtrToStringUni($u); [System.Runtime.InteropServices.Marshal]::PtrToStringAnsi($a)
[System.Runtime.InteropServices.Marshal]::PtrToStringUni($u, 2)
$b = [System.Runtime.InteropServices.Marshal]::StringToBSTR('four'); [System.Runtime.InteropServices.Marshal]::PtrToStringBSTR($b)
[System.Runtime.InteropServices.Marshal]::ReadInt32($b, -4); [System.Runtime.InteropServices.Marshal]::FreeBSTR($b)
$c = [System.Runtime.InteropServices.Marshal]::StringToCoTaskMemUni('c'); $d = [System.Runtime.InteropServices.Marshal]::StringToHGlobalAuto('d')
[System.Runtime.InteropServices.Marshal]::PtrToStringAuto($c) + [System.Runtime.InteropServices.Marshal]::PtrToStringAuto($d)
$s = ConvertTo-SecureString 'secret' -AsPlainText -Force
$b = [System.Runtime.InteropServices.Marshal]::SecureStringToBSTR($s)
[System.Runtime.InteropServices.Marshal]::PtrToStringAuto($b); [System.Runtime.InteropServices.Marshal]::ZeroFreeBSTR($b)
$b = [System.Runtime.InteropServices.Marshal]::SecureStringToGlobalAllocUnicode($s)
[System.Runtime.InteropServices.Marshal]::PtrToStringUni($b); [System.Runtime.InteropServices.Marshal]::ZeroFreeGlobalAllocUnicode($b)
$b = [System.Runtime.InteropServices.Marshal]::SecureStringToCoTaskMemUnicode($s); [System.Runtime.InteropServices.Marshal]::PtrToStringUni($b)
[System.Runtime.InteropServices.Marshal]::ZeroFreeCoTaskMemUnicode($b)
$b = [System.Runtime.InteropServices.Marshal]::SecureStringToGlobalAllocAnsi($s); [System.Runtime.InteropServices.Marshal]::PtrToStringAnsi($b)
[System.Runtime.InteropServices.Marshal]::GetLastWin32Error(); [System.Runtime.InteropServices.Marshal]::GetHRForLastWin32Error()
try { [Marshal]::ReadInt32([IntPtr]::Zero) } catch [System.ArgumentNullException] { 'null' }
try { [Marshal]::ReadInt32(64) } catch [System.AccessViolationException] { 'no memory' }
try { [Marshal]::Copy($bytes, 2, 64, 3) } catch [System.ArgumentOutOfRangeException] { 'past the end' }
# pointers are made of numbers, and numbers of them (https://learn.microsoft.com/dotnet/api/system.intptr)
[IntPtr]5; [IntPtr]-1; [IntPtr]::new(0x10) -eq 16; New-Object IntPtr 7; [UIntPtr]5 -ne [UIntPtr]::Zero; [UIntPtr]::Size
$at = [Marshal]::AllocHGlobal(16); [Marshal]::WriteInt32([IntPtr]::Add($at, 8), 42)
[Marshal]::ReadInt32([IntPtr]($at.ToInt64() + 8)); [IntPtr]::Subtract([IntPtr]::Add($at, 8), 8) -eq $at; ([IntPtr]9).ToInt32()
[UIntPtr]::Subtract([UIntPtr]::Add([UIntPtr]9, 1), 2)
try { ([IntPtr]1tb).ToInt32() } catch { "$_" }
[Marshal]::FreeHGlobal($at)
try { [Marshal]::ReadInt32([IntPtr]1234567) } catch [System.AccessViolationException] { 'no memory' }
