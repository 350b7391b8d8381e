$w = '$12'; 'ab' -replace '(a)', $w
