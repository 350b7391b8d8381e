function f($aa, $ab) { $aa } f -a 1
