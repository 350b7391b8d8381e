echo a > f
echo b >> f
cat f
echo c 1> f
cat f
echo d > $null
1..2 | ForEach-Object { $_ } > f
cat f
5 > f
cat f
echo x > no/such
