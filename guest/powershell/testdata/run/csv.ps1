$l = [pscustomobject]@{ Name = 'a "b"'; Size = 1 }, [pscustomobject]@{ Name = 'c,d'; Size = $null }
$l | ConvertTo-Csv; $l | ConvertTo-Csv -NoTypeInformation -Delimiter ';'; [pscustomobject]@{ l = 1, 2; t = [DateTime]'2020-01-02' } | ConvertTo-Csv -NoTypeInformation
$r = 'a,b', '1,"x y"', '2' | ConvertFrom-Csv; $r[0].b; $r[1].a; $r[1].b -eq $null; ("p;q`n1;2" | ConvertFrom-Csv -Delimiter ';').q; ('1,2' | ConvertFrom-Csv -Header x, y).y
$l | Export-Csv f.csv -NoTypeInformation; Get-Content f.csv; [pscustomobject]@{ Name = 'e'; Size = 5 } | epcsv f.csv -Append; (Import-Csv f.csv).Count; (Import-Csv -Path f.csv -Delimiter ',' -Header n, s)[0].n; (ipcsv f.csv)[2].Size; $l | Export-Csv g.csv -Force; (Import-Csv g.csv)[0].Name; Import-Csv none.csv
$l | ConvertTo-Csv | ConvertFrom-Csv | ConvertTo-Json -Compress; $l | Export-Csv -Path no/such/f.csv -Delimiter ','

