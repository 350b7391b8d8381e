function f { f } f
