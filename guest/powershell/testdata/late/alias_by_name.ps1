$c = 'epal'; & $c http://x
