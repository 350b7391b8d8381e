foo"bar"
