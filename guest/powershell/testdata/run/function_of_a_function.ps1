function f { function g { 'g' } }
f
g
