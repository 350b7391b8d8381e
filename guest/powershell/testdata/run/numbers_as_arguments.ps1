# A number that an argument is written as is a number to cmdlets and functions, and text to programs.
function f($x) { $x + 1 }
f 1.5
f 0x10
f 1kb
f -2
f '1.5'
f 1.2.3
echo 1.50 2e3 .5 +5 010 7z 5.
sh -c 'echo $*' name 1.50 0x10 1kb 010
