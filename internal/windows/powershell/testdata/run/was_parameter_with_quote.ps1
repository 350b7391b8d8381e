sh -x"y"
