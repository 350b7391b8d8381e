$c = 'curl'; & $c http://x
