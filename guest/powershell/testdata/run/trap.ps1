function a { trap { "trapped $_"; continue }; 'one'; throw 'x'; 'two'; 1 / 0; 'three' }; a
function b { trap [System.DivideByZeroException] { "divided"; continue } trap { "other"; continue }; 1 / 0; throw 'y'; 'end' }; b
function c { trap { 'goes on, said' }; throw 'said'; 'after' }; c
function d { trap { 'breaks'; break }; throw 'broken'; 'never' }; try { d } catch { "caught $_" }
function e { trap [System.FormatException] { 'never' }; 1 / 0; 'next' }; e
function inner { throw 'inner'; 'never' }
function g { trap { continue }; if ($true) { inner; 'not after' }; 'after the if' }; g
function x { trap { throw 'another' }; throw 'first' }; try { x } catch { "caught $_" }
trap { "the script's: $_"; continue }
no-such-program; "ok $?"
exit 3
