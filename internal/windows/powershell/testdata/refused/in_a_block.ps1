if ($false) { foreach ($x in 1) { Get-Disk x } }
