function f([string]$n = $(throw "-n is required.")) { $n } f y; f
