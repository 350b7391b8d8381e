echo "a" > f.txt
echo b >> f.txt
cat f.txt
