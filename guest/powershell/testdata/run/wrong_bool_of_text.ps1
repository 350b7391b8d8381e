function f([bool]$b) { $b } f 'no'
'it goes on'
