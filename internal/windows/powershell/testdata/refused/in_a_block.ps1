if ($false) { foreach ($x in 1) { Clear-Disk x } }
