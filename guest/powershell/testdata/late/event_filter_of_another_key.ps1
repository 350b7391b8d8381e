Get-WinEvent -FilterHashtable @{LogName = 'Application'; Path = 'x.evtx'}; 'after'
