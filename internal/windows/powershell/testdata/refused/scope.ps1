$global:x = 1
