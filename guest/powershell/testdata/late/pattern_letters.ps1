'ä' -match '\w'
