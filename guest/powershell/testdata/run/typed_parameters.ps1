function f([int]$n, [string]$s, [switch]$on, [bool]$b) { $n + 1; $s + 1; $on; $b } f '0x10' -on 5
f
