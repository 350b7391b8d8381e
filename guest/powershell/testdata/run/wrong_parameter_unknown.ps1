function f($a) { $a } f -b 1
'it goes on'
