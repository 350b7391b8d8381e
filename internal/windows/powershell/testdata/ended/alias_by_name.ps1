$c = 'icm'; & $c http://x
