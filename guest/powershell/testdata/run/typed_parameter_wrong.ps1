function f([int]$n) { $n } f x
