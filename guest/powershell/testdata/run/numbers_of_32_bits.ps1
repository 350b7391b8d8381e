0xFFFFFFFF
0x7FFFFFFF
0x1FFFFFFFF
'0xffffffff' - 1
[int]2147483647
[long]3000000000
'x' -as [int]
'3000000000' -as [int]
9007199254740993 -eq 9007199254740992
5 -eq '5'
5 -eq '0x5'
5 -eq 'five'
1kb
2.5mb
[int]2.5
[int]3.5
7 / 2
6 / 2
-7 % 3
