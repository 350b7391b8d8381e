$h = @{ a = 1 }
$h.Add('A', 2); 'after add'
$h.Get_Item($null); 'after get'
$h[$null]; 'after index'
$h + $h; 'after plus'
@{ $null = 1 }; 'after key'
$o = [ordered]@{ a = 1 }; $o[5] = 1; 'after place'
$k = 'a'; @{ a = 1; $k = 2 }; 'after twice'
$?

