# C# that declares functions of libraries, constants, enumerations and structures is carried out
# (https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/add-type, example 5)
$signature = @'
[DllImport("user32.dll")] public static extern bool ShowWindowAsync(IntPtr hWnd, int nCmdShow);
public const int Most = 0x104;
'@
$type = Add-Type -MemberDefinition $signature -Name Shown -Namespace Win32Functions -PassThru
$type.FullName; $type::Most; [Win32Functions.Shown]::Most
try { $type::ShowWindowAsync(0, 2) } catch [System.DllNotFoundException] { 'no library' }
try { $type::ShowWindowAsync(0) } catch { "$_" }
Add-Type -TypeDefinition @"
using System;
using System.Runtime.InteropServices;
public enum Colour : byte { Red, Green = 4, Blue }
public struct Point { public int X; public int Y; }
namespace Shapes { public class Line { public struct End { public Point At; public Colour Of; } } }
"@
[Colour]::Blue; [int][Colour]'Green'; [Colour]5
$p = New-Object Point; $p.X = 3; $p
$p.Y = '7'; "$($p.X) $($p.Y) $p"
try { $p.X = 'much' } catch { $_.Exception.GetType().Name }
$e = [Shapes.Line+End]@{ At = $p; Of = 'Blue' }; $e.At.Y; $e.Of; $e.GetType().FullName
$m = [Runtime.InteropServices.Marshal]
$m::SizeOf([Shapes.Line+End]); $m::SizeOf($p)
$at = $m::AllocHGlobal(16); $m::StructureToPtr($p, $at, $false); $m::ReadInt32($at, 4)
($m::PtrToStructure($at, [Point])).X; $m::FreeHGlobal($at)
$s = ConvertTo-SecureString 'what is it' -AsPlainText -Force
$b = $m::SecureStringToBSTR($s); $m::PtrToStringAuto($b); $m::ZeroFreeBSTR($b)
$b = New-Object Text.StringBuilder 300; $b.Capacity; $b.Length
Add-Type -MemberDefinition $signature -Name Shown -Namespace Win32Functions; 'again'
try { Add-Type 'public enum Colour { Other }' } catch { $_.FullyQualifiedErrorId; "$_" }
try { Add-Type "public class C {`n public static int Twice(int n) { return 2 * n; }`n}" } catch { "$_" }
try { Add-Type 'Public Class V' -Language VisualBasic } catch { "$_" }
