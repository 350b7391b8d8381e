function f { function Get-Disk { 1 } } f; Get-Disk
