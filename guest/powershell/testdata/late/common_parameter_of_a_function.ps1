function f { [CmdletBinding()] param() echo ran }; f -OutBuffer 3
