icm 'x'
