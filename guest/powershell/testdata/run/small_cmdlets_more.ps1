# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility
Write-Information 'not shown'; Write-Information 'shown' -InformationAction Continue; Write-Information 'taken' -Tags t 6>&1
Write-Progress -Activity a -Status s -Id 1 -PercentComplete 5 -SecondsRemaining 3 -CurrentOperation o -ParentId 0 -SourceId 1; Write-Progress a -Completed
try { Read-Host -Prompt 'name' } catch { $_.Exception.Message }; try { Read-Host p -AsSecureString } catch { 'nobody' }
$t = New-TemporaryFile; $t.Length; $t.Extension; Remove-Item $t
(Get-Culture).Name; (Get-UICulture).Name; (Get-Host).Name
'a', 'bb', 'ccc' | Format-Wide -Column 2; [pscustomobject]@{ Name = 'x'; v = 1 }, [pscustomobject]@{ Name = 'y'; v = 2 } | fw v -AutoSize; Get-Item . | Format-Wide -Property PSIsContainer
Select-Xml -Content '<a><b>1</b><b>2</b></a>' -XPath '//b' | ForEach-Object { $_.Node.InnerText }
([xml]'<a><b>3</b></a>' | Select-Xml '//b').Node.InnerText; '<a xmlns="u"><b>4</b></a>' | Set-Content s.xml; (Select-Xml -Path s.xml -XPath '//p:b' -Namespace @{ p = 'u' }).Node.InnerText
(Select-Xml -Xml ([xml]'<a/>') -XPath '/a').Pattern
$d = [datetime]'2021-05-06T07:08:09'
Get-Date $d -UFormat '%Y-%m-%d %H:%M:%S %j %a %B %s%%'; Get-Date $d -Year 2020 -Month 2 -Day 3 -Hour 4 -Minute 5 -Second 6 -Millisecond 7 -Format 'yyyy-MM-dd HH:mm:ss.fff'
Get-Date -Date $d -UFormat '+%D%n%u%t%T'
[pscustomobject]@{ d = [datetime]'2020-01-01T00:00:00Z' } | ConvertTo-Json -Compress
