function f($a) { $a } f -b 1
