function f($a, $b = 3) { return "$a-$b" } f 1
f -b 4 2
(f x).ToUpper()
