function f { [CmdletBinding()] param() echo ran }; f -ErrorAction Inquire
