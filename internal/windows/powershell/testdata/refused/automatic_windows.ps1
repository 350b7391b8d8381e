if ($IsWindows) { 1 }
