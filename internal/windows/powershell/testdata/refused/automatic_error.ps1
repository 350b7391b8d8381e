$Error[0]
