function f { throw 'mine' }; try { f } finally { 'last' }
