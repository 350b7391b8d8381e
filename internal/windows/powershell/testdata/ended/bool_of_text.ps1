function f([bool]$b) { $b } f 'no'
