function f { function Optimize-Volume { 1 } } f; Optimize-Volume
