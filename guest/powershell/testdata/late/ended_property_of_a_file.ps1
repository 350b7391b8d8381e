$p = 'f'; Remove-ItemProperty $p a
