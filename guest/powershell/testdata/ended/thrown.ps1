throw 'it is over'
