function f { function Clear-Disk { 1 } } f; Clear-Disk
