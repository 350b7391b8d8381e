# https://learn.microsoft.com/en-us/dotnet/api/system.datetime
[datetime]::ParseExact('20200102', 'yyyyMMdd', $null); [datetime]::ParseExact('03/04/2021 15:06', 'dd/MM/yyyy HH:mm', [cultureinfo]::InvariantCulture)
$d = [datetime]::MinValue; [datetime]::TryParseExact('2020', 'yyyy', $null, 'None', [ref]$d); $d.Year; try { [datetime]::ParseExact('x', 'yyyy', $null) } catch { $_.Exception.Message }
[datetime]::MinValue.Year; [datetime]::MaxValue.Year; [datetime]::UnixEpoch.Ticks; [datetime]::FromFileTimeUtc(132000000000000000)
[datetime]::FromFileTime(132000000000000000).Year; [datetime]::SpecifyKind([datetime]'2020-01-01', 'Utc').Kind; [datetime]::Compare([datetime]'2020-01-01', [datetime]'2021-01-01')
([datetime]'2020-01-01T00:00:00Z').ToFileTimeUtc(); ([datetime]'2020-01-01T00:00:00Z').ToFileTime(); ([datetime]'2020-01-01').CompareTo([datetime]'2019-01-01')
([datetime]'2020-01-01').AddTicks(10000000).Second; ([datetime]'2020-01-01T00:00:00Z').ToUniversalTime().IsDaylightSavingTime()
$o = [DateTimeOffset]::FromUnixTimeSeconds(1600000000); $o.Year; $o.Month; $o.Day; $o.Hour; $o.Minute; $o.Second; $o.ToUnixTimeSeconds(); "$($o.DateTime)"
[DateTimeOffset]::FromUnixTimeMilliseconds(1600000000123).ToUnixTimeMilliseconds(); ([DateTimeOffset]'2020-01-01T00:00:00+02:00').Offset.Hours
$o.AddDays(1).Day; $o.AddHours(1).Hour; $o.AddMinutes(1).Minute; $o.AddSeconds(1).Second; $o.AddMilliseconds(1).Second; $o.ToString('yyyy'); $o.UtcDateTime.Hour
[DateTimeOffset]::Parse('2020-01-01T00:00:00Z').ToUniversalTime().Date.Day; $o.ToLocalTime().LocalDateTime.Year
# https://learn.microsoft.com/en-us/dotnet/api/system.bitconverter
[BitConverter]::ToString([byte[]](1, 171)); [BitConverter]::ToInt32([byte[]](1, 0, 0, 0), 0); [BitConverter]::ToUInt16([byte[]](1, 1), 0); [BitConverter]::IsLittleEndian
[BitConverter]::ToInt16([byte[]](255, 255), 0); [BitConverter]::ToUInt32([byte[]](255, 255, 255, 255), 0); [BitConverter]::ToInt64([byte[]](1, 0, 0, 0, 0, 0, 0, 0), 0); [BitConverter]::GetBytes(258) -join ','
[GC]::Collect(); [GC]::WaitForPendingFinalizers(); [GC]::GetTotalMemory($false) -gt 0; [Threading.Thread]::Sleep(1); [Threading.Thread]::CurrentThread.CurrentCulture.Name; [IntPtr]::Size; [IntPtr]::Zero
[System.Web.HttpUtility]::UrlEncode('a b&c'); [System.Web.HttpUtility]::UrlDecode('a+b'); [System.Net.WebUtility]::HtmlEncode('<a>'); [System.Net.WebUtility]::HtmlDecode('&lt;')
[System.Web.HttpUtility]::HtmlEncode('"'); [System.Web.HttpUtility]::HtmlDecode('&amp;'); [System.Net.WebUtility]::UrlEncode('a/b'); [System.Net.WebUtility]::UrlDecode('a%2Fb')
$b = [Text.Encoding]::UTF8.GetBytes('abc')
foreach ($name in 'MD5', 'SHA1', 'SHA256', 'SHA384', 'SHA512') { $h = [Security.Cryptography.HashAlgorithm]::Create($name); [BitConverter]::ToString($h.ComputeHash($b)).Replace('-', '').Substring(0, 8); $h.Dispose() }
[Security.Cryptography.SHA256]::Create().ComputeHash($b).Count; (New-Object Security.Cryptography.SHA1Managed).ComputeHash($b).Count; [Security.Cryptography.MD5]::Create().Clear()
[Security.Cryptography.SHA1]::Create().Clear(); [Security.Cryptography.SHA384]::Create().Clear(); [Security.Cryptography.SHA512]::Create().Clear()
$r = New-Object byte[] 4; [Security.Cryptography.RandomNumberGenerator]::Create().GetBytes($r); $r.Count; [Security.Cryptography.RandomNumberGenerator]::Create().Dispose()
[cultureinfo]::CurrentCulture.Name; [cultureinfo]::InvariantCulture.Name; [System.Globalization.CultureInfo]::GetCultureInfo('de-DE').LCID; [cultureinfo]::CreateSpecificCulture('fr-FR').TwoLetterISOLanguageName; [cultureinfo]::CurrentUICulture.DisplayName
[cultureinfo]::InstalledUICulture.Name; [cultureinfo]::DefaultThreadCurrentCulture.Name; ([cultureinfo]'en-US').TextInfo.ToTitleCase('hello WORLD of it''s'); ([cultureinfo]'en-US').TextInfo.ToUpper('a'); ([cultureinfo]'en-US').TextInfo.ToLower('A'); ([cultureinfo]'en-US').TextInfo.ListSeparator
[Reflection.Assembly]::LoadWithPartialName('System.Web').GAC; [Reflection.Assembly]::Load('System').GAC; try { [Reflection.Assembly]::LoadFrom('C:\x\Other.dll') } catch { 'no assembly' }; try { [Reflection.Assembly]::LoadFile('y.dll') } catch { 'none' }
[Console]::WriteLine('a {0}', 1); [Console]::Write('b'); [Console]::Out.WriteLine('c'); [Console]::Out.Write('d'); [Console]::Out.Flush(); [Console]::WriteLine(); [Console]::OutputEncoding.WebName; [Console]::InputEncoding.WebName
[Console]::Title; [Console]::ForegroundColor; [Console]::BackgroundColor; [Console]::CursorVisible; [Console]::CursorLeft; [Console]::CursorTop; [Console]::WindowWidth; [Console]::WindowHeight; [Console]::BufferWidth; [Console]::BufferHeight
[Console]::KeyAvailable; [Console]::IsOutputRedirected; [Console]::IsInputRedirected; [Console]::TreatControlCAsInput; [Console]::ResetColor(); [Console]::Beep(); [Console]::ReadLine(); [Console]::Error.Write('')
[Console]::OutputEncoding = [Text.Encoding]::UTF8
[Security.Principal.WindowsIdentity]::GetCurrent().Name; $p = New-Object Security.Principal.WindowsPrincipal([Security.Principal.WindowsIdentity]::GetCurrent())
$p.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator); $p.IsInRole('Everyone'); $p.IsInRole([Security.Principal.WindowsBuiltInRole]'Guest'); $p.Identity.User.Value
$i = $p.Identity; $i.AuthenticationType; $i.ImpersonationLevel; $i.IsAuthenticated; $i.IsGuest; $i.IsSystem; $i.IsAnonymous; $i.Owner.Value; $i.Groups.Count; $i.Dispose()
[Console]::Clear()
