# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_enum
enum MediaTypes { music = 10; mp3; aac; video = -20; unknown = 0 }
[Flags()] enum Permission {
    None = 0
    Read = 1
    Write = 2
    Execute = 0x4
    All = 3 + 4
}
[Flags()]
enum Steps { One; Two; Three }
[MediaTypes]::music; [int][MediaTypes]::mp3; [int][MediaTypes]::aac; [MediaTypes]::unknown.value__; [int][MediaTypes]::video
[MediaTypes]'AAC'; [MediaTypes]10; [MediaTypes]::mp3 -eq 'mp3'; [MediaTypes]::mp3 -eq 11; [MediaTypes]::mp3 -gt 'music'
[MediaTypes]::mp3.GetType().FullName; [MediaTypes]::mp3 -is [MediaTypes]
"$([MediaTypes]::aac)"
[enum]::GetNames([MediaTypes]) -join ' '
([enum]::GetValues([Permission]) | ForEach-Object { [int]$_ }) -join ' '
[Enum]::IsDefined([MediaTypes], 'music'); [enum]::IsDefined([MediaTypes], 5); [enum]::Parse([MediaTypes], 'mp3') + 1
[enum]::GetName([Permission], 2); [enum]::ToObject([Permission], 3)
$p = [Permission]::Read -bor [Permission]::Write
[Permission]$p; [Permission]'Read, Execute'; [Permission]3; ([Permission]5).ToString(); [Permission]'Read' -band 1
[int][Steps]::One, [int][Steps]::Two, [int][Steps]::Three -join ' '
function Show { param([MediaTypes]$type = 'music', [Permission]$can) "$type $can" }
Show; Show mp3 'Read,Write'; Show -type 12 -can All
class File { [MediaTypes]$Type; [Permission]$Can = 'Write' }
$f = [File]::new(); $f.Type; $f.Can; $f.Type = 'video'; $f.Type
switch ([MediaTypes]::mp3) { mp3 { 'switched' } music { 'never' } }
@{ [MediaTypes]::mp3 = 1 }[[MediaTypes]::mp3]
try { [MediaTypes]'tape' } catch { $_.FullyQualifiedErrorId }
try { [MediaTypes]99 } catch { 'no such number' }
try { Show tape } catch { 'not bound' }
try { [enum]::Parse([MediaTypes], 'tape') } catch { $_.Exception.InnerException.GetType().Name }
try { [enum]::GetNames([string]) } catch { 'no enumeration' }
ConvertTo-Json ([MediaTypes]::mp3)
[MediaTypes]$m = 'mp3'; $m = 'aac'; $m.GetType().Name
[DayOfWeek]::Monday -as [int]
