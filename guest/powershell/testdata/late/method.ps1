'x'.Nope()
