Resolve-DnsName kubernetes
(Resolve-DnsName both).IPAddress; (Resolve-DnsName both).Count; (Resolve-DnsName both -Type A)[0].NameHost; (Resolve-DnsName 10.96.0.1).NameHost; (Resolve-DnsName -Name both -Type AAAA -QuickTimeout).IP6Address
$s = Resolve-DnsName both SRV; "$($s.NameTarget) $($s.Priority) $($s.Weight) $($s.Port)"; $m = Resolve-DnsName both MX; "$($m.NameExchange) $($m.Preference)"; (Resolve-DnsName both TXT).Strings; (Resolve-DnsName both NS).NameHost; (Resolve-DnsName kubernetes)[0].IP4Address
Resolve-DnsName none; Resolve-DnsName kubernetes MX; 'kubernetes' | Resolve-DnsName | ForEach-Object { "$($_.Type) $($_.TTL) $($_.Section)" }; (Resolve-DnsName fd00::1 -ErrorAction SilentlyContinue) -eq $null
try { Resolve-DnsName none -ErrorAction Stop } catch { "caught $_" }
Resolve-DnsName localhost; (Resolve-DnsName LocalHost -Type A).IPAddress
try { Resolve-DnsName none -ErrorAction Stop } catch { $_.FullyQualifiedErrorId; $_.CategoryInfo.Category; $_.TargetObject }
