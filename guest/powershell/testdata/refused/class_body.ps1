class c
