Get-TimeZone | Format-List
(gtz -ListAvailable).Id -join ","
(Get-TimeZone -Id "tok*").BaseUtcOffset.TotalHours
(Get-TimeZone -Name "Coordinated*").Id
stz -Id "Tokyo Standard Time"; (Get-TimeZone).DisplayName
(Set-TimeZone "Coordinated Universal Standard Time" -PassThru).Id
Get-TimeZone -Id "Tokyo Standard Time" | Set-TimeZone; (Get-TimeZone).Id
Get-TimeZone -Id Nowhere -ErrorAction SilentlyContinue; "not found: $?"
try { Set-TimeZone -Id "Nowhere Standard Time" -ErrorAction Stop } catch { $_.Exception.Message }
try { Set-TimeZone "Nowhere Time" -ErrorAction Stop } catch { $_.Exception.Message }
