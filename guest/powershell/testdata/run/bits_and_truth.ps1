6 -band 3
6 -bor 1
6 -bxor 3
-bnot 0
$true -and 0
0 -or 'x'
$true -xor $true
-not ''
!1
@(0) -and $true
@(0, 0) -and $true
