$n = $null
sh -c 'echo $#' name '' $n a
sh -c 'echo $*' name (1, 2) -x:5 --y
