# A range is not made into a list, and is one all the same.
$up = 1..4
$up[0]
$up[-1]
$up[-4]
$up[4]
$down = 5..3
$down[0]
$down[2]
$down[-1]
$down[3]
$down.Count
"$down"
(1..3)[1] + 1
