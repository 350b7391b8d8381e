if ($false) { foreach ($x in 1) { Optimize-Volume x } }
