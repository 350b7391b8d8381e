Get-WinEvent -LogName Application; Get-WinEvent Application -MaxEvents 1 | Format-List; (Get-WinEvent -ProviderName kubelet -Oldest)[0].Message; Get-WinEvent -LogName * -MaxEvents 2 | ForEach-Object { $_.LogName }
(Get-WinEvent -FilterHashtable @{LogName = 'Application'; ID = 2; StartTime = '2026-01-01'; EndTime = (Get-Date '2027-01-01')}).Message; (Get-WinEvent -FilterXPath '*[System[EventID=2]]' -LogName Application).Properties[0].Value
Get-WinEvent -LogName Nothing; Get-WinEvent -ProviderName nobody; Get-WinEvent Security; Get-WinEvent System -FilterXPath '!!'; Get-WinEvent -ListLog S*
