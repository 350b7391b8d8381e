function f($aa, $ab) { $aa } f -a 1
'it goes on'
