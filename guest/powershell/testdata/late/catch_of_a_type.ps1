try { [int]'x' } catch [System.IO.IOException] { 'caught' }
