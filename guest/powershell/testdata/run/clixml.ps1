# https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/export-clixml
[pscustomobject]@{ Text = "a<b`n_x0041_"; Number = 1; Large = 5000000000; Half = 0.5; Yes = $true; None = $null; Day = [DayOfWeek]'Monday'; List = 1, 'two'; Table = @{ k = 'v' }; Span = [timespan]'1.02:03:04.5'; Id = [guid]'6f9619ff-8b86-d011-b42d-00c04fc964ff'; At = [datetime]::SpecifyKind([datetime]'2024-05-06 07:08:09', 'Utc'); Letter = [char]'z'; V = [version]'1.2.3'; Block = { 1 + 1 } } | Export-Clixml one.xml -Encoding utf8
Get-Content one.xml
$back = Import-Clixml one.xml
$back
$back.Number + 1; $back.Day -eq 'Monday'; $back.Table.k; $back.List.Count; $back.Span.Days; $back.At.Year; $back.Text -eq "a<b`n_x0041_"
1, 'two', $null, 3 | Export-Clixml many.xml
(Import-Clixml many.xml).Count; Import-Clixml many.xml -Skip 1 -First 1; ipxml many.xml -First 1
# an object of a class of Windows comes back by its properties
Get-Service kubelet | epxml service.xml
(Import-Clixml service.xml).Status; (Import-Clixml service.xml).GetType().Name
(Import-Clixml service.xml) | Get-Member -MemberType Properties | Select-Object -First 1 | % TypeName
# the same object twice, and one within itself
$a = [pscustomobject]@{ n = 1 }; $b = @{ x = $a; y = $a }; $b.self = $b
Export-Clixml -InputObject $b -LiteralPath self.xml -Depth 3; (Import-Clixml self.xml).y.n
# how deep
$deep = [pscustomobject]@{ a = [pscustomobject]@{ b = [pscustomobject]@{ c = 1 } } }
Export-Clixml deep.xml -InputObject $deep -Depth 1; (Import-Clixml deep.xml).a.GetType().Name
Export-Clixml deep.xml -InputObject $deep -Depth 3; (Import-Clixml deep.xml).a.b.c
# a credential
$c = [pscredential]::new('me', (ConvertTo-SecureString 'secret' -AsPlainText -Force))
$c | Export-Clixml cred.xml; (Get-Content cred.xml) -match 'secret'
(Import-Clixml cred.xml).GetNetworkCredential().Password
# what goes wrong
Export-Clixml one.xml -InputObject 1 -NoClobber
Export-Clixml none/x.xml -InputObject 1
Import-Clixml none.xml
'<a/>' | Set-Content bad.xml; Import-Clixml bad.xml
'<Objs><I32>x</I32></Objs>' | Set-Content bad.xml; Import-Clixml bad.xml
'<Objs><Ref RefId="3"/></Objs>' | Set-Content bad.xml; Import-Clixml bad.xml
Export-Clixml x.xml -InputObject 1 -Depth 0
