echo "x
