# one
echo a <# two #> b # three
