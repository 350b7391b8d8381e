$o = Get-CimInstance Win32_OperatingSystem; $o.Caption; $o.LastBootUpTime.ToUniversalTime().ToString('u'); $o.FreePhysicalMemory / 1MB; $o.MUILanguages -join ' '; $o.CimClassName
(Get-WmiObject -Class Win32_OperatingSystem).LastBootUpTime.Substring(0, 8); (gwmi Win32_OperatingSystem).__CLASS; (gcim -ClassName Win32_OperatingSystem -Namespace root/cimv2).PSComputerName -eq $env:COMPUTERNAME
Get-CimInstance Win32_Service -Filter "Name LIKE 'kube%'" -Property Name, State; Get-WmiObject -Query "SELECT Name, State FROM Win32_Service WHERE Name LIKE 'kube%'" | ForEach-Object { $_.Name }
Get-CimInstance Win32_Nothing; Get-CimInstance -Query 'SELECT'; Get-WmiObject Win32_OperatingSystem -Namespace root\none
Get-CimInstance; Get-CimInstance x -Query y
Get-WmiObject Win32_ComputerSystemProduct | Select-Object -ExpandProperty UUID
