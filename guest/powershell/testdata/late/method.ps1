'x'.Normalize()
